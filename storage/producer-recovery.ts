// What an opening knows of a log's producers. The log is the truth: each good batch says what its producer did. So that
// it need not be read whole, a base is looked for: the snapshot, if it fits the log, or a checkpoint that says that
// there were no producers. What lies behind the base is replayed: up to where recovery's own scan begins from the
// headers of the batches, from there on as the scan finds them.
//
// A snapshot that speaks of more than the log holds, or of another history of it, never counts: a leader epoch begins
// at most once, so a file of a newer epoch below its end means that the log was cut and went on differently. Nor does
// one count that ends where the log does not reach back to.
//
// Of files that were not written to for as long as it takes a producer to expire, before the newest file was last, only the
// transactions count that are open since, which never expire; those below the stable offset of the checkpoint have none and
// are passed over. The time when nothing wrote does not count: what was open when the store stopped is open still.
import { basename, dirname, join } from 'node:path';
import { controlRecordOf } from './control-record.ts';
import { PRODUCER_SNAPSHOT_FILE } from './file-names.ts';
import {
  ATTRIBUTE_CONTROL,
  ATTRIBUTE_TRANSACTIONAL,
  BATCH_ATTRIBUTES_AT,
  BATCH_BASE_SEQUENCE_AT,
  BATCH_FRAME_BYTES,
  BATCH_LAST_OFFSET_DELTA_AT,
  BATCH_PRODUCER_EPOCH_AT,
  BATCH_PRODUCER_ID_AT,
  batchBaseOffsetAt,
  batchByteLengthAt,
  batchMaxTimestampAt,
  looksLikeBatch,
  readInt64,
  viewOf,
} from './frame.ts';
import { HEADER_SCAN_BYTES } from './limits.ts';
import type { RecoveryCheckpoint } from './manifest.ts';
import { type ProducerSnapshot, readProducerSnapshot } from './producer-snapshot.ts';
import { ProducerStates } from './producer-states.ts';
import type { StoreParts } from './store-parts.ts';

/** A segment's file as recovery found it. */
export interface SegmentFile {
  readonly name: string;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  readonly byteSize: number;
  /** Wall clock of the last write to it. */
  readonly mtimeMs: number;
}

export interface ProducerRecoveryOptions {
  readonly directory: string;
  /** In offset order. */
  readonly files: readonly SegmentFile[];
  readonly checkpoint: RecoveryCheckpoint | undefined;
  /** All names in the directory. */
  readonly names: readonly string[];
}

export class ProducerRecovery {
  readonly #parts: StoreParts;
  readonly #options: ProducerRecoveryOptions;
  readonly #newestUsedAtMs: number;
  #states: ProducerStates;
  /** Batches below it are in the states. */
  #nextOffset = 0;
  #isRebuilt = false;
  /** Below it no transaction began that may be open. */
  #stableOffset: number;

  constructor(parts: StoreParts, options: ProducerRecoveryOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#newestUsedAtMs = this.#usedAtMs(options.files.at(-1));
    this.#states = this.#noStates();
    const { checkpoint } = options;
    this.#stableOffset =
      checkpoint !== undefined && this.#fits(checkpoint) ? (checkpoint.stableOffset ?? 0) : 0;
  }

  /** Whether more was read for the producers' sake than the next opening should have to read again. */
  get isRebuilt(): boolean {
    return this.#isRebuilt;
  }

  /** Makes the states those of `scanOffset`, where recovery's scan begins. @throws errors of the file system */
  async begin(scanOffset: number): Promise<void> {
    const { checkpoint, files, names } = this.#options;
    if (checkpoint?.producers === false && this.#fits(checkpoint)) {
      this.#nextOffset = checkpoint.logEndOffset;
    } else if (names.includes(PRODUCER_SNAPSHOT_FILE)) {
      const snapshot = await readProducerSnapshot(this.#parts.fileSystem, this.#options.directory);
      if (snapshot !== undefined && this.#isOfThisLog(snapshot)) {
        this.#states.restore(snapshot.producers, this.#parts.clock.now());
        this.#nextOffset = snapshot.logEndOffset;
      }
    }
    const start = files[0]?.baseOffset ?? scanOffset;
    if (this.#nextOffset < start) this.#startOver(start);
    await this.#replayFiles(scanOffset);
  }

  /** A good batch that recovery's scan stands on. */
  note(view: DataView, at: number): void {
    this.#replay(view, at, this.#newestUsedAtMs);
  }

  /** The checkpoint was wrong: what was built on it counts for nothing. */
  distrust(): void {
    this.#nextOffset = Number.POSITIVE_INFINITY;
  }

  /** The states at the log's end; undefined when there are no producers. @throws errors of the file system */
  async finish(logEndOffset: number): Promise<ProducerStates | undefined> {
    if (this.#nextOffset > logEndOffset) {
      this.#stableOffset = 0;
      this.#startOver(0);
      await this.#replayFiles(logEndOffset);
    }
    this.#states.seenUpTo(logEndOffset);
    return this.#states.size === 0 ? undefined : this.#states;
  }

  /** The opening failed. */
  release(): void {
    this.#states.release();
  }

  #startOver(nextOffset: number): void {
    this.#states.release();
    this.#states = this.#noStates();
    this.#nextOffset = nextOffset;
  }

  #noStates(): ProducerStates {
    const { directory } = this.#options;
    const name = `${basename(dirname(directory))}-${basename(directory)}`;
    return new ProducerStates(name, this.#parts.producers);
  }

  /** Whether the checkpoint's place is there, and no file begins where it says that the log had gone on. */
  #fits({ segmentBase, bytePosition, logEndOffset }: RecoveryCheckpoint): boolean {
    const { files } = this.#options;
    const index = files.findIndex(({ baseOffset }) => baseOffset === segmentBase);
    const next = files[index + 1];
    return (
      index >= 0 &&
      bytePosition <= files[index]!.byteSize && // found above
      (next === undefined || next.baseOffset >= logEndOffset)
    );
  }

