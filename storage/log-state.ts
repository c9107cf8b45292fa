// Whether a log is open, and whether it takes appends: refusals, and what makes a log refuse for good.
import { StorageError } from './errors.ts';
import { UNFLUSHED_BYTES_MAX } from './limits.ts';
import type { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';

export class LogState {
  readonly #parts: StoreParts;
  readonly #name: string;
  readonly #leaderEpoch: number;
  readonly #isInternal: boolean;
  #life: 'open' | 'closed' | 'deleted' = 'open';
  #failed: StorageError | undefined;
  /** Where readers met damage. Made for the first. */
  #damaged: Map<Segment, StorageError> | undefined;

  /** @param corrupt what recovery found */
  constructor(
    parts: StoreParts,
    name: string,
    options: { readonly leaderEpoch: number; readonly internal?: boolean },
    corrupt: StorageError | undefined,
  ) {
    this.#parts = parts;
    this.#name = name;
    this.#leaderEpoch = options.leaderEpoch;
    this.#isInternal = options.internal ?? false;
    this.#failed = corrupt;
  }

  /** Appends are refused, reads go on. */
  get failed(): StorageError | undefined {
    return this.#failed ?? this.#damage();
  }

  /** Appends come back when all that is damaged has gone, by retention or because somebody deleted the records. */
  #damage(): StorageError | undefined {
    // Asked at every append; a private getter would cost 10 ns more.
    if (this.#damaged === undefined) return undefined;
    for (const [segment, error] of this.#damaged) {
      if (!segment.gone) return error;
      this.#damaged.delete(segment);
    }
    return undefined;
  }

  get isOpen(): boolean {
    return this.#life === 'open';
  }

  /** Nothing is written for the sake of a log that has failed. */
  get isWritable(): boolean {
    return this.#life === 'open' && this.failed === undefined;
  }

  /** Whether its start may move: damage that readers met is no reason to keep it. */
  get isTrimmable(): boolean {
    return this.#life === 'open' && this.#failed === undefined;
  }

  closed(): void {
    this.#life = 'closed';
  }

  deleted(): void {
    this.#life = 'deleted';
  }

  /** A write or a flush has failed, or hangs. */
  commitFailed(error: StorageError, flushedOffset: number): void {
    const message = `${this.#name} takes no appends until it is reopened: ${error.message}`;
    this.#failed = new StorageError('sticky', message, error);
    this.#parts.log.error('log.failed', { log: this.#name, flushedOffset, error });
  }

  /** A read has met damage. @param tellFailed called when the log takes no appends because of it */
  foundCorrupt(error: StorageError, segment: Segment, tellFailed: (() => void) | undefined): void {
    this.#parts.log.error('log.damaged', { log: this.#name, error });
    const isKnown = this.failed !== undefined;
    this.#damaged ??= new Map();
    this.#damaged.set(segment, error);
    if (!isKnown) tellFailed?.();
  }

  /** @throws StorageError closed, deleted */
  refuseUnlessOpen(): void {
    if (this.#life === 'open') return;
    throw new StorageError(this.#life, `${this.#name} is ${this.#life}`);
  }

  /** @throws StorageError closed, deleted, sticky, corrupt */
  refuseUnlessWritable(): void {
    this.refuseUnlessOpen();
    const { failed } = this;
    if (failed !== undefined) throw failed;
  }

  /** @throws StorageError closed, deleted; sticky, corrupt: what an opening found */
  refuseUnlessTrimmable(): void {
    this.refuseUnlessOpen();
    if (this.#failed !== undefined) throw this.#failed;
  }

  /** @throws StorageError as above; fenced-epoch, unknown-epoch, disk-full, busy */
  refuseAppends(callersEpoch: number | undefined): void {
    this.refuseUnlessWritable();
    if (callersEpoch !== undefined && callersEpoch !== this.#leaderEpoch) {
      const code = callersEpoch < this.#leaderEpoch ? 'fenced-epoch' : 'unknown-epoch';
      throw new StorageError(
        code,
        `${this.#name} has leader epoch ${this.#leaderEpoch}, not ${callersEpoch}`,
      );
    }
    this.#parts.disk.refuseAppends(this.#isInternal);
    if (this.#parts.counters.unflushedBytes > UNFLUSHED_BYTES_MAX) {
      throw new StorageError('busy', `${UNFLUSHED_BYTES_MAX} bytes wait for the disk`);
    }
  }
}
