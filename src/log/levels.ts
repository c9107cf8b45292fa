// How much each logger writes: as configured, unless whoever runs the hub has said otherwise, for good or for a time.
import { LOGGERS, type LoggerName } from './events.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

/** `root`: all loggers that have no level of their own. */
export const ROOT = 'root';
export const LEVEL_NAMES = [ROOT, ...LOGGERS] as const;
export type LevelName = (typeof LEVEL_NAMES)[number];

export interface LevelView {
  readonly name: LevelName;
  readonly level: Level;
  /** Who said so: the configuration, somebody at run time, or nobody for this logger, so that `root` counts. */
  readonly source: 'config' | 'runtime' | 'root';
  /** When it goes back by itself, in milliseconds of the levels' clock; undefined = it does not. */
  readonly untilMs: number | undefined;
}

export interface LevelClock {
  /** Milliseconds since the epoch. */
  now(): number;
  setTimer(delayMs: number, callback: () => void): { cancel(): void };
}

interface Passing {
  readonly level: Level;
  readonly untilMs: number;
  readonly timer: { cancel(): void };
}

export class LogLevels {
  #configured: Level;
  readonly #clock: LevelClock;
  /** Said at run time, for good and for a time: the second go before the first. */
  readonly #lasting = new Map<LevelName, Level>();
  readonly #passing = new Map<LevelName, Passing>();
  /** By logger, and of the most talkative one: asked at every event. */
  readonly #ranks = new Map<LoggerName, number>();
  #lowestRank = 0;
  readonly #onChange: (view: LevelView) => void;

  /** @param onChange called when somebody has changed a level, and when it has gone back by itself */
  constructor(configured: Level, clock: LevelClock, onChange: (view: LevelView) => void = () => undefined) {
    this.#configured = configured;
    this.#clock = clock;
    this.#onChange = onChange;
    this.#settle();
  }

  /** Whether any logger writes events of this level: false for most of what is not wanted. */
  mayWrite(level: Level): boolean {
    return rankOf(level) >= this.#lowestRank;
  }

  writes(logger: LoggerName, level: Level): boolean {
    return rankOf(level) >= (this.#ranks.get(logger) ?? 0);
  }

  /** What the configuration says of all of them; what was said at run time stays. */
  configure(level: Level): void {
    this.#configured = level;
    this.#settle();
  }

  view(name: LevelName): LevelView {
    const passing = this.#passing.get(name);
    const level = passing?.level ?? this.#lasting.get(name);
    if (level !== undefined) return { name, level, source: 'runtime', untilMs: passing?.untilMs };
    if (name === ROOT) return { name, level: this.#configured, source: 'config', untilMs: undefined };
    const root = this.view(ROOT);
    return { name, level: root.level, source: 'root', untilMs: root.untilMs };
  }

  /**
   * @param level undefined = as if nobody had said anything
   * @param forMs how long; undefined = for good. After a time what was said for good counts again.
   */
  set(name: LevelName, level: Level | undefined, forMs?: number): LevelView {
    this.#end(name);
    if (level !== undefined && forMs !== undefined) {
      const timer = this.#clock.setTimer(forMs, () => {
        this.#end(name);
        this.#changed(name);
      });
      this.#passing.set(name, { level, untilMs: this.#clock.now() + forMs, timer });
    } else if (level !== undefined) this.#lasting.set(name, level);
    else this.#lasting.delete(name);
    return this.#changed(name);
  }

  close(): void {
    for (const { timer } of this.#passing.values()) timer.cancel();
  }

  #end(name: LevelName): void {
    this.#passing.get(name)?.timer.cancel();
    this.#passing.delete(name);
  }

  #changed(name: LevelName): LevelView {
    this.#settle();
    const view = this.view(name);
    this.#onChange(view);
    return view;
  }

  #settle(): void {
    for (const logger of LOGGERS) this.#ranks.set(logger, rankOf(this.view(logger).level));
    this.#lowestRank = Math.min(...this.#ranks.values());
  }
}

function rankOf(level: Level): number {
  return LEVELS.indexOf(level);
}
