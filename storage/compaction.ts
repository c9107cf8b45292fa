// Compaction: of each key the latest record is kept. Chooses the logs that are worth it, dirtiest first, and runs one
// after the other, one pass at a time (compaction-pass.ts). A log whose compaction fails is left as it is and tried
// again ever later; the others go on. One that is damaged is told of and left alone until it is opened again.

import type { CompactedLog } from './compacted-log.ts';
import {
  afterRound,
  type CompactionCheckpoint,
  NOTHING_COMPACTED,
  readCompactionCheckpoint,
  tombstonesExpireBelow,
  writeCompactionCheckpoint,
} from './compaction-checkpoint.ts';
import { CompactionPass } from './compaction-pass.ts';
import { type CompactionPlan, planCompaction } from './compaction-plan.ts';
import type { Random } from './environment.ts';
import { storageErrorOf } from './errors.ts';
import { KeyOffsetMap } from './key-offset-map.ts';
import { COMPACTION_RETRY_MAX_MS, COMPACTION_RETRY_MIN_MS } from './limits.ts';
import type { LogConfig } from './log-config.ts';
import { Pace } from './pace.ts';
import { momentOf } from './retention.ts';
import { removeLeftovers } from './segment-swap.ts';
import type { StoreParts } from './store-parts.ts';

export interface CompactionOptions {
  readonly random: Random;
  /** For the latest offset of each key, while a compaction runs. */
  readonly mapBytes: number;
  /** Read and written together. */
  readonly bytesPerSecond: number;
}

/** A log that compaction looks at when its settings say so. */
export interface Compactable {
  readonly config: LogConfig;
  readonly compacted: CompactedLog;
}

/** What is known of a log between rounds. */
interface LogState {
  checkpoint: CompactionCheckpoint | undefined;
  /** Replaced files that are still there. */
  readonly leftovers: string[];
  failures: number;
  retryAtMonotonicMs: number;
}

export class Compaction {
  readonly #parts: StoreParts;
  readonly #options: CompactionOptions;
  readonly #pace: Pace;
  readonly #states = new WeakMap<CompactedLog, LogState>();

  constructor(parts: StoreParts, options: CompactionOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#pace = new Pace(parts.clock, options.bytesPerSecond);
  }

  /** Compacts what is worth it, dirtiest first, until all is done or `stopped` says so. Never rejects. */
  async run(logs: readonly Compactable[], stopped: () => boolean): Promise<void> {
    const due: { readonly log: CompactedLog; readonly plan: CompactionPlan }[] = [];
    for (const each of logs) {
      if (stopped()) return;
      if (!each.config.compacts) continue;
      const log = each.compacted;
      if (!log.isWritable()) continue;
      const plan = await this.#attempt(log, () => this.#plan(log));
      if (plan !== undefined) due.push({ log, plan });
      if (this.#pace.isSpent()) await this.#pace.rest();
    }
    due.sort(
      (a, b) => Number(b.plan.isOverdue) - Number(a.plan.isOverdue) || b.plan.dirtyRatio - a.plan.dirtyRatio,
    );
    for (const { log } of due) {
      if (stopped()) return;
      // A log that closes waits for it, and so stops it soon.
      const compacting = this.#attempt(log, () => this.#compact(log, stopped)).then(() => {});
      log.background.add('compacting', compacting);
      await compacting;
    }
  }

  /** Undefined also when it failed: that is told here, and the log is left alone for a while. */
  async #attempt<Result>(log: CompactedLog, work: () => Promise<Result>): Promise<Result | undefined> {
    const state = this.#stateOf(log);
    if (this.#parts.clock.monotonic() < state.retryAtMonotonicMs) return undefined;
    try {
      return await work();
    } catch (error) {
      // One that closes takes its files along.
      if (log.isWritable()) this.#failed(log, state, error);
      return undefined;
    }
  }

  #failed(log: CompactedLog, state: LogState, error: unknown): void {
    const failure = storageErrorOf(error, `compacting ${log.name}`);
    if (failure.code === 'closed') return;
    if (failure.code === 'corrupt') {
      state.retryAtMonotonicMs = Number.POSITIVE_INFINITY;
      this.#parts.log.error('compaction.damaged', { log: log.name, error: failure });
      return;
    }
    const delayMs = Math.min(COMPACTION_RETRY_MIN_MS * 2 ** state.failures, COMPACTION_RETRY_MAX_MS);
    state.failures++;
    state.retryAtMonotonicMs = this.#parts.clock.monotonic() + delayMs;
    this.#parts.log.warn('compaction.failed', { log: log.name, retryInMs: delayMs, error: failure });
  }

