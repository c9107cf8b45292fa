// Records in memory, behind the port's writer and cursor: what the mapping is tested against without a store.

import type { RecordCursor, RecordRange, RecordWriter } from '../../../../protocols/port.ts';

export interface MemoryRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [string, Buffer | null])[];
  readonly attributes?: readonly (readonly [string, Buffer | null])[];
}

export interface MemoryBatch {
  readonly records: readonly MemoryRecord[];
  readonly baseOffset?: number;
  readonly lastOffset?: number;
  readonly leaderEpoch?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly isTransactional?: boolean;
  readonly isControl?: boolean;
  readonly aborts?: boolean;
  readonly coordinatorEpoch?: number;
  readonly isLogAppendTime?: boolean;
  readonly byteLength?: number;
}

/** Keeps what it is given. Staged bytes are copied, at an offset, as a store's writer does. */
export class CollectingWriter implements RecordWriter {
  readonly records: MemoryRecord[] = [];
  staged: Uint8Array = new Uint8Array(0);
  lastingSource: Uint8Array | undefined;
  isMarked = false;
  nextOffset: number;
  #open:
    | { timestampMs: number; key: Buffer | null; headers: [string, Buffer | null][]; headerCount: number }
    | undefined;

  constructor(nextOffset = 0) {
    this.nextOffset = nextOffset;
  }

  stage(bytes: Uint8Array): number {
    const shift = 11;
    this.staged = Buffer.concat([Buffer.alloc(shift, 0xee), bytes]);
    return shift;
  }

  repeatRecord(): boolean {
    return false;
  }

  startRecord(
    timestampMs: number,
    source: Uint8Array,
    keyStart: number,
    keyEnd: number,
    headerCount: number,
  ): void {
    if (this.#open !== undefined) throw new Error('a record is open');
    this.#open = { timestampMs, key: slice(source, keyStart, keyEnd), headers: [], headerCount };
  }

  header(source: Uint8Array, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    const name = slice(source, nameStart, nameEnd);
    if (name === null) throw new Error('a header needs a name');
    this.#open?.headers.push([name.toString(), slice(source, valueStart, valueEnd)]);
  }

  endRecord(source: Uint8Array, valueStart: number, valueEnd: number, attributes: Uint8Array | null): void {
    const open = this.#open;
    if (open === undefined) throw new Error('no record is open');
    if (open.headers.length !== open.headerCount) throw new Error('the header count is wrong');
    if (attributes !== null) throw new Error('Kafka has no source attributes');
    const { timestampMs, key, headers } = open;
    this.records.push({
      offset: this.nextOffset++,
      timestampMs,
      key,
      value: slice(source, valueStart, valueEnd),
      headers,
    });
    this.#open = undefined;
  }
}

function slice(source: Uint8Array, start: number, end: number): Buffer | null {
  return end < 0 ? null : Buffer.from(source.slice(start, end));
}

interface Slot {
  readonly start: number;
  readonly end: number;
}

/** A range and the cursor over it: all keys, values and names lie in one buffer. */
export function memoryRange(batches: readonly MemoryBatch[]): { range: RecordRange; cursor: RecordCursor } {
  const parts: Buffer[] = [Buffer.from('begin')];
  let length = parts[0]!.length;
  function put(bytes: Buffer | null): Slot {
    if (bytes === null) return { start: -1, end: -1 };
    parts.push(bytes);
    length += bytes.length;
    return { start: length - bytes.length, end: length };
  }
  const items = (list: readonly (readonly [string, Buffer | null])[] = []) =>
    list.map(([name, value]) => ({ name: put(Buffer.from(name)), value: put(value) }));
  const layOut = (record: MemoryRecord): LaidOutRecord => {
    const [key, value, headers] = [put(record.key), put(record.value), items(record.headers)];
    // Stored attributes are the same bytes when they are the same: lengths and nulls are told by what stands before them.
    const shape = record.attributes?.map((item) => item.map((part) => part?.length ?? null));
    const attributesStart = shape === undefined ? length : put(Buffer.from(JSON.stringify(shape))).start;
    const attributes = items(record.attributes);
    return { record, key, value, headers, attributes, attributesStart, attributesEnd: length };
  };
  const laidOut = batches.map((batch) => ({ batch, records: batch.records.map(layOut) }));
  const bytes = Buffer.concat(parts);
  const last = batches.at(-1);
  const range = {
    bytes,
    start: 0,
    end: bytes.length,
    nextOffset: last === undefined ? 0 : lastOffsetOf(last) + 1,
  };
  return { range, cursor: new MemoryCursor(bytes, laidOut) };
}

function lastOffsetOf(batch: MemoryBatch): number {
  return batch.lastOffset ?? batch.records.at(-1)!.offset;
}

interface Item {
  readonly name: Slot;
  readonly value: Slot;
}
interface LaidOutRecord {
  readonly record: MemoryRecord;
  readonly key: Slot;
  readonly value: Slot;
  readonly headers: readonly Item[];
  readonly attributes: readonly Item[];
  readonly attributesStart: number;
  readonly attributesEnd: number;
}
interface LaidOutBatch {
  readonly batch: MemoryBatch;
  readonly records: readonly LaidOutRecord[];
}

class MemoryCursor implements RecordCursor {
  readonly bytes: Buffer;
  readonly #batches: readonly LaidOutBatch[];
  #batchIndex = -1;
  #recordIndex = -1;
  #headerIndex = -1;
  #attributeIndex = -1;
  #item: Item | undefined;

