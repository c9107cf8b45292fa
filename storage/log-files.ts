// Writes the small files beside a log's segments when it is their time: the manifest on open and close and when the
// log's start moves, checkpoints as the log grows, leader epochs when one begins. What says the same as before is not
// written again, so that a log which is only read, or not used at all, costs nothing to close.
//
// Each is written aside under one name, so there is one writer at a time: who lets go of a log waits for what is under
// way (`BackgroundWork`), and nothing begins after that, however late its turn comes.
import type { BackgroundWork } from './background-work.ts';
import { StorageError } from './errors.ts';
import { epochStarts, writeLeaderEpochs } from './leader-epochs.ts';
import {
  type Manifest,
  type RecoveryCheckpoint,
  readCheckpoint,
  writeCheckpoint,
  writeManifest,
} from './manifest.ts';
import { type ProducerImage, writeProducerSnapshot } from './producer-snapshot.ts';
import type { RecoveredLog } from './recovery.ts';
import type { SegmentList } from './segment.ts';
import type { Durability } from './small-file.ts';
import type { StoreParts } from './store-parts.ts';

/** What the log would have written now. */
export interface FilesNow {
  manifest(): Manifest;
  /** Undefined when there are no producers. */
  producers(): ProducerImage | undefined;
  /** Resolves when all that was appended is on disk, or with why it never will be. */
  flush(): Promise<StorageError | undefined>;
}

/** A checkpoint, and the producers of the same moment or later. */
interface DueCheckpoint {
  readonly checkpoint: RecoveryCheckpoint;
  readonly producers: ProducerImage | undefined;
}

export class LogFiles {
  readonly #parts: StoreParts;
  readonly #directory: string;
  readonly #background: BackgroundWork;
  readonly #now: FilesNow;
  /** What is on disk, as far as known, and whether it is there for good. */
  #manifest: Manifest | undefined;
  #manifestDurable = false;
  #manifestWriting: Promise<unknown> | undefined;
  #checkpointAtEnd: boolean;
  /** Flushed since the last checkpoint. */
  #uncheckedBytes = 0;
  #flushedOffset: number;
  /** What is known of producers below it is on disk beside the files that say so: the manifest's start goes no further. */
  #keptOffset: number;
  #hasSegment = false;
  /** A checkpoint is due with the next flush: a segment has begun, or the last one left much to read. */
  #checkpointDue: boolean;
  #waiting: DueCheckpoint | undefined;
  #checkpointing = false;
  #checkpointWriting: Promise<unknown> | undefined;
  /** Where the newest snapshot that was written ends; they are written one after the other. */
  #snapshotEndOffset = 0;
  #snapshotWriting: Promise<unknown> = Promise.resolve();
  #closing = false;

  constructor(
    parts: StoreParts,
    directory: string,
    background: BackgroundWork,
    recovered: RecoveredLog,
    now: FilesNow,
  ) {
    this.#parts = parts;
    this.#directory = directory;
    this.#background = background;
    this.#now = now;
    this.#manifest = recovered.manifest;
    this.#checkpointAtEnd = recovered.checkpointAtEnd && !recovered.producersRebuilt;
    this.#checkpointDue = recovered.producersRebuilt;
    this.#flushedOffset = recovered.logEndOffset;
    this.#keptOffset = recovered.logStartOffset;
  }

