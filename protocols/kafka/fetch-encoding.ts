// From what a Fetch has read of a partition to the batches of its answer.

import type { AbortedTransaction } from '../port.ts';
import type { KafkaContext } from './api.ts';
import type { EncodedStretch } from './encoded-stretches.ts';
import type { FetchItem } from './fetch-reading.ts';
import { type EncodeOptions, encodeBatches } from './record-mapping.ts';

/** What was read, behind what was encoded before. Its bytes are the encoder's until that is reset. */
export function encodeRanges(
  { encoder, cursor }: Pick<KafkaContext, 'encoder' | 'cursor'>,
  { ranges, encodedUpTo, leaderEpoch }: FetchItem,
  limits: Pick<EncodeOptions, 'bytesMax' | 'atLeastOne'>,
): EncodedStretch {
  const start = encoder.length;
  const aborted: AbortedTransaction[] = [];
  let records = 0;
  let nextOffset = encodedUpTo;
  for (const range of ranges) {
    if (range.nextOffset <= encodedUpTo) continue;
    const ownBytes = encoder.length - start;
    const options = {
      fromOffset: encodedUpTo,
      bytesMax: limits.bytesMax - ownBytes,
      atLeastOne: limits.atLeastOne && ownBytes === 0,
    };
    const encoded = encodeBatches(encoder, cursor, range, options);
    ({ nextOffset } = encoded);
    records += encoded.records;
    addAborted(aborted, range.aborted, nextOffset);
    if (nextOffset < range.nextOffset) break;
  }
  const bytes = encoder.slice(start);
  return { firstOffset: encodedUpTo, nextOffset, bytes, records, aborted, leaderEpoch };
}

/** In the order of their first offsets. One that an earlier range overlaps too is there already. */
export function addAborted(
  aborted: AbortedTransaction[],
  more: readonly AbortedTransaction[] | undefined,
  toOffset: number,
): void {
  if (more === undefined || more.length === 0) return;
  const known = new Set(aborted.map(({ producerId, firstOffset }) => `${producerId}/${firstOffset}`));
  for (const each of more) {
    if (each.firstOffset >= toOffset || known.has(`${each.producerId}/${each.firstOffset}`)) continue;
    aborted.push(each);
  }
  aborted.sort((a, b) => a.firstOffset - b.firstOffset);
}
