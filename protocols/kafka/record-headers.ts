// Headers of a record as Fetch shows them: its own, and behind them the source attributes that are not private.
import type { RecordCursor } from '../port.ts';
import { type BatchEncoder, headerByteLength } from './records/batch-encoder.ts';

/** Source attributes whose names begin so are their source's own affair. */
const PRIVATE_NAME_PREFIX = 0x5f; // '_'

/** A record's length precedes it, so its headers are stepped through twice: for their size, and to write them. */
export function encodeRecordWithHeaders(
  encoder: BatchEncoder,
  cursor: RecordCursor,
  before: HeadersBefore,
): void {
  if (before.areOf(cursor)) {
    encoder.record(cursor, before.count, before.byteLength);
    encoder.repeat(before.at, before.byteLength);
    return;
  }
  let headerCount = cursor.headerCount;
  let headersByteLength = 0;
  while (cursor.nextHeader()) headersByteLength += itemByteLength(cursor);
  while (cursor.nextAttribute()) {
    if (isPrivate(cursor)) continue;
    headerCount++;
    headersByteLength += itemByteLength(cursor);
  }
  encoder.record(cursor, headerCount, headersByteLength);
  if (cursor.headerCount === 0) before.note(cursor, encoder.length, headersByteLength, headerCount);
  cursor.rewindHeaders();
  while (cursor.nextHeader()) encodeItem(encoder, cursor);
  cursor.rewindAttributes();
  while (cursor.nextAttribute()) {
    if (!isPrivate(cursor)) encodeItem(encoder, cursor);
  }
}

/**
 * What the attributes of a record have become that has no headers of its own, and where. Records of one sender mostly have
 * those of the one before: comparing and moving them as a whole costs a fraction of stepping through them.
 */
export class HeadersBefore {
  count = 0;
  byteLength = 0;
  /** In the encoder's output. */
  at = 0;
  /** In the range. */
  #start = 0;
  #end = -1;

  note(cursor: RecordCursor, at: number, byteLength: number, count: number): void {
    this.at = at;
    this.byteLength = byteLength;
    this.count = count;
    this.#start = cursor.attributesStart;
    this.#end = cursor.attributesEnd;
  }

  areOf({ bytes, headerCount, attributesStart, attributesEnd }: RecordCursor): boolean {
    const start = this.#start;
    const length = this.#end - start;
    if (headerCount > 0 || attributesEnd - attributesStart !== length) return false;
    // What differs is mostly behind what does not.
    for (let at = length - 1; at >= 0; at--) {
      if (bytes[attributesStart + at] !== bytes[start + at]) return false;
    }
    return true;
  }
}

function itemByteLength(cursor: RecordCursor): number {
  const valueBytes = cursor.itemStart < 0 ? -1 : cursor.itemEnd - cursor.itemStart;
  return headerByteLength(cursor.nameEnd - cursor.nameStart, valueBytes);
}

function encodeItem(encoder: BatchEncoder, cursor: RecordCursor): void {
  encoder.header(cursor.nameStart, cursor.nameEnd, cursor.itemStart, cursor.itemEnd);
}

function isPrivate(cursor: RecordCursor): boolean {
  return cursor.nameEnd > cursor.nameStart && cursor.bytes[cursor.nameStart] === PRIVATE_NAME_PREFIX;
}
