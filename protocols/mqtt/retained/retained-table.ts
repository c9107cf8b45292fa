// The state table of retained messages and what memory keeps of it: an index of where they lie, and the messages that
// were used last.
import type { Clock, Hub, Refused, StateRecord, StateTable } from '../../port.ts';
import {
  decodePosition,
  decodePositionKey,
  decodeRetained,
  expiresAtMs,
  isOwnKey,
  MARKER_KEY,
  type RetainedMessage,
} from './retained-record.ts';
import { TableScan } from './table-scan.ts';
import type { RetainedEntry, RetainedTopic, Source } from './topic-index.ts';
import { TopicIndex } from './topic-index.ts';

export const RETAINED_TABLE = '__mqtt_retained';

/** Small batches: whoever reads one message back reads the batch that it lies in. */
const BATCH_BYTES = 8 * 1024;
const BATCH_RECORDS = 64;
/** What a scan reads at a time. */
const SCAN_BYTES = 32 * 1024;

/** A message is retained, or with null no longer. */
export interface Change {
  readonly topic: string;
  readonly value: Buffer | null;
}

/** A message as it was read back. */
export interface StoredMessage {
  /** The MQTT topic's bytes. */
  readonly topic: Buffer;
  readonly message: RetainedMessage;
}

/** A message that was found, and the version of its topic then. */
export interface FoundMessage {
  readonly topic: RetainedTopic;
  readonly version: number;
  /** Undefined when it is gone. */
  readonly stored: StoredMessage | undefined;
}

/** What the log of a partition of the table holds, as it was replayed and written since; compaction may have left less. */
interface LogSpan {
  /** Where what was applied ends. */
  end: number;
  records: number;
  /** Of keys and values. */
  bytes: number;
}

export class RetainedTable {
  readonly index = new TopicIndex();
  /** How far partitions had been looked at when the table was opened; each is taken once. */
  readonly positions = new Map<Source, number>();
  readonly #sources = new Map<string, Source>();
  readonly #cache: MessageCache;
  /** By partition of the table. */
  readonly #spans = new Map<number, LogSpan>();
  readonly #clock: Clock;
  /** Topics that a write is under way for: memory shows them only when it is done. */
  readonly #writing = new Map<string, number>();
  #stopListening: () => void = () => undefined;
  #hasMarker = false;
  #closed = false;
  #table: StateTable | undefined;

  private constructor(clock: Clock, cacheBytesMax: number) {
    this.#clock = clock;
    this.#cache = new MessageCache(cacheBytesMax);
  }

