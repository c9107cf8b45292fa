// What waits to be written to one client's socket. Packets are written one behind another into a buffer, and all that
// a turn of the event loop made goes out as one write. A message that many receive is referenced, not copied, as long as
// it is alone.
import { COPY_BYTES_MAX, copyBytes, LOOP_BYTES_MAX } from './copy-bytes.ts';

/** Smallest first: a client that gets a few packets takes no more; the large ones are kept for reuse. */
const BUFFER_BYTES = [1024, 16 * 1024, 64 * 1024] as const;
const LARGEST = BUFFER_BYTES[2];

/**
 * Behind what leaves, a large buffer has room for a part of the range that payloads come from: what follows there is then
 * a move within one buffer, which takes no object.
 */
const WINDOW_BYTES = 16 * 1024;
const LARGE_BUFFER_BYTES = LARGEST + WINDOW_BYTES;
/** Of one payload: beyond it the copy itself is what costs. */
const WINDOWED_BYTES_MAX = 1024;

/** Buffers between two uses, shared by the connections of a front end. */
export class OutputBuffers {
  readonly #medium: Buffer[] = [];
  readonly #large: Buffer[] = [];

  take(bytes: number): Buffer {
    if (bytes <= BUFFER_BYTES[0]) return Buffer.allocUnsafe(BUFFER_BYTES[0]);
    if (bytes <= BUFFER_BYTES[1]) return this.#medium.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES[1]);
    if (bytes <= LARGEST) return this.#large.pop() ?? Buffer.allocUnsafeSlow(LARGE_BUFFER_BYTES);
    return Buffer.allocUnsafeSlow(bytes);
  }

  /** Only once the socket is done with it. */
  giveBack(buffer: Buffer): void {
    if (buffer.length === BUFFER_BYTES[1] && this.#medium.length < 256) this.#medium.push(buffer);
    else if (buffer.length === LARGE_BUFFER_BYTES && this.#large.length < 64) this.#large.push(buffer);
  }
}

/** A payload, and where it lies among others. */
export interface PayloadPlace {
  readonly payload: Buffer;
  readonly payloadStart: number;
  readonly payloadEnd: number;
  /** Of the range that it is a part of: below `rangeEnd`, bytes under the same number are the same. Above 0. */
  readonly rangeNumber: number;
  readonly rangeBytes: Buffer;
  readonly rangeEnd: number;
}

/** The part of a socket that an output needs. */
export interface Sink {
  readonly writableLength: number;
  write(chunk: Buffer, written: (error?: Error | null) => void): boolean;
  cork(): void;
  uncork(): void;
}

/** Flushes, once in a turn of the event loop, each output that was written to. */
export class FlushQueue {
  readonly #schedule: (flush: () => void) => void;
  #waiting: Output[] = [];
  #scheduled = false;

  /** @param schedule runs a function at the end of the current turn. */
  constructor(schedule: (flush: () => void) => void) {
    this.#schedule = schedule;
  }

  add(output: Output): void {
    this.#waiting.push(output);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(this.#flush);
  }

  #flush = (): void => {
    this.#scheduled = false;
    const outputs = this.#waiting;
    this.#waiting = [];
    for (const output of outputs) output.flush();
  };
}

export class Output {
  readonly #sink: Sink;
  readonly #buffers: OutputBuffers;
  readonly #queue: FlushQueue;
  #queued = false;
  #closed = false;
  /** Where the next packet goes; valid after `reserve` until `commit`. */
  bytes: Buffer = EMPTY;
  #at = 0;
  /** What left last took a large buffer: so will, probably, what comes next. */
  #isBusy = false;
  /** What `bytes` may hold. */
  #capacity = 0;
  /** Which range the window is of, and which part of it; 0 = of none. */
  #windowRange = 0;
  #windowStart = 0;
  #windowEnd = 0;
  /** Full pieces in front of `bytes`, and those of them that go back to the pool. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  /** One packet that others share, as long as nothing else was written. */
  #shared: Buffer | undefined;
  /** Pool buffers handed to the socket, in the order of its writes; undefined = not from the pool. */
  readonly #inSocket: (Buffer | undefined)[] = [];

  constructor(sink: Sink, buffers: OutputBuffers, queue: FlushQueue) {
    this.#sink = sink;
    this.#buffers = buffers;
    this.#queue = queue;
  }

  /** Bytes that have not left for the kernel. */
  get pendingBytes(): number {
    return this.#at + this.#pieceBytes + (this.#shared?.length ?? 0) + this.#sink.writableLength;
  }