  constructor(bytes: Buffer, batches: readonly LaidOutBatch[]) {
    this.bytes = bytes;
    this.#batches = batches;
  }

  reset(): void {
    this.#batchIndex = -1;
  }
  nextBatch(): boolean {
    this.#recordIndex = -1;
    return ++this.#batchIndex < this.#batches.length;
  }
  get #current(): LaidOutBatch {
    return this.#batches[this.#batchIndex]!;
  }
  get #record(): LaidOutRecord {
    return this.#current.records[this.#recordIndex]!;
  }
  get batchBaseOffset(): number {
    const { batch } = this.#current;
    return batch.baseOffset ?? batch.records[0]!.offset;
  }
  get batchLastOffset(): number {
    return lastOffsetOf(this.#current.batch);
  }
  get batchRecordCount(): number {
    return this.#current.records.length;
  }
  get batchMaxTimestampMs(): number {
    return Math.max(-1, ...this.#current.batch.records.map((record) => record.timestampMs));
  }
  get batchFirstTimestampMs(): number {
    return this.#current.batch.records[0]?.timestampMs ?? -1;
  }
  get batchLeaderEpoch(): number {
    return this.#current.batch.leaderEpoch ?? 0;
  }
  get batchIsTransactional(): boolean {
    return this.#current.batch.isTransactional ?? false;
  }
  get batchIsControl(): boolean {
    return this.#current.batch.isControl ?? false;
  }
  get batchAborts(): boolean {
    return this.#current.batch.aborts ?? false;
  }
  get controlCoordinatorEpoch(): number {
    return this.#current.batch.coordinatorEpoch ?? -1;
  }
  get batchIsLogAppendTime(): boolean {
    return this.#current.batch.isLogAppendTime ?? false;
  }
  get batchProducerId(): number {
    return this.#current.batch.producerId ?? -1;
  }
  get batchProducerEpoch(): number {
    return this.#current.batch.producerEpoch ?? -1;
  }
  get batchBaseSequence(): number {
    return this.#current.batch.baseSequence ?? -1;
  }
  get batchByteLength(): number {
    return this.#current.batch.byteLength ?? 100;
  }
  nextRecord(): boolean {
    this.rewindHeaders();
    this.rewindAttributes();
    return ++this.#recordIndex < this.#current.records.length;
  }
  get offset(): number {
    return this.#record.record.offset;
  }
  get timestampMs(): number {
    return this.#record.record.timestampMs;
  }
  get keyStart(): number {
    return this.#record.key.start;
  }
  get keyEnd(): number {
    return this.#record.key.end;
  }
  get valueStart(): number {
    return this.#record.value.start;
  }
  get valueEnd(): number {
    return this.#record.value.end;
  }
  get headerCount(): number {
    return this.#record.headers.length;
  }
  get attributeCount(): number {
    return this.#record.attributes.length;
  }
  get attributesStart(): number {
    return this.#record.attributesStart;
  }
  get attributesEnd(): number {
    return this.#record.attributesEnd;
  }
  nextHeader(): boolean {
    this.#item = this.#record.headers[++this.#headerIndex];
    return this.#item !== undefined;
  }
  rewindHeaders(): void {
    this.#headerIndex = -1;
  }
  nextAttribute(): boolean {
    this.#item = this.#record.attributes[++this.#attributeIndex];
    return this.#item !== undefined;
  }
  rewindAttributes(): void {
    this.#attributeIndex = -1;
  }
  get nameStart(): number {
    return this.#item!.name.start;
  }
  get nameEnd(): number {
    return this.#item!.name.end;
  }
  get itemStart(): number {
    return this.#item!.value.start;
  }
  get itemEnd(): number {
    return this.#item!.value.end;
  }
}