  /** The log is open. */
  opened(): void {
    // It is not under way before its turn comes: who closes or deletes the log does not wait for that.
    void this.#parts.smallWrites.pass(async () => {
      if (this.#closing) return;
      const writing = this.#writeManifest('durable');
      this.#background.add('writing the manifest', writing);
      await writing.catch(() => undefined); // told by whoever has it in the background
    });
  }

  /** Whether the log's start has moved and the manifest does not say so. */
  get isStartBehind(): boolean {
    return this.startOffset < this.#now.manifest().logStartOffset;
  }

  /** The log's start as the manifest has it. */
  get startOffset(): number {
    return this.#manifest?.logStartOffset ?? 0;
  }

  /** The log's start has moved, or had before: durable when it resolves. @throws StorageError io, disk-full, sticky */
  async startMoved(): Promise<void> {
    const { logStartOffset } = this.#now.manifest();
    // First: once the manifest says so, an opening looks at nothing below the start. It may move on meanwhile.
    await this.#keepProducers(logStartOffset);
    this.#keptOffset = Math.max(this.#keptOffset, logStartOffset);
    const isKnown = this.#manifestDurable && this.startOffset >= logStartOffset;
    if (!isKnown) await this.#writeManifest('durable');
  }

  /** A segment has got its file; one that the file system was long in making may have lost its log by then. */
  segmentCreated(segments: SegmentList): void {
    if (this.#closing) return;
    if (this.#hasSegment) this.#checkpointDue = true;
    this.#hasSegment = true;
    const starts = epochStarts(segments);
    if (starts.at(-1)?.[1] !== segments.newest?.baseOffset) return;
    const writing = writeLeaderEpochs(this.#parts.fileSystem, this.#directory, starts);
    this.#background.add('writing leader epochs', writing);
  }

  /** So many bytes more are on disk, up to `checkpoint`. */
  flushed(bytes: number, checkpoint: RecoveryCheckpoint): void {
    this.#checkpointAtEnd = false;
    this.#uncheckedBytes += bytes;
    this.#flushedOffset = checkpoint.logEndOffset;
    if (this.#uncheckedBytes >= this.#parts.checkpointBytes) this.#checkpointDue = true;
    this.#writeIfDue(checkpoint);
  }

  /** The newest segment has closed and has no successor: as long as the log is quiet, an opening has nothing to scan. */
  sealed(checkpoint: RecoveryCheckpoint): void {
    if (this.#closing) return;
    this.#checkpointDue = true;
    this.#writeIfDue(checkpoint);
  }

  #writeIfDue(checkpoint: RecoveryCheckpoint): void {
    if (this.#checkpointing) return;
    if (this.#waiting === undefined && this.#checkpointDue) {
      this.#waiting = { checkpoint, producers: this.#now.producers() };
      this.#checkpointDue = false;
      this.#uncheckedBytes = 0;
    }
    if (this.#waiting === undefined) return;
    // What a snapshot speaks of is on disk before it is: that may take the next flush.
    if ((this.#waiting.producers?.logEndOffset ?? 0) > this.#flushedOffset) return;
    const writing = this.#whileCheckpointing(this.#writeCheckpoint(this.#waiting, 'durable'));
    this.#waiting = undefined;
    this.#background.add('writing a checkpoint', writing);
  }

  /**
   * Batches of these segments are about to move within their files. A checkpoint that names one of them makes way for one
   * of the newest file that tells nothing of positions. Durable when it resolves.
   */
  async batchesMove(segmentBases: readonly number[], newestBase: number): Promise<void> {
    while (this.#checkpointing) await this.#checkpointWriting;
    if (this.#waiting !== undefined && segmentBases.includes(this.#waiting.checkpoint.segmentBase)) {
      this.#waiting = undefined;
      this.#checkpointDue = true;
    }
    await this.#whileCheckpointing(this.#forgetPositions(segmentBases, newestBase));
  }

  async #forgetPositions(segmentBases: readonly number[], newestBase: number): Promise<void> {
    const { fileSystem } = this.#parts;
    const known = await readCheckpoint(fileSystem, this.#directory);
    if (known === undefined || !segmentBases.includes(known.segmentBase)) return;
    this.#checkpointAtEnd = false;
    const checkpoint = { segmentBase: newestBase, bytePosition: 0, logEndOffset: newestBase };
    // What is open now may have been ended by what is not on disk: what the file says stays.
    const { stableOffset } = known;
    const content = {
      ...checkpoint,
      producers: this.#now.producers() !== undefined,
      ...(stableOffset === undefined ? {} : { stableOffset }),
    };
    await writeCheckpoint(fileSystem, this.#directory, content, 'durable');
  }

  /**
   * The log is let go of: what waits for its turn to be written is not. The directory is its successor's from now on, or
   * gone.
   */
  abandon(): void {
    this.#closing = true;
  }

  /**
   * The log closes whole: after it nothing is left to scan. Nothing else of this log is under way. Thousands close at
   * once when the store does, and what they lose if the power fails in this moment is a scan.
   */
  async close(checkpoint: RecoveryCheckpoint | undefined): Promise<void> {
    this.#closing = true;
    await this.#background.settled();
    if (!this.#checkpointAtEnd) {
      const producers = this.#now.producers();
      if (checkpoint !== undefined) await this.#writeCheckpoint({ checkpoint, producers }, 'helpful');
      else if (producers !== undefined) await this.#writeSnapshot(producers, 'helpful');
    }
    this.#keptOffset = Number.POSITIVE_INFINITY;
    await this.#writeManifest('whole');
  }

  /** One is written at a time. */
  #whileCheckpointing(writing: Promise<void>): Promise<void> {
    this.#checkpointing = true;
    const written = writing.finally(() => {
      this.#checkpointing = false;
    });
    this.#checkpointWriting = written.catch(() => {});
    return written;
  }

  async #writeCheckpoint({ checkpoint, producers }: DueCheckpoint, durability: Durability): Promise<void> {
    if (producers !== undefined) await this.#writeSnapshot(producers, durability);
    const content = {
      ...checkpoint,
      producers: producers !== undefined,
      ...(producers === undefined ? {} : { stableOffset: producers.stableOffset }),
    };
    await writeCheckpoint(this.#parts.fileSystem, this.#directory, content, durability);
  }

  /** Files below `offset` are about to go: what they say of producers is kept. @throws StorageError sticky */
  async #keepProducers(offset: number): Promise<void> {
    if (this.#snapshotEndOffset >= offset) return;
    const producers = this.#now.producers();
    if (producers === undefined) return;
    // Appends may be under way that it speaks of too, and a snapshot that is ahead of the log counts for nothing.
    const error = producers.logEndOffset > this.#flushedOffset ? await this.#now.flush() : undefined;
    if (error !== undefined) throw new StorageError('sticky', 'producers could not be kept', error);
    await this.#writeSnapshot(producers, 'durable');
  }

  async #writeSnapshot(producers: ProducerImage, durability: Durability): Promise<void> {
    const writing = this.#snapshotWriting.then(async () => {
      if (this.#snapshotEndOffset > producers.logEndOffset) return;
      await writeProducerSnapshot(this.#parts.fileSystem, this.#directory, producers, durability);
      this.#snapshotEndOffset = producers.logEndOffset;
    });
    this.#snapshotWriting = writing.catch(() => {});
    await writing;
  }

  /** Says what holds when its turn comes: one file is written at a time. */
  async #writeManifest(durability: Durability): Promise<void> {
    while (this.#manifestWriting !== undefined) await this.#manifestWriting;
    const now = this.#now.manifest();
    const manifest = { ...now, logStartOffset: Math.min(now.logStartOffset, this.#keptOffset) };
    const isDurable = durability === 'durable';
    if (isSame(manifest, this.#manifest) && (this.#manifestDurable || !isDurable)) return;
    const writing = writeManifest(this.#parts.fileSystem, this.#directory, manifest, durability).then(() => {
      this.#manifest = manifest;
      this.#manifestDurable = isDurable;
    });
    this.#manifestWriting = writing
      .catch(() => {})
      .finally(() => {
        this.#manifestWriting = undefined;
      });
    await writing;
  }
}

function isSame(manifest: Manifest, known: Manifest | undefined): boolean {
  return (
    known?.leaderEpoch === manifest.leaderEpoch &&
    known.highWatermark === manifest.highWatermark &&
    known.logStartOffset === manifest.logStartOffset
  );
}
