// Decodes record batches to plain objects, by the reader that the hot path uses.

import { decompress } from '../../../../protocols/kafka/records/compression.ts';
import {
  BATCH_HEADER_BYTES,
  checkBatchCrc,
  type RecordBatch,
  readRecordBatch,
} from '../../../../protocols/kafka/records/record-batch.ts';
import { RecordReader } from '../../../../protocols/kafka/records/record-reader.ts';
import type { MemoryRecord } from './memory-records.ts';

export interface DecodedBatch {
  readonly batch: RecordBatch;
  readonly records: readonly MemoryRecord[];
}

export async function readBatches(bytes: Buffer): Promise<DecodedBatch[]> {
  const decoded: DecodedBatch[] = [];
  for (let at = 0; at < bytes.length; ) {
    const batch = readRecordBatch(bytes, at, bytes.length);
    checkBatchCrc(batch);
    const section = await decompress(
      batch.compression,
      bytes.subarray(at + BATCH_HEADER_BYTES, batch.end),
      2 ** 24,
    );
    decoded.push({ batch, records: readRecords(batch, section) });
    at = batch.end;
  }
  return decoded;
}

function readRecords(batch: RecordBatch, section: Buffer): MemoryRecord[] {
  const reader = new RecordReader();
  const records: MemoryRecord[] = [];
  const part = (start: number, end: number) => (start < 0 ? null : Buffer.from(section.subarray(start, end)));
  reader.reset(section, 0, section.length, batch.recordCount);
  while (reader.next()) {
    const headers: [string, Buffer | null][] = [];
    const { offsetDelta, timestampDelta, keyStart, keyEnd, valueStart, valueEnd } = reader;
    while (reader.nextHeader()) {
      headers.push([
        section.toString('utf8', reader.nameStart, reader.nameEnd),
        part(reader.headerValueStart, reader.headerValueEnd),
      ]);
    }
    records.push({
      offset: batch.baseOffset + offsetDelta,
      timestampMs: batch.isLogAppendTime ? batch.maxTimestampMs : batch.baseTimestampMs + timestampDelta,
      key: part(keyStart, keyEnd),
      value: part(valueStart, valueEnd),
      headers,
    });
  }
  return records;
}
