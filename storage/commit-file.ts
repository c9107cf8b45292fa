// The file that the commits of a log go to: what of it is written, what is on disk, what somebody was told of, and the
// room ahead in it. When a commit has failed it is cut back to what stays.
import { errorCodeOf } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import { UNFLUSHED_LOG_BYTES_MAX } from './limits.ts';
import type { Segment } from './segment.ts';
import { type RoomParts, SegmentRoom } from './segment-room.ts';
import type { DirtyRange } from './tail-cache.ts';

export class CommitFile {
  readonly #parts: RoomParts;
  readonly #name: string;
  #segment: Segment | undefined;
  #segmentBytes = 0;
  #room: SegmentRoom | undefined;
  /** End of what was written; of what somebody was told is committed. */
  #writtenBytes = 0;
  #toldBytes = 0;
  /** Written behind the last flush: at most UNFLUSHED_LOG_BYTES_MAX, or one chunk that is larger. */
  #unsyncedBytes = 0;
  #datasyncFailed = false;
  /** Whether the last write was its own flush. */
  #isSynchronous = false;

  /** @param name of the log, for messages */
  constructor(parts: RoomParts, name: string) {
    this.#parts = parts;
    this.#name = name;
  }

  get segment(): Segment | undefined {
    return this.#segment;
  }

  get isSynchronous(): boolean {
    return this.#isSynchronous;
  }

  get hasUnsynced(): boolean {
    return this.#unsyncedBytes > 0;
  }

  /** Recovery writes again what may be in memory alone, and must know how much that is. */
  isDueBefore({ start, end }: DirtyRange): boolean {
    return this.#unsyncedBytes > 0 && this.#unsyncedBytes + end - start > UNFLUSHED_LOG_BYTES_MAX;
  }

  /** Another file, just made. */
  begin(segment: Segment, segmentBytes: number): void {
    this.#segment = segment;
    this.#segmentBytes = segmentBytes;
    this.#room = undefined;
    this.#writtenBytes = 0;
    this.#toldBytes = 0;
  }

  /** No file: the segment is on disk, and nothing lies ahead in its file. */
  leave(): void {
    this.#segment = undefined;
    this.#room = undefined;
    this.#writtenBytes = 0;
    this.#toldBytes = 0;
  }

  /** What the write of the range has to wait for, or zeros might come over it. Never rejects. */
  busyBelow({ chunk, end }: DirtyRange): Promise<void> | undefined {
    return this.#room?.busyBelow(chunk.filePosition + end);
  }

  /**
   * Writes where the range lies, and tells whether that is on disk as well; `wrote` is to be called for it, in the order of
   * the ranges. Rejects as files do.
   * @param isBeside another write is under way
   */
  write(range: DirtyRange, synchronous: boolean | undefined, isBeside: boolean): Promise<boolean> {
    const { chunk, start, end } = range;
    const write = async (file: OpenFile): Promise<boolean> => {
      const isSynchronous = file.isSynchronous === true;
      try {
        await file.write(chunk.bytes, start, end - start, chunk.filePosition + start);
      } catch (error) {
        // Which of the two failed is not told.
        if (isSynchronous) this.#datasyncFailed = true;
        throw error;
      }
      return isSynchronous;
    };
    // Set by `begin`.
    return this.#parts.files.with(this.#segment!.path, write, synchronous, isBeside ? 'beside' : 'shared');
  }

  wrote({ chunk, start, end }: DirtyRange, isOnDisk: boolean): void {
    this.#isSynchronous = isOnDisk;
    this.#writtenBytes = chunk.filePosition + end;
    if (isOnDisk) this.#makeRoom(end - start);
    else {
      this.#room?.passed(this.#writtenBytes);
      this.#unsyncedBytes += end - start;
    }
  }

  /** A file that is small has none: most logs are quiet. */
  #makeRoom(length: number): void {
    const segment = this.#segment;
    if (segment === undefined || this.#writtenBytes < this.#parts.roomAfterBytes) return;
    this.#room ??= new SegmentRoom(this.#parts, segment, this.#segmentBytes);
    this.#room.wrote(this.#writtenBytes, length);
  }

  /** Somebody is told that all that was written is committed. */
  told(): void {
    this.#toldBytes = this.#writtenBytes;
  }

  /** All that was written is on disk when it resolves. Rejects as files do. */
  async datasync(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined) return;
    try {
      await this.#parts.files.with(segment.path, (file) => file.datasync());
      this.#unsyncedBytes = 0;
    } catch (error) {
      this.#datasyncFailed = true;
      throw error;
    }
  }

  /** Whether the file may be longer than what was written. */
  get isRoomHeld(): boolean {
    return this.#room?.isHeld === true;
  }

  get isFilling(): boolean {
    return this.#room?.isFilling === true;
  }

  /**
   * All that was written is on disk, and the file ends there, when it resolves. Nothing is being written meanwhile: room
   * has been stopped (`stopRoom`). Rejects as files do.
   */
  async end(): Promise<void> {
    const room = this.#room;
    const segment = this.#segment;
    if (segment === undefined) return;
    if (room?.isHeld) await this.#parts.files.with(segment.path, (file) => file.truncate(this.#writtenBytes));
    await this.datasync();
    room?.release();
    this.#room = undefined;
  }

  /** Resolves when no room is being made any more, which a disk that hangs may prevent. Never rejects. */
  async stopRoom(): Promise<void> {
    await this.#room?.stop();
  }

  releaseRoom(): void {
    this.#room?.release();
  }

  /**
   * Cuts what nobody was told of, and what a failed flush may have left in memory alone: the next process would find it
   * in the file, flush it with success, and lose it with the power. What was told before its flush and did not fail is
   * flushed: a write that finds the disk full takes nothing with it that was written before. A cut that fails is reported,
   * and left to recovery.
   */
  async takeBack(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined) return;
    const position = this.#datasyncFailed ? segment.flushedBytes : this.#toldBytes;
    // Before the file ends there, so that no reader looks for what is going.
    segment.flushedBytes = Math.min(segment.flushedBytes, position);
    const { files, log } = this.#parts;
    try {
      await files.with(segment.path, async (file) => {
        await file.truncate(position);
        await file.datasync();
      });
      segment.flushedBytes = position;
      this.#room?.release();
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return;
      log.warn('log.not-taken-back', { log: this.#name, position, error });
    }
  }
}