  /** Makes room for a packet of so many bytes; returns where in `bytes` it begins. */
  reserve(length: number): number {
    if (this.#shared !== undefined) this.#copyShared(length);
    if (this.#at + length > this.#capacity) this.#makeRoom(length);
    return this.#at;
  }

  /** The packet is written. */
  commit(length: number): void {
    this.#at += length;
    if (this.#at + this.#pieceBytes >= LARGEST) this.flush();
    else this.#enqueue();
  }

  /** Copies a payload to `at` in `bytes`, where the room that was reserved for it begins. */
  copy(place: PayloadPlace, at: number): void {
    const { payload, payloadStart, payloadEnd } = place;
    const length = payloadEnd - payloadStart;
    const isSmall = length >= LOOP_BYTES_MAX && length <= WINDOWED_BYTES_MAX;
    const isInRange = payload === place.rangeBytes && payloadEnd <= place.rangeEnd;
    if (!isSmall || !isInRange || this.bytes.length !== LARGE_BUFFER_BYTES) {
      copyBytes(payload, payloadStart, payloadEnd, this.bytes, at);
      return;
    }
    const isThere =
      place.rangeNumber === this.#windowRange &&
      payloadStart >= this.#windowStart &&
      payloadEnd <= this.#windowEnd;
    if (!isThere) this.#moveWindow(place);
    const from = LARGEST + payloadStart - this.#windowStart;
    copyWithin.call(this.bytes, at, from, from + length);
  }

  #moveWindow({ payload, payloadStart, rangeNumber, rangeEnd }: PayloadPlace): void {
    this.#windowRange = rangeNumber;
    this.#windowStart = payloadStart;
    this.#windowEnd = Math.min(payloadStart + WINDOW_BYTES, rangeEnd);
    this.bytes.set(payload.subarray(payloadStart, this.#windowEnd), LARGEST);
  }

  /** A whole packet, copied. */
  write(packet: Buffer): void {
    const at = this.reserve(packet.length);
    copyBytes(packet, 0, packet.length, this.bytes, at);
    this.commit(packet.length);
  }

  /** A whole packet that nobody changes any more: referenced if nothing else waits, or if it is large. */
  writeShared(packet: Buffer): void {
    if (this.#closed) return;
    if (this.#at === 0 && this.#pieces.length === 0 && this.#shared === undefined) {
      this.#shared = packet;
      this.#enqueue();
    } else if (packet.length > COPY_BYTES_MAX) {
      this.writeReference(packet);
    } else {
      this.write(packet);
    }
  }

  /** Bytes behind those written so far, from where they are. */
  writeReference(bytes: Buffer): void {
    if (this.#closed) return;
    if (this.#shared !== undefined) this.#copyShared(0);
    this.#endPiece();
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    this.#inSocket.push(undefined);
    if (this.#pieceBytes >= LARGEST) this.flush();
    else this.#enqueue();
  }

  /** Hands everything to the socket. */
  flush(): void {
    this.#queued = false;
    if (this.#closed) {
      this.close();
      return;
    }
    const shared = this.#shared;
    if (shared !== undefined) {
      this.#shared = undefined;
      this.#inSocket.push(undefined);
      this.#sink.write(shared, this.#written);
      return;
    }
    this.#isBusy = this.#at + this.#pieceBytes > BUFFER_BYTES[1];
    this.#endPiece();
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (pieces.length > 1) this.#sink.cork();
    for (const piece of pieces) this.#sink.write(piece, this.#written);
    if (pieces.length > 1) this.#sink.uncork();
  }

  /** Nothing is written any more; what waits is dropped. */
  close(): void {
    this.#closed = true;
    this.#use(EMPTY);
    this.#at = 0;
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#shared = undefined;
  }

  #enqueue(): void {
    if (this.#queued || this.#closed) return;
    this.#queued = true;
    this.#queue.add(this);
  }

  #makeRoom(length: number): void {
    const isLargest = this.bytes.length >= LARGEST;
    const wanted = isLargest ? length : Math.max(length, this.#isBusy ? LARGEST : this.#at + length);
    if (isLargest || wanted > LARGEST) {
      this.#endPiece();
      this.#use(this.#buffers.take(Math.max(length, this.#pieces.length > 0 ? LARGEST : 0)));
      return;
    }
    const grown = this.#buffers.take(wanted);
    this.bytes.copy(grown, 0, 0, this.#at);
    this.#buffers.giveBack(this.bytes);
    this.#use(grown);
  }

  #use(bytes: Buffer): void {
    this.bytes = bytes;
    this.#capacity = bytes.length === LARGE_BUFFER_BYTES ? LARGEST : bytes.length;
    this.#windowRange = 0;
  }

  /** What was written so far becomes a piece of its own. */
  #endPiece(): void {
    if (this.#at > 0) {
      this.#pieces.push(this.bytes.subarray(0, this.#at));
      this.#pieceBytes += this.#at;
      this.#inSocket.push(this.bytes);
    }
    this.#use(EMPTY);
    this.#at = 0;
  }

  #copyShared(following: number): void {
    const shared = this.#shared as Buffer; // the caller has seen it
    this.#shared = undefined;
    if (shared.length > COPY_BYTES_MAX) {
      this.writeReference(shared);
      return;
    }
    this.#use(this.#buffers.take(shared.length + following));
    copyBytes(shared, 0, shared.length, this.bytes, 0);
    this.#at = shared.length;
  }

  /** Writes complete in their order. After an error the kernel may still hold the buffer: it is not reused. */
  #written = (error?: Error | null): void => {
    const buffer = this.#inSocket.shift();
    if (buffer && !error) this.#buffers.giveBack(buffer);
  };
}

const EMPTY = Buffer.alloc(0);

/** Looked up once. */
const { copyWithin } = Uint8Array.prototype;
