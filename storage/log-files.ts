// Writes the small files beside a log's segments when it is their time: the manifest on open and close and when the
// log's start moves, checkpoints as the log grows, leader epochs when one begins. What says the same as before is not written again, so that a log which
// is only read, or not used at all, costs nothing to close.
import type { BackgroundWork } from './background-work.ts';
import { epochStarts, writeLeaderEpochs } from './leader-epochs.ts';
import { type Manifest, type RecoveryCheckpoint, writeCheckpoint, writeManifest } from './manifest.ts';
import type { RecoveredLog } from './recovery.ts';
import type { SegmentList } from './segment.ts';
import type { Durability } from './small-file.ts';
import type { StoreParts } from './store-parts.ts';

export class LogFiles {
  readonly #parts: StoreParts;
  readonly #directory: string;
  readonly #background: BackgroundWork;
  readonly #manifestNow: () => Manifest;
  /** What is on disk, as far as known, and whether it is there for good. */
  #manifest: Manifest | undefined;
  #manifestDurable = false;
  #manifestWriting: Promise<unknown> | undefined;
  #checkpointAtEnd: boolean;
  /** Flushed since the last checkpoint. */
  #uncheckedBytes = 0;
  #checkpointing = false;
  #closing = false;

  constructor(
    parts: StoreParts,
    directory: string,
    background: BackgroundWork,
    recovered: RecoveredLog,
    manifestNow: () => Manifest,
  ) {
    this.#parts = parts;
    this.#directory = directory;
    this.#background = background;
    this.#manifestNow = manifestNow;
    this.#manifest = recovered.manifest;
    this.#checkpointAtEnd = recovered.checkpointAtEnd;
  }

  /** The log is open. */
  opened(): void {
    const writing = this.#parts.smallWrites.pass(async () => {
      if (!this.#closing) await this.#writeManifest('durable');
    });
    this.#background.add('writing the manifest', writing);
  }

  /** Whether the log's start has moved and the manifest does not say so. */
  get isStartBehind(): boolean {
    return (this.#manifest?.logStartOffset ?? 0) < this.#manifestNow().logStartOffset;
  }

  /** The log's start has moved, or had before: durable when it resolves. */
  async startMoved(): Promise<void> {
    const known = this.#manifest;
    const isKnown = this.#manifestDurable && known?.logStartOffset === this.#manifestNow().logStartOffset;
    if (!isKnown) await this.#writeManifest('durable');
  }

  /** A segment has got its file. */
  segmentCreated(segments: SegmentList): void {
    const starts = epochStarts(segments);
    if (starts.at(-1)?.[1] !== segments.newest?.baseOffset) return;
    const writing = writeLeaderEpochs(this.#parts.fileSystem, this.#directory, starts);
    this.#background.add('writing leader epochs', writing);
  }

  /** So many bytes more are on disk, up to `checkpoint`. */
  flushed(bytes: number, checkpoint: RecoveryCheckpoint): void {
    this.#checkpointAtEnd = false;
    this.#uncheckedBytes += bytes;
    if (this.#checkpointing || this.#uncheckedBytes < this.#parts.checkpointBytes) return;
    this.#checkpointing = true;
    this.#uncheckedBytes = 0;
    const writing = writeCheckpoint(this.#parts.fileSystem, this.#directory, checkpoint, 'durable').finally(
      () => {
        this.#checkpointing = false;
      },
    );
    this.#background.add('writing a checkpoint', writing);
  }

  /**
   * The log closes whole: after it nothing is left to scan. Nothing else of this log is under way. Thousands close at
   * once when the store does, and what they lose if the power fails in this moment is a scan.
   */
  async close(checkpoint: RecoveryCheckpoint | undefined): Promise<void> {
    this.#closing = true;
    await this.#background.settled();
    if (checkpoint !== undefined && !this.#checkpointAtEnd) {
      await writeCheckpoint(this.#parts.fileSystem, this.#directory, checkpoint, 'helpful');
    }
    await this.#writeManifest('whole');
  }

  /** Says what holds when its turn comes: one file is written at a time. */
  async #writeManifest(durability: Durability): Promise<void> {
    while (this.#manifestWriting !== undefined) await this.#manifestWriting;
    const manifest = this.#manifestNow();
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
