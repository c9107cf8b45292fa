// Writes the small files beside a log's segments when it is their time: the manifest on open and close, checkpoints as
// the log grows, leader epochs when one begins. What says the same as before is not written again, so that a log which
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
  /** What is on disk, as far as known. */
  #manifest: Manifest | undefined;
  #checkpointAtEnd: boolean;
  /** Flushed since the last checkpoint. */
  #uncheckedBytes = 0;
  #checkpointing = false;
  #closing = false;

  constructor(parts: StoreParts, directory: string, background: BackgroundWork, recovered: RecoveredLog) {
    this.#parts = parts;
    this.#directory = directory;
    this.#background = background;
    this.#manifest = recovered.manifest;
    this.#checkpointAtEnd = recovered.checkpointAtEnd;
  }

  /** The log is open. */
  opened(manifest: Manifest): void {
    const writing = this.#parts.smallWrites.pass(async () => {
      if (!this.#closing) await this.#writeManifest(manifest, 'durable');
    });
    this.#background.add('writing the manifest', writing);
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
  async close(manifest: Manifest, checkpoint: RecoveryCheckpoint | undefined): Promise<void> {
    this.#closing = true;
    await this.#background.settled();
    if (checkpoint !== undefined && !this.#checkpointAtEnd) {
      await writeCheckpoint(this.#parts.fileSystem, this.#directory, checkpoint, 'helpful');
    }
    await this.#writeManifest(manifest, 'whole');
  }

  async #writeManifest(manifest: Manifest, durability: Durability): Promise<void> {
    const known = this.#manifest;
    const same =
      known?.leaderEpoch === manifest.leaderEpoch &&
      known.highWatermark === manifest.highWatermark &&
      known.logStartOffset === manifest.logStartOffset;
    if (same) return;
    await writeManifest(this.#parts.fileSystem, this.#directory, manifest, durability);
    this.#manifest = manifest;
  }
}
