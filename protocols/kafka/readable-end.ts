// Where what a reader may see of a partition ends.

import type { Partition, Visibility } from '../port.ts';

export function readableUpTo(partition: Partition, upTo: Visibility): number {
  return upTo === 'lastStable' ? partition.lastStableOffset : partition.highWatermark;
}

/** At the end, where most fetches stand, there is nothing to read. Beyond the log and before it, the store says why not. */
export function mayHaveMore(partition: Partition, offset: number, upTo: Visibility): boolean {
  const isInLog = offset >= partition.logStartOffset && offset <= partition.logEndOffset;
  return !isInLog || offset < readableUpTo(partition, upTo);
}
