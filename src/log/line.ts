// An event as one line: a JSON object for collectors, or text for people. Whatever a client put into a field, it is one
// line, and what cannot be told of a field costs no more than the field.
import type { Level } from './levels.ts';

export interface EventLine {
  /** `fatal`: the last event of a process. */
  readonly level: Level | 'fatal';
  readonly timeMs: number;
  readonly event: string;
  readonly fields: object | undefined;
}

export function jsonLine({ level, timeMs, event, fields }: EventLine): string {
  const head = `{"level":"${level}","time":"${isoTime(timeMs)}"`;
  return `${[head, ...members(fields), `"event":${JSON.stringify(event)}`].join(',')}}\n`;
}

/** @param isColored for a terminal */
export function textLine({ level, timeMs, event, fields }: EventLine, isColored: boolean): string {
  const paint = (text: string, color: number) => (isColored ? `\u001b[${color}m${text}\u001b[39m` : text);
  const told = members(fields);
  const object = told.length === 0 ? '' : ` ${paint(`{${told.join(',')}}`, COLORS.fields)}`;
  const name = paint(level.toUpperCase(), COLORS[level]);
  return `[${isoTime(timeMs)}] ${name}: ${paint(escaped(event), COLORS.event)}${object}\n`;
}

/** SGR codes of foreground colors. */
const COLORS = { debug: 34, info: 32, warn: 33, error: 31, fatal: 31, event: 36, fields: 90 } as const;

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function members(fields: object | undefined): string[] {
  if (fields === undefined) return [];
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    const text = jsonOf(value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
}

/** Undefined when it has no form in JSON. Never throws: what is logged may be anything. */
function jsonOf(value: unknown): string | undefined {
  try {
    // Its type does not say that a function has no form.
    const text: string | undefined = JSON.stringify(value, (_, inner: unknown) => plain(inner));
    return text === undefined ? undefined : escaped(text);
  } catch {
    // It refers to itself, or has a toJSON that fails.
    return JSON.stringify(`[${typeof value}]`);
  }
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Error ? errorFields(value) : value;
}

/** Code, message, where it came from; its cause inside it. */
function errorFields(error: Error): object {
  const code = 'code' in error ? error.code : undefined;
  return { code, message: error.message, stack: error.stack, cause: error.cause };
}

/** JSON leaves some control characters as they are (RFC 8259 §7), and terminals obey them. */
function escaped(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
