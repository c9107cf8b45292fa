// Records as NDJSON, as fast as the client takes them: nothing is read ahead of it but what the socket buffers. The last
// line says how the read ended, and where the next one goes on.

import * as z from 'zod';
import { AdminError } from './errors.ts';
import type { HttpCounters } from './http-counters.ts';
import { writeRecordCursor } from './record-cursor.ts';
import { recordJson, recordShape, type ShownAs } from './record-json.ts';
import type { RecordMerge } from './record-merge.ts';
import type { ReadBudget } from './record-source.ts';
import { count } from './shapes.ts';

/** Text that is handed over at a time. */
const CHUNK_CHARACTERS = 64 * 1024;

const endShape = z
  .strictObject({
    end: z.strictObject({
      records: count.meta({ description: 'Lines before this one.' }),
      scannedBytes: count.meta({ description: 'Of the log, whatever of them was asked for.' }),
      next: z.string().nullable().meta({ description: 'Goes on as `cursor`; null when nothing is left.' }),
      error: z
        .strictObject({ code: z.string(), message: z.string() })
        .optional()
        .meta({ description: 'Why it ended early.' }),
    }),
  })
  .meta({
    id: 'RecordsEnd',
    description: 'The last line of a read.',
    examples: [{ end: { records: 50, scannedBytes: 81920, next: null } }],
  });

/** One line of the answer. */
export const recordLineShape = z
  .union([recordShape, endShape])
  .meta({ id: 'RecordLine', description: 'One line: a record, or the end.' });

export interface RecordLines {
  readonly counted: Pick<HttpCounters, 'recordsDelivered'>;
  readonly topic: string;
  readonly topicId: string;
  readonly merge: RecordMerge;
  readonly budget: ReadBudget;
  /** What it was at the beginning. */
  readonly bytesMax: number;
  /** Records at most. */
  readonly limit: number;
  readonly shownAs: ShownAs;
  onFault(error: unknown): void;
}

/** @yields lines, many at once. It stops when it is returned from, and lets go of everything. */
export async function* recordLines(read: RecordLines): AsyncGenerator<string, void> {
  const { merge, budget, limit } = read;
  const topicText = JSON.stringify(read.topic);
  let records = 0;
  let chunk = '';
  let error: AdminError | undefined;
  try {
    for (let source = merge.current; source !== undefined && !budget.isGone; source = merge.current) {
      chunk += `${recordJson(source.cursor, topicText, source.partition.partition, read.shownAs)}\n`;
      records++;
      read.counted.recordsDelivered++;
      if (records === limit) {
        merge.stop();
        break;
      }
      const reading = merge.next();
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield chunk;
        chunk = '';
        await nextTurn();
      }
      if (reading !== undefined) await reading;
    }
  } catch (fault) {
    read.onFault(fault);
    error = fault instanceof AdminError ? fault : new AdminError('internal', 'the hub failed to read on');
  } finally {
    // Also when the client is gone, and this is returned from.
    merge.close();
  }
  const places = merge.places;
  const end = {
    records,
    scannedBytes: read.bytesMax - budget.bytesLeft,
    next: places.length === 0 ? null : writeRecordCursor(read.topicId, places),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  };
  yield `${chunk}${JSON.stringify({ end })}\n`;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
