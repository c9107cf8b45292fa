// Which way the messages of a filter are found: one by one, by a walk through the index, or by reading the table's log from
// one end to the other (table-scan.ts). Nothing but the time that it takes depends on it.
import type { Slices } from './slices.ts';
import type { TopicWalk } from './topic-index.ts';

/** Finding one message costs as much as reading past so many records. */
const RECORDS_PER_READ = 16;
/** A filter that matches less than one in so many nodes looked at is not counted to the end … */
const NODES_PER_MATCH = 32;
/** … of so many at a time: a slice's. */
const STEPS_PER_SLICE = 2000;

/** What of the retained messages decides. */
export interface ScanGrounds {
  readonly count: number;
  /** How many times over the log holds what is current: records that later ones have taken the place of lie there too. */
  readonly logRatio: number;
  /** No message has to be read from the log. */
  readonly isCached: boolean;
  readonly slices: Slices;
  walk(filter: string): TopicWalk;
}

/**
 * Whether the filter matches so much that reading all there is costs less than reading its messages one by one.
 * @param isWanted asked between slices
 */
export async function isScanCheaper(
  filter: string,
  grounds: ScanGrounds,
  isWanted: () => boolean,
): Promise<boolean> {
  const { count, logRatio, isCached, slices } = grounds;
  if (!hasWildcard(filter) || isCached || logRatio > RECORDS_PER_READ) return false;
  const matchesMin = (count * logRatio) / RECORDS_PER_READ;
  const walk = grounds.walk(filter);
  let matches = 0;
  while (!walk.ended && isWanted()) {
    await slices.begin();
    try {
      for (const end = walk.steps + STEPS_PER_SLICE; walk.steps < end && !walk.ended; ) {
        if (walk.next(end - walk.steps) !== undefined) matches++;
        if (matches >= matchesMin) return true;
      }
    } finally {
      slices.end();
    }
    if (matches * NODES_PER_MATCH < walk.steps) return false;
  }
  return false;
}

export function hasWildcard(filter: string): boolean {
  return filter.includes('+') || filter.includes('#');
}
