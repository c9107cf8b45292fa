// What a Fetch reads of its partitions: stored ranges up to the limits of the request and of the partition, the first batch
// with records whole, however large (KIP-74).
//
// A stretch of offsets without records, as compaction leaves it, is passed over: an answer that has no record at all does
// not count towards the bytes that a Fetch waits for, and moves its reader on.

import type { Partition, RecordCursor, RecordRange, Visibility } from '../port.ts';
import { hasRecordFrom, SKIP_BYTES } from './empty-stretch.ts';
import type { EncodedStretches, LastingStretch } from './encoded-stretches.ts';
import { ERROR_CODES, type ErrorCode, READ_ERROR_CODES } from './error-codes.ts';
import type { FetchedPartition } from './fetch-session.ts';
import { mayHaveMore, readableUpTo } from './readable-end.ts';

/** A partition that is fetched, and what was read of it. */
export interface FetchItem extends FetchedPartition {
  /** What asked for it: the session's own, if there is one, whose request may be another by now. */
  readonly asked: FetchedPartition;
  /** Undefined with an error code. */
  readonly partition: Partition | undefined;
  errorCode: ErrorCode;
  /** Where the reader's last epoch ended here, when it has more of it: there is nothing to read for it. */
  diverging: { readonly epoch: number; readonly endOffset: number } | undefined;
  /** One behind the other, from the offset asked for on; held. */
  encoded: LastingStretch[];
  /** Where they end, and what has to be encoded begins. */
  encodedUpTo: number;
  /** One behind the other; the store gives what lies together in memory. The first has a record to give. */
  ranges: RecordRange[];
  /** Of the partition, before the ranges were read. */
  leaderEpoch: number;
  /** From the offset asked for up to here there is no record. */
  emptyUpTo: number;
}

export interface FetchReading {
  readonly items: readonly FetchItem[];
  readonly upTo: Visibility;
  readonly bytesMax: number;
  /** Topics are named by id. */
  readonly isById: boolean;
  readonly cursor: RecordCursor;
  readonly stretches: EncodedStretches;
}

/** More of them are read again: an answer goes out in as many parts. */
const STRETCHES_MAX = 32;

/** Reads the items in order until the request's limit; returns the bytes read, as they are stored or encoded. */
export async function readItems(fetch: FetchReading): Promise<number> {
  let bytes = 0;
  for (const item of fetch.items) {
    letGo(item);
    if (item.errorCode === ERROR_CODES.NONE && item.diverging === undefined && !isAtEnd(item, fetch.upTo))
      bytes += await readItem(fetch, item, fetch.bytesMax - bytes, bytes > 0);
  }
  return bytes;
}

/** One of them. @param hasBytes the answer has records already, so that the limits are strict (KIP-74). */
export async function readItem(
  fetch: FetchReading,
  item: FetchItem,
  bytesLeft: number,
  hasBytes: boolean,
): Promise<number> {
  const { partition, request } = item;
  if (partition === undefined) return 0;
  if (partition.deleted) {
    item.errorCode = fetch.isById ? ERROR_CODES.UNKNOWN_TOPIC_ID : ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
    return 0;
  }
  const maxBytes = Math.min(request.partitionMaxBytes, bytesLeft);
  item.leaderEpoch = partition.leaderEpoch;
  let bytes = takeEncoded(fetch, item, partition, maxBytes);
  let offset = item.encodedUpTo;
  // The end of a stretch is where others are likely to go on too.
  if (2 * bytes > maxBytes) return bytes;
  while (mayHaveMore(partition, offset, fetch.upTo)) {
    const isFirst = !hasBytes && bytes === 0;
    if (!isFirst && bytes >= maxBytes) break;
    const isSkipping = item.ranges.length === 0 && item.emptyUpTo >= 0;
    const readBytes = Math.max(isSkipping ? SKIP_BYTES : 1, maxBytes - bytes);
    const range = await partition.read({ offset, maxBytes: readBytes, upTo: fetch.upTo });
    if (range.refused !== undefined) {
      item.errorCode = READ_ERROR_CODES[range.refused];
      letGo(item);
      return 0;
    }
    // The store gives its first batch whole; only the first of the answer may be larger than the limits.
    const rangeBytes = range.end - range.start;
    if (rangeBytes === 0) break;
    if (item.ranges.length === 0 && !hasRecordFrom(fetch.cursor, range, item.encodedUpTo)) {
      range.release?.();
      offset = range.nextOffset;
      item.emptyUpTo = offset;
      continue;
    }
    if (!isFirst && bytes + rangeBytes > maxBytes) {
      range.release?.();
      break;
    }
    item.ranges.push(range);
    bytes += rangeBytes;
    offset = range.nextOffset;
  }
  return bytes;
}

/** What others were given, from where the item's stretches end. Returns its bytes. */
export function takeEncoded(
  { stretches, upTo }: FetchReading,
  item: FetchItem,
  partition: Partition,
  bytesMax: number,
): number {
  const end = readableUpTo(partition, upTo);
  let bytes = 0;
  while (item.encodedUpTo >= partition.logStartOffset && item.encoded.length < STRETCHES_MAX) {
    const place = { offset: item.encodedUpTo, end, bytesMax: bytesMax - bytes };
    const stretch = stretches.find(partition, upTo, place);
    if (stretch === undefined) break;
    item.encoded.push(stretch);
    item.encodedUpTo = stretch.nextOffset;
    bytes += stretch.bytes.length;
  }
  return bytes;
}

/**
 * Leaves out what was encoded before that does not fit any more, and what was read behind it: the partitions before may
 * take more than when it was read.
 * @param atLeastOne the answer has no records yet
 * @returns the bytes of what stays
 */
export function dropUnfit(item: FetchItem, bytesMax: number, atLeastOne: boolean): number {
  let bytes = 0;
  for (const [index, stretch] of item.encoded.entries()) {
    if (bytes + stretch.bytes.length > bytesMax && !(atLeastOne && index === 0)) {
      for (const unfit of item.encoded.splice(index)) unfit.lasting.letGo();
      item.encodedUpTo = stretch.firstOffset;
      letRangesGo(item);
      break;
    }
    bytes += stretch.bytes.length;
  }
  return bytes;
}

/** Then nothing is to be awaited: of a session with very many partitions that is all but a few. */
function isAtEnd({ partition, request }: FetchItem, upTo: Visibility): boolean {
  return partition !== undefined && !partition.deleted && !mayHaveMore(partition, request.fetchOffset, upTo);
}

/** Nothing looks at what was read any more: the encoder has copied what it took. */
export function letGo(item: FetchItem): void {
  for (const { lasting } of item.encoded) lasting.letGo();
  item.encoded = [];
  item.encodedUpTo = item.request.fetchOffset;
  letRangesGo(item);
}

export function letRangesGo(item: FetchItem): void {
  for (const range of item.ranges) range.release?.();
  item.ranges = [];
  item.emptyUpTo = -1;
}