  static async open(hub: Hub, cacheBytesMax: number): Promise<RetainedTable> {
    const table = new RetainedTable(hub.clock, cacheBytesMax);
    table.#stopListening = hub.topics.onChange(({ kind, topic }) => {
      if (kind !== 'deleted') return;
      for (const { topicId, partition } of topic.partitions)
        table.#sources.delete(nameOf({ topicId, partition }));
    });
    table.#table = await hub.stateTable({
      topic: RETAINED_TABLE,
      apply: (partition, key, value, offset) => table.#apply(partition, key, value, offset),
      onState: (partition, state) => {
        if (state !== 'serving' && !table.#closed) table.#forget(partition);
      },
    });
    return table;
  }

  /** The table has been filled before: a partition without a position is one that nobody has looked at. */
  get hasMarker(): boolean {
    return this.#hasMarker;
  }

  /** One object for each partition, however often it is asked for. */
  sourceOf(topicId: string, partition: number): Source {
    const name = nameOf({ topicId, partition });
    const known = this.#sources.get(name);
    if (known !== undefined) return known;
    const source = { topicId, partition };
    this.#sources.set(name, source);
    return source;
  }

  /** Whether the topic has a message, or is about to have, or to lose it. */
  isKnown(topic: string): boolean {
    return this.#writing.has(topic) || this.index.find(topic) !== undefined;
  }

  isWriting(topic: string): boolean {
    return this.#writing.has(topic);
  }

  /** Resolves when all of it is on disk and the index shows it, or with why not. Never rejects. */
  async write(changes: readonly Change[]): Promise<undefined | Refused> {
    for (const { topic } of changes) this.#writing.set(topic, (this.#writing.get(topic) ?? 0) + 1);
    const writes = [...this.#byPartition(changes)].flatMap(([partition, records]) =>
      batchesOf(records).map((batch) => this.#opened.write(partition, batch)),
    );
    const refusals = await Promise.all(writes);
    for (const { topic } of changes) {
      const others = (this.#writing.get(topic) ?? 1) - 1;
      if (others > 0) this.#writing.set(topic, others);
      else this.#writing.delete(topic);
    }
    return refusals.find((refused) => refused !== undefined);
  }

  /** Records that are no messages; see retained-record.ts. */
  async writeOwn(
    records: readonly (StateRecord & { readonly place: string })[],
  ): Promise<undefined | Refused> {
    const byPartition = new Map<number, StateRecord[]>();
    for (const { place, key, value } of records) {
      const partition = this.#opened.partitionOf(place);
      append(byPartition, partition, { key, value });
    }
    const refusals = await Promise.all(
      [...byPartition].map(([partition, own]) => this.#opened.write(partition, own)),
    );
    return refusals.find((refused) => refused !== undefined);
  }

  /** Undefined when it is gone, or another has taken its place. Rejects when the log cannot be read. */
  async read({ entry }: RetainedTopic): Promise<StoredMessage | undefined> {
    if (entry === undefined) return undefined;
    const cached = this.#cache.get(entry);
    if (cached !== undefined) return cached;
    const record = await this.#opened.read(entry.statePartition, entry.stateOffset);
    if (record === undefined || record.value === null) return undefined;
    const message = decodeRetained(record.value);
    if (message === undefined) return undefined;
    const stored = { topic: record.key, message };
    this.#cache.add(entry, stored);
    return stored;
  }

  /** For {@link readOn}: all that the table has now. */
  scan(): TableScan {
    return new TableScan(
      Array.from({ length: this.#opened.partitions }, (_, index) => this.#spans.get(index)?.end ?? 0),
    );
  }

  /** How many times over the log holds what is current, by records or by bytes, whichever is more. */
  get logRatio(): number {
    let records = 0;
    let bytes = 0;
    for (const span of this.#spans.values()) {
      records += span.records;
      bytes += span.bytes;
    }
    return Math.max(records / this.index.size, bytes / this.index.retainedBytes);
  }

  /** Whether memory has room for every message, so that what was read once is not read again. */
  get isCached(): boolean {
    return this.index.retainedBytes <= this.#cache.keptBytesMax;
  }

  /** The next messages that a scan comes to, those that `isWanted`. Rejects when the log cannot be read. */
  async readOn(
    scan: TableScan,
    isWanted: (topic: RetainedTopic, name: string) => boolean,
  ): Promise<FoundMessage[]> {
    const { partition } = scan;
    const found: FoundMessage[] = [];
    const next = await this.#opened.scan(partition, scan.offset, SCAN_BYTES, (key, value, offset) => {
      if (value === null || isOwnKey(key)) return;
      const name = key.toString('utf8');
      const topic = this.index.find(name);
      // Else another has taken its place since.
      if (topic?.entry?.stateOffset !== offset || topic.entry.statePartition !== partition) return;
      if (!isWanted(topic, name)) return;
      const message = decodeRetained(Buffer.from(value));
      if (message === undefined) return;
      found.push({ topic, version: topic.version, stored: { topic: Buffer.from(key), message } });
    });
    scan.moveTo(next);
    return found;
  }

  /** Nothing is forgotten when the hub lets go of the table behind it. */
  close(): void {
    this.#closed = true;
    this.#stopListening();
  }

  get #opened(): StateTable {
    if (this.#table === undefined) throw new Error(`${RETAINED_TABLE} is not open yet`);
    return this.#table;
  }

  #byPartition(changes: readonly Change[]): Map<number, StateRecord[]> {
    const byPartition = new Map<number, StateRecord[]>();
    for (const { topic, value } of changes) {
      append(byPartition, this.#opened.partitionOf(topic), { key: Buffer.from(topic), value });
    }
    return byPartition;
  }

  #apply(partition: number, key: Buffer, value: Buffer | null, offset: number): void {
    this.#noteSpan(partition, key.length + (value?.length ?? 0), offset + 1);
    if (isOwnKey(key)) this.#applyOwn(key, value);
    else if (value === null) this.#remove(key);
    else this.#set(partition, key, value, offset);
  }

  #noteSpan(partition: number, byteLength: number, end: number): void {
    const span = this.#spans.get(partition) ?? { end, records: 0, bytes: 0 };
    span.end = end;
    span.records++;
    span.bytes += byteLength;
    this.#spans.set(partition, span);
  }

  #set(statePartition: number, key: Buffer, value: Buffer, stateOffset: number): void {
    const message = decodeRetained(value);
    if (message === undefined) throw new Error(`a value of ${value.length} bytes is no retained message`);
    const topic = key.toString('utf8');
    const deadlineMs = expiresAtMs(message);
    const previous = this.index.find(topic)?.entry;
    if (previous !== undefined) this.#cache.delete(previous);
    // What has expired while nobody was here takes no place: the sweep would find it first.
    const { topicId, partition } = message.source;
    const entry: RetainedEntry = {
      statePartition,
      stateOffset,
      source: this.sourceOf(topicId, partition),
      sourceOffset: message.sourceOffset,
      timestampMs: message.timestampMs,
      expiresAtMs: deadlineMs,
      byteLength: key.length + value.length,
    };
    this.index.set(topic, entry);
    if (deadlineMs > this.#clock.now()) this.#cache.add(entry, { topic: key, message });
  }

  #remove(key: Buffer): void {
    const removed = this.index.delete(key.toString('utf8'));
    if (removed !== undefined) this.#cache.delete(removed);
  }

  #applyOwn(key: Buffer, value: Buffer | null): void {
    if (key.equals(MARKER_KEY)) {
      this.#hasMarker = value !== null;
      return;
    }
    const place = decodePositionKey(key);
    if (place === undefined) return;
    const source = this.sourceOf(place.topicId, place.partition);
    const position = value === null ? undefined : decodePosition(value);
    if (position !== undefined) {
      this.positions.set(source, position);
      return;
    }
    this.positions.delete(source);
    this.#sources.delete(nameOf(source));
  }

  #forget(statePartition: number): void {
    this.#spans.delete(statePartition);
    if (this.index.size === 0) return;
    this.index.deletePartition(statePartition);
    this.#cache.clear();
  }
}

