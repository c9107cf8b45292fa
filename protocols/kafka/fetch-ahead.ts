// Encodes what a reader will ask for next while it works on what it has got. Java's consumer asks for the next megabyte when
// it is nearly through with the last, and has nothing to do for as long as that takes to encode. Only for who has read on
// from answer to answer, and of what lies there already. It is kept for the one who comes for it; where many read, for all
// (encoded-stretches.ts).

import type { Partition, Visibility } from '../port.ts';
import type { KafkaContext } from './api.ts';
import type { EncodedStretch } from './encoded-stretches.ts';
import { ERROR_CODES } from './error-codes.ts';
import { unexpected } from './failures.ts';
import { encodeRanges } from './fetch-encoding.ts';
import { type FetchItem, letGo, readItem } from './fetch-reading.ts';
import { mayHaveMore } from './readable-end.ts';

/** A smaller answer is encoded when it is asked for: that is soon done. */
const BYTES_MIN = 64 * 1024;
const BYTES_MAX = 1024 * 1024;

/** What is to be encoded. */
export interface NextStretch {
  readonly partition: Partition;
  readonly upTo: Visibility;
  readonly offset: number;
  readonly bytesMax: number;
  /** That the answer before was for. */
  readonly item: FetchItem;
}

/**
 * To be called with each answer. @returns what its reader will ask for next, or undefined when that cannot be told
 * @param byteLength of the answer, as far as it is of this partition
 */
export function nextStretch(
  { stretches }: KafkaContext,
  item: FetchItem,
  upTo: Visibility,
  {
    offset,
    byteLength,
    bytesMax,
  }: { readonly offset: number; readonly byteLength: number; readonly bytesMax: number },
): NextStretch | undefined {
  const { partition, request } = item;
  // Who may be given less than one record is given one that is larger, and what is kept has to be within the limit.
  if (byteLength < BYTES_MIN || byteLength > bytesMax) return undefined;
  if (partition === undefined || !mayHaveMore(partition, offset, upTo)) return undefined;
  if (!stretches.noteFull(partition, upTo, request.fetchOffset, offset)) return undefined;
  return { partition, upTo, offset, bytesMax: Math.min(bytesMax, BYTES_MAX), item };
}

/** To be called when the answer before is on its way, so that it is not kept waiting. Never rejects. */
export async function encodeAhead(kafka: KafkaContext, next: NextStretch): Promise<void> {
  const { stretches, encoder, cursor, hub } = kafka;
  const { partition, upTo, offset, bytesMax } = next;
  const isWanted = !partition.deleted && mayHaveMore(partition, offset, upTo);
  if (!isWanted || !stretches.beginAhead(partition, upTo, offset, bytesMax)) return;
  const item = itemOf(next);
  let encoded: EncodedStretch | undefined;
  try {
    const reading = { items: [item], upTo, bytesMax, isById: false, cursor, stretches };
    await readItem(reading, item, bytesMax, false);
    if (item.ranges.length > 0) {
      encoder.reset();
      encoded = encodeRanges(kafka, item, { bytesMax, atLeastOne: true });
    }
  } catch (error) {
    unexpected(hub, `Encoding ahead of a Fetch of ${partition.topic}-${partition.partition}`, error);
  }
  letGo(item);
  stretches.endAhead(partition, upTo, { offset, bytesMax }, encoded);
}

function itemOf({ item, offset, bytesMax }: NextStretch): FetchItem {
  return {
    ...item,
    request: { ...item.request, fetchOffset: offset, partitionMaxBytes: bytesMax },
    ...{ errorCode: ERROR_CODES.NONE, diverging: undefined },
    ...{ encoded: [], encodedUpTo: offset, ranges: [], leaderEpoch: -1, emptyUpTo: -1 },
  };
}