  #isOfThisLog({ leaderEpoch, logEndOffset }: ProducerSnapshot): boolean {
    return this.#options.files.every(
      (file) => file.baseOffset >= logEndOffset || file.leaderEpoch <= leaderEpoch,
    );
  }

  /** From the headers of the batches below `endOffset`. */
  async #replayFiles(endOffset: number): Promise<void> {
    const { files } = this.#options;
    const youngMs = this.#newestUsedAtMs - this.#parts.producers.expirationMs;
    for (const [index, file] of files.entries()) {
      const fileEndOffset = files[index + 1]?.baseOffset ?? endOffset;
      const isNeeded = fileEndOffset > this.#nextOffset && file.baseOffset < endOffset;
      const isOld = file.mtimeMs < youngMs;
      if (!isNeeded || (isOld && fileEndOffset <= this.#stableOffset)) continue;
      this.#isRebuilt = true;
      await this.#parts.scans.pass(() => this.#replayFile(file, endOffset));
      if (isOld) this.#states.forgetExpired(this.#newestUsedAtMs);
    }
    this.#nextOffset = Math.max(this.#nextOffset, endOffset);
  }

  async #replayFile(file: SegmentFile, endOffset: number): Promise<void> {
    const handle = await this.#parts.fileSystem.open(join(this.#options.directory, file.name), 'read');
    try {
      const bytes = Buffer.allocUnsafeSlow(Math.min(HEADER_SCAN_BYTES, file.byteSize));
      const view = viewOf(bytes);
      const usedAtMs = this.#usedAtMs(file);
      let position = this.#startIn(file);
      while (position < file.byteSize) {
        const loaded = await handle.read(bytes, 0, bytes.length, position);
        let at = 0;
        for (; at + BATCH_FRAME_BYTES <= loaded; at += batchByteLengthAt(view, at)) {
          // Damage ends it: who reads there is told. The first offset behind the end does, too.
          if (!looksLikeBatch(view, at) || batchBaseOffsetAt(view, at) >= endOffset) return;
          // Of a control batch the record counts too.
          if (at > 0 && isControlAt(view, at) && at + batchByteLengthAt(view, at) > loaded) break;
          this.#replay(view, at, usedAtMs);
        }
        if (at === 0) return;
        position += at;
      }
    } finally {
      await handle.close();
    }
  }

  #startIn({ baseOffset, byteSize }: SegmentFile): number {
    const { checkpoint } = this.#options;
    const isKnown =
      checkpoint !== undefined &&
      checkpoint.segmentBase === baseOffset &&
      checkpoint.logEndOffset <= this.#nextOffset &&
      checkpoint.bytePosition <= byteSize;
    return isKnown ? checkpoint.bytePosition : 0;
  }

  #replay(view: DataView, at: number, usedAtMs: number): void {
    const producerId = readInt64(view, at + BATCH_PRODUCER_ID_AT);
    if (producerId < 0) return;
    const baseOffset = batchBaseOffsetAt(view, at);
    if (baseOffset < this.#nextOffset) return;
    const isControl = isControlAt(view, at);
    const batch = {
      producerId,
      epoch: view.getInt16(at + BATCH_PRODUCER_EPOCH_AT),
      baseSequence: view.getInt32(at + BATCH_BASE_SEQUENCE_AT),
      // What was appended, whatever compaction has left of it.
      recordCount: view.getUint32(at + BATCH_LAST_OFFSET_DELTA_AT) + 1,
      baseOffset,
      maxTimestampMs: batchMaxTimestampAt(view, at),
      isTransactional: (view.getUint16(at + BATCH_ATTRIBUTES_AT) & ATTRIBUTE_TRANSACTIONAL) !== 0,
      isControl,
      coordinatorEpoch: isControl ? coordinatorEpochAt(view, at) : -1,
    };
    // Kept by earlier versions without looking at them.
    if (batch.epoch < 0 || (batch.baseSequence < 0 && !batch.isControl)) return;
    this.#states.replay(batch, usedAtMs);
  }

  /** When a file's batches were appended, at the latest. */
  #usedAtMs(file: SegmentFile | undefined): number {
    const nowMs = this.#parts.clock.now();
    return Math.min(file?.mtimeMs ?? nowMs, nowMs);
  }
}

function isControlAt(view: DataView, at: number): boolean {
  return (view.getUint16(at + BATCH_ATTRIBUTES_AT) & ATTRIBUTE_CONTROL) !== 0;
}

/** −1 when the control batch does not say, or is not whole. */
function coordinatorEpochAt(view: DataView, at: number): number {
  const byteLength = batchByteLengthAt(view, at);
  if (at + byteLength > view.byteLength) return -1;
  return controlRecordOf(view, at, byteLength)?.coordinatorEpoch ?? -1;
}
