// Room ahead in the file of the segment that is appended to: zeros that are on disk before the batches come which go
// there. A flush of bytes within it changes neither the file's size nor where the file lies on the disk. So the bytes are
// all that the file system has to write: what it knows of the file (in the journal, where it has one) stays as it is.
//
// Every byte is written twice for it, first as a zero, behind everybody's back and through an opening of the file of its
// own: the system tells each opening once of what could not be written, and what is told to this one the commits must hear
// as well. Nothing depends on room: where none can be made, or the batches have overtaken it, a flush takes as long as it
// does without. It is cut off before the segment gets a successor, and when the log closes; what a crash leaves of it
// recovery cuts.
import type { Log } from './environment.ts';
import type { OpenFile } from './file-system.ts';
import {
  LOG_ROOM_BYTES_MAX,
  ROOM_BYTES_MAX,
  ROOM_COMMIT_BYTES_MAX,
  ROOM_FILLS_MAX,
  ROOM_SLICE_BYTES_MAX,
} from './limits.ts';
import type { OpenFiles } from './open-files.ts';
import type { Segment } from './segment.ts';
import type { StoreCounters } from './store-counters.ts';

export interface RoomParts {
  readonly files: OpenFiles;
  readonly counters: StoreCounters;
  readonly log: Log;
  /** A segment has room ahead from this size on; `Infinity` = none has. */
  readonly roomAfterBytes: number;
  /** Zeros on their way to the disk, for all logs. */
  readonly fills: { underWay: number };
  /** Whether the disk has so much to spare that some may lie idle. */
  readonly disk: { readonly hasPlenty: boolean };
}

/** Of the segment's size, so that room in the files of quiet logs is a small part of them. */
const ROOM_SHARE = 1 / 4;

const ZEROS = Buffer.alloc(ROOM_SLICE_BYTES_MAX);

export class SegmentRoom {
  readonly #parts: RoomParts;
  readonly #segment: Segment;
  /** A segment has a successor from here on. */
  readonly #segmentBytes: number;
  /** Where it ends in the file, with what is being written of it; 0 = the file ends with its batches. */
  #end = 0;
  /** From the end of the batches to there, as the store counts it; no zeros were written ahead of the first slice. */
  #heldBytes = 0;
  /** Zeros are being written from there on, until `#filling` resolves. */
  #sliceStart = Number.POSITIVE_INFINITY;
  #filling: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: RoomParts, segment: Segment, segmentBytes: number) {
    this.#parts = parts;
    this.#segment = segment;
    this.#segmentBytes = segmentBytes;
  }

  /** Whether the file may be longer than its batches. */
  get isHeld(): boolean {
    return this.#end > 0;
  }

  get isFilling(): boolean {
    return this.#filling !== undefined;
  }

  /** What a write that ends at `end` has to wait for, or zeros might come over it. Never rejects. */
  busyBelow(end: number): Promise<void> | undefined {
    return end > this.#sliceStart ? this.#filling : undefined;
  }

  /** The file has batches up to `end`. */
  passed(end: number): void {
    if (this.#heldBytes > 0) this.#hold(Math.max(0, this.#end - end));
    // Overtaken: the file ends with its batches.
    if (end >= this.#end && this.#filling === undefined) this.#end = 0;
  }

  /** The last write ended at `end`, `length` bytes that are on disk: makes a slice of room when one is missing. */
  wrote(end: number, length: number): void {
    this.passed(end);
    if (this.#stopped || this.#filling !== undefined) return;
    if (length > ROOM_COMMIT_BYTES_MAX) return;
    const wanted = Math.min(Math.ceil(end * ROOM_SHARE), LOG_ROOM_BYTES_MAX);
    const slice = Math.min(wanted, ROOM_SLICE_BYTES_MAX);
    if (this.#end - end > wanted - slice) return;
    const { byteSize } = this.#segment;
    // Bytes below the segment's size may be on their way into the file. A slice ahead of that, so that few wait for zeros.
    const start = this.#end > byteSize ? this.#end : byteSize + slice;
    const { counters, disk, fills } = this.#parts;
    // Who finds no place asks again behind the next commit.
    if (fills.underWay >= ROOM_FILLS_MAX) return;
    if (start + slice > this.#segmentBytes) return;
    if (counters.roomBytes + slice > ROOM_BYTES_MAX || !disk.hasPlenty) return;
    this.#end = start + slice;
    this.#hold(this.#end - end);
    this.#sliceStart = start;
    this.#filling = this.#fill(start, slice);
  }

  /** Resolves when no zeros are being written any more, which a disk that hangs may prevent. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#filling;
  }

  /** The file ends with its batches, or is nobody's any more. */
  release(): void {
    this.#end = 0;
    this.#hold(0);
  }

  #hold(bytes: number): void {
    this.#parts.counters.roomBytes += bytes - this.#heldBytes;
    this.#heldBytes = bytes;
  }

  /** Never rejects. */
  async #fill(start: number, length: number): Promise<void> {
    const { files, fills, counters, log } = this.#parts;
    const { path } = this.#segment;
    fills.underWay++;
    // The name may be another file's, when a log that was given up comes to open it.
    const write = async (file: OpenFile): Promise<void> =>
      this.#stopped ? undefined : file.write(ZEROS, 0, length, start);
    try {
      await files.with(path, write, true, 'room');
      if (!this.#stopped) counters.roomMadeBytes += length;
    } catch (error) {
      if (!this.#stopped) log.warn('log.no-room-ahead', { path, position: start, error });
      this.#stopped = true;
    }
    fills.underWay--;
    this.#sliceStart = Number.POSITIVE_INFINITY;
    this.#filling = undefined;
  }
}
