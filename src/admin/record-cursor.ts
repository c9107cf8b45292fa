// Where a read of records goes on: what is left of each partition, and the topic that it was of. It is the client's to keep.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import * as z from 'zod';
import { unknownCursor } from './paging.ts';

/** What is left of one partition. */
export interface PartitionSpan {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** A client makes it what it likes: no more than a topic of very many partitions needs is unpacked. */
const CURSOR_BYTES_MAX = 4 * 1024 * 1024;

const offset = z.int().min(0);
const cursorShape = z.tuple([z.string(), z.array(z.tuple([offset, offset, offset]))]);

export function writeRecordCursor(topicId: string, spans: readonly PartitionSpan[]): string {
  const text = JSON.stringify([topicId, spans.map(({ partition, from, to }) => [partition, from, to])]);
  return deflateRawSync(text).toString('base64url');
}

/** @throws AdminError when it is not one that was given for this topic */
export function readRecordCursor(cursor: string, topicId: string): readonly PartitionSpan[] {
  const read = cursorShape.safeParse(unpacked(cursor));
  if (!read.success || read.data[0] !== topicId) throw unknownCursor();
  return read.data[1].map(([partition, from, to]) => ({ partition, from, to }));
}

function unpacked(cursor: string): unknown {
  try {
    const bytes = Buffer.from(cursor, 'base64url');
    return JSON.parse(inflateRawSync(bytes, { maxOutputLength: CURSOR_BYTES_MAX }).toString());
  } catch {
    throw unknownCursor();
  }
}
