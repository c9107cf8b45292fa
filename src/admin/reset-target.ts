// Where a group is to go on: `earliest`, `latest`, `offset:N`, `time:T`, `shift:N`.
import type { Partition } from '../../protocols/port.ts';
import { type BadTimeQuery, parseTimeQuery } from './time-query.ts';

export type ResetTarget =
  | { readonly kind: 'earliest' | 'latest' }
  | { readonly kind: 'offset' | 'shift'; readonly count: number }
  | { readonly kind: 'time'; readonly timestampMs: number };

export const RESET_FORMS =
  'earliest, latest, offset:N, time:T (2026-09-01T00:00:00Z, -1h or milliseconds), shift:N (shift:-10 = ten back)';

const RESET_HINT = `one of ${RESET_FORMS}`;

export function parseResetTarget(to: string, nowMs: number): ResetTarget | Required<BadTimeQuery> {
  if (to === 'earliest' || to === 'latest') return { kind: to };
  const colon = to.indexOf(':');
  const [kind, value] = [to.slice(0, Math.max(0, colon)), to.slice(colon + 1)];
  if (kind === 'offset' && isCount(value) && !value.startsWith('-')) return { kind, count: Number(value) };
  if (kind === 'shift' && isCount(value)) return { kind, count: Number(value) };
  if (kind === 'time') {
    const time = parseTimeQuery(value, nowMs);
    if ('message' in time) return { hint: RESET_HINT, ...time };
    if (time.kind === 'time') return { kind, timestampMs: time.timestampMs };
  }
  return { message: `"${to}" is no place to go on from`, hint: RESET_HINT };
}

function isCount(text: string): boolean {
  return /^[+-]?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text));
}

/** Within what readers see. Undefined: nothing is committed that could be shifted. Rejects when the log cannot be read. */
export async function targetOffset(
  partition: Partition,
  target: ResetTarget,
  committed: number | undefined,
): Promise<number | undefined> {
  switch (target.kind) {
    case 'earliest':
      return partition.logStartOffset;
    case 'latest':
      return partition.highWatermark;
    case 'offset':
      return within(partition, target.count);
    case 'shift':
      return committed === undefined ? undefined : within(partition, committed + target.count);
    case 'time': {
      const found = await partition.offsetForTime(target.timestampMs, 'highWatermark');
      return found?.offset ?? partition.highWatermark;
    }
    default:
      throw new TypeError(`unknown target ${target satisfies never}`);
  }
}

function within({ logStartOffset, highWatermark }: Partition, offset: number): number {
  return Math.max(logStartOffset, Math.min(highWatermark, offset));
}
