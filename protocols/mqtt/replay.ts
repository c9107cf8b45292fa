// Where a subscription begins that asks for history: the user property `polylog.from` of SUBSCRIBE, or below version 5 a
// filter `$replay/<from>/<filter>`. `earliest`, an offset, a time in milliseconds or as ISO 8601, or how long ago.
import type { Hub, Partition } from '../port.ts';

export const FROM_PROPERTY = 'polylog.from';
const FILTER_PREFIX = '$replay/';

/** A number from here on is a time, below it an offset: 2001-09-09 in milliseconds. */
const TIME_MIN = 1_000_000_000_000;
/** Partitions that are searched for a time at once. */
const SEARCHES = 16;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

export type ReplayStart =
  | { readonly offset: number; readonly timeMs?: undefined }
  | { readonly timeMs: number; readonly offset?: undefined };

/** Undefined when it says nothing of that. */
export function parseReplayStart(text: string, nowMs: number): ReplayStart | undefined {
  if (text === 'earliest') return { offset: 0 };
  if (/^\d{1,15}$/.test(text)) {
    const number = Number(text);
    return number < TIME_MIN ? { offset: number } : { timeMs: number };
  }
  const ago = /^-(\d{1,12})(ms|s|m|h|d)$/.exec(text);
  if (ago !== null) return { timeMs: nowMs - Number(ago[1]) * (UNIT_MS[ago[2] ?? ''] ?? 0) };
  if (!/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/.test(text)) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : { timeMs };
}

/** A filter without what it says of history. */
export function splitReplayFilter(filter: string): {
  readonly filter: string;
  readonly from: string | undefined;
} {
  if (!filter.startsWith(FILTER_PREFIX)) return { filter, from: undefined };
  const end = filter.indexOf('/', FILTER_PREFIX.length);
  if (end < 0) return { filter, from: undefined };
  return { filter: filter.slice(end + 1), from: filter.slice(FILTER_PREFIX.length, end) };
}

/** The first offset in each partition that the hub has now; rejects when a log cannot be read. */
export async function replayOffsets(hub: Hub, start: ReplayStart): Promise<Map<Partition, number>> {
  const partitions = hub.topics
    .list()
    .filter(({ internal }) => !internal)
    .flatMap((topic) => topic.partitions);
  const offsets = new Map<Partition, number>();
  const queue = partitions.values();
  const search = async () => {
    for (const partition of queue) {
      const offset = await offsetIn(partition, start);
      offsets.set(partition, Math.max(offset, partition.logStartOffset));
    }
  };
  await Promise.all(Array.from({ length: SEARCHES }, search));
  return offsets;
}

async function offsetIn(partition: Partition, start: ReplayStart): Promise<number> {
  if (start.offset !== undefined) return start.offset;
  if (partition.highWatermark === partition.logStartOffset) return partition.highWatermark;
  const found = await partition.offsetForTime(start.timeMs, 'highWatermark');
  return found?.offset ?? partition.highWatermark;
}