/**
 * The messages that were written or read last, up to so many bytes. Two generations instead of an order of use: a Map whose
 * oldest entry is looked for again and again steps over all that were deleted before it.
 */
class MessageCache {
  readonly #generationBytes: number;
  #young = new Map<RetainedEntry, StoredMessage>();
  #youngBytes = 0;
  /** Forgotten, all of it, when the young ones are as many again. */
  #old = new Map<RetainedEntry, StoredMessage>();

  constructor(bytesMax: number) {
    this.#generationBytes = bytesMax / 2;
  }

  /** Messages of so many bytes together stay, whatever the order in which they are used. */
  get keptBytesMax(): number {
    return this.#generationBytes;
  }

  get(entry: RetainedEntry): StoredMessage | undefined {
    const young = this.#young.get(entry);
    if (young !== undefined) return young;
    const old = this.#old.get(entry);
    if (old !== undefined) this.add(entry, old);
    return old;
  }

  add(entry: RetainedEntry, message: StoredMessage): void {
    this.delete(entry);
    if (entry.byteLength > this.#generationBytes) return;
    if (this.#youngBytes + entry.byteLength > this.#generationBytes) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(entry, message);
    this.#youngBytes += entry.byteLength;
  }

  delete(entry: RetainedEntry): void {
    if (this.#young.delete(entry)) this.#youngBytes -= entry.byteLength;
    else this.#old.delete(entry);
  }

  clear(): void {
    this.#young.clear();
    this.#youngBytes = 0;
    this.#old.clear();
  }
}

function append(byPartition: Map<number, StateRecord[]>, partition: number, record: StateRecord): void {
  const records = byPartition.get(partition);
  if (records === undefined) byPartition.set(partition, [record]);
  else records.push(record);
}

function nameOf({ topicId, partition }: Source): string {
  return `${topicId}/${partition}`;
}

function batchesOf(records: readonly StateRecord[]): StateRecord[][] {
  const batches: StateRecord[][] = [];
  let batch: StateRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const length = record.key.length + (record.value?.length ?? 0);
    if (batch.length > 0 && (batch.length === BATCH_RECORDS || bytes + length > BATCH_BYTES)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += length;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
