// Kafka's framing: every request is an int32 length, big-endian, and that many bytes. Pure: bytes go in as they
// come from the socket, whole frames are taken out one at a time, so that whoever takes them sets the pace.
//
// A frame that lies whole in one chunk is a view of that chunk. One that spans chunks is gathered in a buffer that
// grows with the bytes received, never ahead of them by more than a factor: a length alone costs its sender's
// peer nothing.

export type FramingFault = 'negative-length' | 'too-large';

const LENGTH_BYTES = 4;

/** First capacity of a gathering buffer, if the frame is not smaller. */
const GATHER_BYTES_INITIAL = 64 * 1024;

const NOTHING = Buffer.alloc(0);

export class FrameReader {
  readonly #frameBytesMax: number;
  /** What came last and is not taken yet starts at #position. */
  #chunk: Buffer = NOTHING;
  #position = 0;
  /** The length field, when it is cut in pieces. */
  readonly #lengthBytes = Buffer.alloc(LENGTH_BYTES);
  #lengthFilled = 0;
  /** The frame being gathered; #frameLength −1 = none. */
  #gathered: Buffer = NOTHING;
  #gatheredBytes = 0;
  #frameLength = -1;
  #fault: FramingFault | undefined;

  /** @param frameBytesMax longest frame accepted, its length field not counted. */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Set once a length was refused; no further frame comes out. */
  get fault(): FramingFault | undefined {
    return this.#fault;
  }

  /** Length of the frame that is incomplete, −1 when none is begun. For the log. */
  get pendingLength(): number {
    return this.#frameLength;
  }

  /** Bytes held that belong to no frame taken yet. */
  get heldBytes(): number {
    return this.#chunk.length - this.#position + this.#gatheredBytes + this.#lengthFilled;
  }

  /** Memory that these take. */
  get capacityBytes(): number {
    return this.#chunk.length - this.#position + this.#gathered.length;
  }

  push(chunk: Buffer): void {
    // Whoever takes frames pauses the socket before it stops taking, so that two chunks meet here only rarely.
    this.#chunk =
      this.#position < this.#chunk.length
        ? Buffer.concat([this.#chunk.subarray(this.#position), chunk])
        : chunk;
    this.#position = 0;
  }

  /** The next whole frame without its length field; undefined = more bytes are needed, or {@link fault} is set. */
  next(): Buffer | undefined {
    if (this.#fault !== undefined) return undefined;
    if (this.#frameLength < 0 && !this.#readLength()) return undefined;
    const available = this.#chunk.length - this.#position;
    if (this.#gatheredBytes === 0 && available >= this.#frameLength) {
      const frame = this.#chunk.subarray(this.#position, this.#position + this.#frameLength);
      this.#position += this.#frameLength;
      this.#frameLength = -1;
      return frame;
    }
    return this.#gather(Math.min(available, this.#frameLength - this.#gatheredBytes));
  }

  /** @returns true once the length of the next frame is known and accepted. */
  #readLength(): boolean {
    let length: number;
    if (this.#lengthFilled === 0 && this.#chunk.length - this.#position >= LENGTH_BYTES) {
      length = this.#chunk.readInt32BE(this.#position);
      this.#position += LENGTH_BYTES;
    } else {
      while (this.#lengthFilled < LENGTH_BYTES && this.#position < this.#chunk.length) {
        this.#lengthBytes[this.#lengthFilled++] = this.#chunk[this.#position++] as number;
      }
      if (this.#lengthFilled < LENGTH_BYTES) return false;
      this.#lengthFilled = 0;
      length = this.#lengthBytes.readInt32BE(0);
    }
    this.#frameLength = length;
    if (length < 0) this.#fault = 'negative-length';
    else if (length > this.#frameBytesMax) this.#fault = 'too-large';
    return this.#fault === undefined;
  }

  #gather(bytes: number): Buffer | undefined {
    const needed = this.#gatheredBytes + bytes;
    if (needed > this.#gathered.length) {
      const capacity = Math.min(this.#frameLength, Math.max(GATHER_BYTES_INITIAL, 2 * needed));
      const grown = Buffer.allocUnsafeSlow(capacity);
      this.#gathered.copy(grown, 0, 0, this.#gatheredBytes);
      this.#gathered = grown;
    }
    this.#chunk.copy(this.#gathered, this.#gatheredBytes, this.#position, this.#position + bytes);
    this.#position += bytes;
    this.#gatheredBytes = needed;
    if (needed < this.#frameLength) {
      this.#chunk = NOTHING;
      this.#position = 0;
      return undefined;
    }
    const frame = this.#gathered.subarray(0, needed);
    this.#gathered = NOTHING;
    this.#gatheredBytes = 0;
    this.#frameLength = -1;
    return frame;
  }
}
