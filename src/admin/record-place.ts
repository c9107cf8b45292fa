// Where a read of records begins or ends: an offset, an end of the log, so many before it, or a time. The same words are
// the command line's ranges.
import type { Partition, Visibility } from '../../protocols/port.ts';
import { type BadTimeQuery, parseTimeQuery } from './time-query.ts';

export type RecordPlace =
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'offset' | 'before-end'; readonly count: number }
  | { readonly kind: 'time'; readonly timestampMs: number };

export const PLACE_FORMS =
  'start, end, 100 (an offset), -10 (so many before the end), @-1h, @2026-09-01T00:00:00Z, @1764000000000';

const PLACE_HINT = `one of ${PLACE_FORMS}`;

export function parseRecordPlace(text: string, nowMs: number): RecordPlace | Required<BadTimeQuery> {
  if (text === 'start' || text === 'earliest') return { kind: 'start' };
  if (text === 'end' || text === 'latest') return { kind: 'end' };
  if (/^-?\d+$/.test(text)) return countedPlace(text);
  const time = text.startsWith('@') ? text.slice(1) : text;
  // Midnight where the day begins last is nobody's; a day alone is that of UTC.
  const query = parseTimeQuery(/^\d{4}-\d\d-\d\d$/.test(time) ? `${time}T00:00:00Z` : time, nowMs);
  if ('message' in query) return { hint: PLACE_HINT, ...query };
  if (query.kind === 'time') return { kind: 'time', timestampMs: query.timestampMs };
  return { message: `"${text}" is no place to read from or to`, hint: PLACE_HINT };
}

function countedPlace(text: string): RecordPlace | Required<BadTimeQuery> {
  const count = Math.abs(Number(text));
  if (!Number.isSafeInteger(count))
    return { message: `${text} is no offset`, hint: `at most ${Number.MAX_SAFE_INTEGER}` };
  return text.startsWith('-') ? { kind: 'before-end', count } : { kind: 'offset', count };
}

/**
 * The offset that a place stands for in a partition, from the log's start to `end`.
 * @param end what is read ends there; @param upTo the bound that it was taken from. Rejects when the log cannot be read.
 */
export async function offsetOfPlace(
  partition: Partition,
  place: RecordPlace,
  end: number,
  upTo: Visibility,
): Promise<number> {
  const start = Math.min(partition.logStartOffset, end);
  const within = (offset: number): number => Math.max(start, Math.min(end, offset));
  switch (place.kind) {
    case 'start':
      return start;
    case 'end':
      return end;
    case 'offset':
      return within(place.count);
    case 'before-end':
      return within(end - place.count);
    case 'time': {
      const found = await partition.offsetForTime(place.timestampMs, upTo);
      return found === undefined ? end : within(found.offset);
    }
    default:
      throw new TypeError(`unknown place ${place satisfies never}`);
  }
}
