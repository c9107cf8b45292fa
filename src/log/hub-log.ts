// The process's log behind the port's `Log`. One event a line: time, level, event name, fields (line.ts). Warnings and
// errors of one event are limited (repeat-limit.ts); what is less serious is not, since it is written only when asked
// for or seldom. How much is written is said for each logger, at any time (levels.ts).
import type { Log } from '../../protocols/port.ts';
import type { LogConfig } from '../config/resolve.ts';
import { loggerOf } from './events.ts';
import { type Level, type LevelClock, LogLevels } from './levels.ts';
import { type EventLine, jsonLine, textLine } from './line.ts';
import { RepeatLimit } from './repeat-limit.ts';

/** Where lines go; `process.stderr`, or what a test gives. */
export interface LogOutput {
  write(line: string): unknown;
  readonly isTTY?: boolean | undefined;
}

export interface HubLog extends Log {
  readonly levels: LogLevels;
  /** For the last event of a process: never limited, written before this returns. */
  fatal(event: string, fields?: object): void;
  /** Writes the counts that are still held back. */
  close(): void;
}

export interface HubLogOptions extends LogConfig {
  readonly output: LogOutput;
  /** Milliseconds from any start; a test gives its own. */
  readonly now?: () => number;
  /** Of levels that go back by themselves; a test gives its own. */
  readonly levelClock?: LevelClock;
}

const REPEAT_BURST = 10;
const REPEAT_WINDOW_MS = 10_000;
const REPEAT_EVENTS_MAX = 256;

export function openLog(options: HubLogOptions): HubLog {
  return new LimitedLog(options);
}

/** Keeps no process alive. */
const LEVEL_CLOCK: LevelClock = {
  now: () => Date.now(),
  setTimer: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

class LimitedLog implements HubLog {
  readonly levels: LogLevels;
  readonly #options: HubLogOptions;
  readonly #limit: RepeatLimit;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HubLogOptions) {
    const { level, now, levelClock } = options;
    this.#options = options;
    this.levels = new LogLevels(level, levelClock ?? LEVEL_CLOCK, ({ name, level, source, untilMs }) => {
      const until = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
      this.info('log-level-changed', { logger: name, to: level, source, until });
    });
    this.#limit = new RepeatLimit({
      burst: REPEAT_BURST,
      windowMs: REPEAT_WINDOW_MS,
      eventsMax: REPEAT_EVENTS_MAX,
      now: now ?? (() => performance.now()),
    });
  }

  debug(event: string, fields?: object): void {
    if (this.#writes('debug', event)) this.#write('debug', event, fields);
  }

  info(event: string, fields?: object): void {
    if (this.#writes('info', event)) this.#write('info', event, fields);
  }

  warn(event: string, fields?: object): void {
    if (this.#writes('warn', event) && this.#admits(event, fields)) this.#write('warn', event, fields);
  }

  error(event: string, fields?: object): void {
    if (this.#writes('error', event) && this.#admits(event, fields)) this.#write('error', event, fields);
  }

  fatal(event: string, fields?: object): void {
    this.#tellSuppressed(true);
    this.#write('fatal', event, fields);
  }

  close(): void {
    this.levels.close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tellSuppressed(true);
  }

  #write(level: EventLine['level'], event: string, fields: object | undefined): void {
    const { format, output } = this.#options;
    const line: EventLine = { level, timeMs: Date.now(), event, fields };
    output.write(format === 'json' ? jsonLine(line) : textLine(line, output.isTTY === true));
  }

  #writes(level: Level, event: string): boolean {
    return this.levels.mayWrite(level) && this.levels.writes(loggerOf(event), level);
  }

  #admits(event: string, fields: object | undefined): boolean {
    this.#tellSuppressed(false);
    const admitted = this.#limit.admits(event, fields);
    if (!admitted && this.#timer === undefined) this.#schedule();
    return admitted;
  }

  /** Tells the counts of a storm that ended, though nothing more is logged. Keeps no process alive. */
  #schedule(): void {
    const delayMs = this.#limit.nextEndMs();
    if (delayMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#tellSuppressed(false);
      this.#schedule();
    }, delayMs);
    this.#timer.unref();
  }

  #tellSuppressed(all: boolean): void {
    for (const { event, count, fields } of this.#limit.takeSuppressed(all)) {
      this.#write('warn', 'repeats-left-out', { repeated: event, count, last: fields });
    }
  }
}