  async #plan(log: CompactedLog): Promise<CompactionPlan | undefined> {
    const checkpoint = await this.#checkpointOf(log);
    const now = momentOf(this.#parts.clock);
    return planCompaction(log, checkpoint, now, (segment) => log.completion.timesOf(segment));
  }

  async #compact(log: CompactedLog, stopped: () => boolean): Promise<void> {
    const { fileSystem, clock } = this.#parts;
    const { leftovers } = this.#stateOf(log);
    await removeLeftovers(this.#parts, log.directory, leftovers);
    const startedAtMs = clock.monotonic();
    let passes = 0;
    let map: KeyOffsetMap | undefined;
    for (;;) {
      // Planned anew: others went first, and the last pass may not have taken all.
      const plan = await this.#plan(log);
      if (plan === undefined || stopped() || !log.isWritable()) break;
      const before = await this.#checkpointOf(log);
      const bytesBefore = plan.segments.reduce((bytes, { byteSize }) => bytes + byteSize, 0);
      map ??= new KeyOffsetMap(this.#options.mapBytes, plan.dirtyOffsets, this.#secret());
      map.clear();
      const { wallMs } = momentOf(clock);
      const expired = tombstonesExpireBelow(before.rounds, wallMs, log.config().deleteRetentionMs);
      const pass = new CompactionPass(this.#parts, {
        log,
        segments: plan.segments,
        cleanedOffset: before.cleanedOffset,
        map,
        pace: this.#pace,
        tombstonesExpireBelow: expired,
        tombstonesKnownBelow: before.rounds.at(-1)?.endOffset ?? 0,
        leftovers,
        stopped,
      });
      const { endOffset, leftTombstones } = await pass.run();
      const after = afterRound(before, endOffset, clock.now(), expired, leftTombstones);
      await writeCompactionCheckpoint(fileSystem, log.directory, after);
      const state = this.#stateOf(log);
      state.checkpoint = after;
      state.failures = 0;
      passes++;
      this.#parts.log.debug('compaction.pass', {
        log: log.name,
        endOffset,
        bytesBefore,
        bytes: log.segments.byteSize,
      });
    }
    if (passes === 0) return;
    this.#parts.counters.compactions++;
    const tookMs = Math.round(clock.monotonic() - startedAtMs);
    this.#parts.log.info('compaction.done', { log: log.name, passes, tookMs });
  }

  async #checkpointOf(log: CompactedLog): Promise<CompactionCheckpoint> {
    const state = this.#stateOf(log);
    if (state.checkpoint === undefined) {
      const read = await readCompactionCheckpoint(this.#parts.fileSystem, log.directory);
      // A log that has been cut shorter has other records there now.
      const openedAt = log.segments.all.find(
        ({ leaderEpoch }) => leaderEpoch === log.leaderEpoch,
      )?.baseOffset;
      state.checkpoint = read.cleanedOffset > (openedAt ?? log.stableOffset()) ? NOTHING_COMPACTED : read;
    }
    return state.checkpoint;
  }

  #stateOf(log: CompactedLog): LogState {
    let state = this.#states.get(log);
    if (state === undefined) {
      state = {
        checkpoint: undefined,
        leftovers: [],
        failures: 0,
        retryAtMonotonicMs: Number.NEGATIVE_INFINITY,
      };
      this.#states.set(log, state);
    }
    return state;
  }

  /** Another one each time: nobody has the time to learn it. */
  #secret(): Buffer {
    const hex = this.#options.random.uuid().replaceAll('-', '');
    const secret = Buffer.alloc(16);
    secret.write(hex, 'hex');
    return secret;
  }
}
