// The process's log: pino behind the port's `Log`. One event a line: time, level, event name, fields. As text for
// people or as JSON for collectors. Warnings and errors of one event are limited (repeat-limit.ts); what is less
// serious is not, since it is written only when asked for or seldom. How much is written is said for each logger, at any
// time (levels.ts).
import { type Logger as PinoLogger, pino } from 'pino';
import type { Log } from '../../protocols/port.ts';
import type { LogConfig } from '../config/resolve.ts';
import { loggerOf } from './events.ts';
import { type Level, type LevelClock, LogLevels } from './levels.ts';
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

export async function openLog(options: HubLogOptions): Promise<HubLog> {
  const { format, output } = options;
  const form = format === 'text' ? await textForm(output.isTTY === true) : (line: string) => line;
  const logger = pino(
    {
      // Levels are judged here, by logger: pino is given what is to be written.
      level: 'debug',
      base: null,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: errorFields },
    },
    { write: (line: string) => void output.write(escaped(form(line))) },
  );
  return new LimitedLog(logger, options);
}

/** Keeps no process alive. */
const LEVEL_CLOCK: LevelClock = {
  now: () => Date.now(),
  setTimer: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Imported here only: a hub that logs JSON never needs it. */
async function textForm(isColored: boolean): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    colorize: isColored,
    messageKey: 'event',
    translateTime: 'UTC:yyyy-mm-dd"T"HH:MM:ss.l"Z"',
    singleLine: true,
    ignore: 'pid,hostname',
    errorLikeObjectKeys: [],
  });
}

class LimitedLog implements HubLog {
  readonly levels: LogLevels;
  readonly #logger: PinoLogger;
  readonly #limit: RepeatLimit;
  #timer: NodeJS.Timeout | undefined;

  constructor(logger: PinoLogger, { level, now, levelClock }: HubLogOptions) {
    this.#logger = logger;
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
    if (this.#writes('debug', event)) this.#logger.debug(fields ?? {}, event);
  }

  info(event: string, fields?: object): void {
    if (this.#writes('info', event)) this.#logger.info(fields ?? {}, event);
  }

  warn(event: string, fields?: object): void {
    if (this.#writes('warn', event) && this.#admits(event, fields)) this.#logger.warn(fields ?? {}, event);
  }

  error(event: string, fields?: object): void {
    if (this.#writes('error', event) && this.#admits(event, fields)) this.#logger.error(fields ?? {}, event);
  }

  fatal(event: string, fields?: object): void {
    this.#tellSuppressed(true);
    this.#logger.fatal(fields ?? {}, event);
  }

  close(): void {
    this.levels.close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tellSuppressed(true);
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
      this.#logger.warn({ repeated: event, count, last: fields }, 'repeats-left-out');
    }
  }
}

/** An error as fields: code, message, where it came from; its cause inside it. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? error.code : undefined;
  return {
    ...(code === undefined ? {} : { code }),
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: errorFields(error.cause) }),
  };
}

/** JSON leaves some control characters as they are (RFC 8259 §7), and terminals obey them. */
function escaped(line: string): string {
  return line.replace(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
