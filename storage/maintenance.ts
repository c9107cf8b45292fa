// Looks after the open logs of a store, every check interval: one log after the other, so that it never takes more
// than one file operation at a time from appends and reads, and with a turn for the others in between. A round costs
// next to nothing for a log that has nothing to be done. A log that fails, closes or is deleted meanwhile is left alone.
//
// First a round of what is quick, in which a log rolls by age and lets go of what it need not keep; then compaction,
// which may take long, and for which the next round does not wait.
import type { Clock, Log, Timer } from './environment.ts';
import { nextTurn } from './gate.ts';
import { MAINTENANCE_SLICE_MS } from './limits.ts';

/** A log as its maintenance sees it. */
export interface Maintained {
  /** For messages. */
  readonly name: string;
  /** Whether there is anything to do. Cheap: asked of every log in every round. */
  maintenanceDue(): boolean;
  /** Rolls by age, and removes what retention and the log start leave behind. Nothing to do when it is closed. */
  maintain(): Promise<void>;
}

export interface MaintenanceOptions<EachLog extends Maintained> {
  readonly clock: Clock;
  readonly log: Log;
  /** 0 = never by itself. */
  readonly checkIntervalMs: number;
  /** The logs that are open now. */
  logs(): readonly EachLog[];
  /** Before the logs: what they share. Quick. */
  maintainShared(): void;
  /** Compacts what is worth it, dirtiest first, until all is done or `stopped` says so. */
  compact(logs: readonly EachLog[], stopped: () => boolean): Promise<void>;
}

export class Maintenance<EachLog extends Maintained> {
  readonly #options: MaintenanceOptions<EachLog>;
  #timer: Timer | undefined;
  #round: Promise<void> | undefined;
  #compaction: Promise<void> | undefined;
  #stopped = false;

  constructor(options: MaintenanceOptions<EachLog>) {
    this.#options = options;
  }

  start(): void {
    const { clock, checkIntervalMs } = this.#options;
    if (checkIntervalMs === 0 || this.#stopped) return;
    this.#timer = clock.setTimer(checkIntervalMs, () => {
      void this.run(); // never rejects
      void this.#round?.then(() => this.start());
    });
  }

  /** One round, or the rest of the one under way, compaction included. Never rejects. */
  async run(): Promise<void> {
    if (this.#stopped) return;
    this.#round ??= this.#runRound()
      // A fault of this program must neither end the process nor the rounds.
      .catch((error: unknown) => this.#options.log.error('maintenance.failed', { error }))
      .finally(() => {
        this.#round = undefined;
      });
    await this.#round;
    if (this.#stopped) return;
    this.#compaction ??= this.#compactLogs().finally(() => {
      this.#compaction = undefined;
    });
    await this.#compaction;
  }

  /** Whether no log has its turn; one may be compacted. */
  get isBetweenRounds(): boolean {
    return this.#round === undefined;
  }

  /** Resolves when nothing is under way, and nothing will be. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
    await this.#compaction;
  }

  async #runRound(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      this.#options.maintainShared();
    } catch (error) {
      log.error('maintenance.failed', { error });
    }
    let sliceStartMs = clock.monotonic();
    for (const each of this.#options.logs()) {
      if (this.#stopped) return;
      try {
        if (each.maintenanceDue()) await each.maintain();
      } catch (error) {
        // One log's fault is not the others'. It is tried again in the next round.
        log.warn('log.not-maintained', { log: each.name, error });
      }
      if (clock.monotonic() - sliceStartMs < MAINTENANCE_SLICE_MS) continue;
      await nextTurn();
      sliceStartMs = clock.monotonic();
    }
  }

  async #compactLogs(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#options.compact(this.#options.logs(), () => this.#stopped);
    } catch (error) {
      log.warn('log.not-compacted', { error });
    }
  }
}
