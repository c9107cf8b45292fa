// Which offset is asked for: `earliest`, `latest`, `max-timestamp`, a time (RFC 3339 or milliseconds since the
// epoch) or a time relative to now (`-1h`).
import { parseDuration } from '../config/units.ts';

export type TimeQuery =
  | { readonly kind: 'earliest' | 'latest' | 'max-timestamp'; readonly query: string }
  | { readonly kind: 'time'; readonly query: string; readonly timestampMs: number };

export interface BadTimeQuery {
  readonly message: string;
  /** What to write in its place; undefined = any of the forms that there are, which who asked knows. */
  readonly hint?: string;
}

/** Milliseconds below this were 1973; a number that small is seconds of our days. */
const SECONDS_BELOW = 100_000_000_000;
/** The last millisecond that ECMAScript has a date for (ECMA-262 §21.4.1.1). */
const LAST_MS = 8.64e15;

export const TIME_FORMS =
  'earliest, latest, max-timestamp, -1h, 2026-09-01T00:00:00Z or milliseconds since the epoch';

export function parseTimeQuery(query: string, nowMs: number): TimeQuery | BadTimeQuery {
  switch (query) {
    case 'earliest':
    case 'latest':
    case 'max-timestamp':
      return { kind: query, query };
    default:
  }
  if (/^\d+$/.test(query)) return millisecondQuery(query);
  if (query.startsWith('-')) return relativeQuery(query, nowMs);
  return dateQuery(query);
}

function millisecondQuery(query: string): TimeQuery | BadTimeQuery {
  const timestampMs = Number(query);
  if (timestampMs < SECONDS_BELOW) {
    const seconds = `in milliseconds that is ${timestampMs * 1000}`;
    const hint =
      timestampMs === 0 ? 'for the first record write earliest' : `if these are seconds, ${seconds}`;
    return { message: `${query} is not milliseconds since the epoch`, hint };
  }
  return timeQuery(query, timestampMs);
}

function relativeQuery(query: string, nowMs: number): TimeQuery | BadTimeQuery {
  const ago = parseDuration(query.slice(1));
  if (ago === undefined) {
    return {
      message: `${query} is no time before now`,
      hint: 'write a unit, such as -90s, -15m, -1h or -7d',
    };
  }
  return timeQuery(query, nowMs - ago);
}

/** RFC 3339 §5.6. A URL's `+` may have come as a space; no date has one there. */
function dateQuery(query: string): TimeQuery | BadTimeQuery {
  const form = /^(\d{4}-\d\d)-(\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[ +-]\d\d:\d\d)?$/.exec(query);
  if (!form) {
    const isDay = /^\d{4}-\d\d-\d\d$/.test(query);
    return {
      message: `"${query}" is no time`,
      ...(isDay ? { hint: `write the time too: ${query}T00:00:00Z` } : {}),
    };
  }
  const [, month, day, time, fraction = '', zone] = form;
  if (zone === undefined) {
    return {
      message: `"${query}" does not say its time zone`,
      hint: `write ${query}Z or an offset such as +02:00`,
    };
  }
  const wholeMs = Date.parse(
    `${month}-${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone.replace(' ', '+').toUpperCase()}`,
  );
  // The 30th of February parses as a day of March.
  const isInMonth = Number(day) >= 1 && Number(day) <= daysOf(month!);
  if (Number.isNaN(wholeMs) || !isInMonth) return { message: `"${query}" is not in the calendar` };
  // "At or after" a time between two milliseconds begins with the second one.
  const isBetween = /[1-9]/.test(fraction.slice(3));
  return timeQuery(query, isBetween ? wholeMs + 1 : wholeMs);
}

function daysOf(month: string): number {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year!, number!, 0)).getUTCDate();
}

function timeQuery(query: string, timestampMs: number): TimeQuery | BadTimeQuery {
  if (timestampMs < 0)
    return { message: `${query} is before 1970`, hint: 'for the first record write earliest' };
  if (timestampMs > LAST_MS) return { message: `${query} is past the last date there is` };
  return { kind: 'time', query, timestampMs };
}
