// A hub in memory for tests of a front end that publishes and follows: records are the store's real bytes, but when
// they become durable, what the time is and what is refused are the test's to say.
import type {
  Access,
  Clock,
  Followed,
  Hub,
  Partition,
  Published,
  ReadOptions,
  ReadResult,
  RecordRange,
  RecordsDeleted,
  RecordWriter,
  Refused,
  StateTable,
  StateTableOptions,
  Timer,
  TimestampedOffset,
  TopicChangeKind,
  TopicError,
  Topics,
  TopicView,
} from '../../protocols/port.ts';
import { partitionOfKey } from '../../src/hub/murmur2.ts';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import { Histogram } from '../../storage/histogram.ts';
import { Chunk } from '../../storage/tail-cache.ts';
import { TestLog } from '../src/hub/test-log.ts';
import { FakeStateLog, openFakeStateTable } from './fake-state-table.ts';

type FollowOptions = Parameters<Hub['follow']>[1];

/** Time stands still until it is moved on. */
export class FakeClock implements Clock {
  #nowMs = 1_700_000_000_000;
  readonly #timers = new Set<{ readonly dueMs: number; readonly callback: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs;
    for (;;) {
      const due = [...this.#timers].filter(({ dueMs }) => dueMs <= endMs);
      const next = due.sort((left, right) => left.dueMs - right.dueMs)[0];
      if (!next) break;
      this.#nowMs = next.dueMs;
      this.#timers.delete(next);
      next.callback();
    }
    this.#nowMs = endMs;
  }

  get timerCount(): number {
    return this.#timers.size;
  }
}

interface Pending {
  readonly promise: Promise<Published | Refused>;
  settle(result: Published | Refused): void;
}

export class FakePartition implements Partition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch = 0;
  deleted = false;
  logStartOffset = 0;
  highWatermark = 0;
  byteSize = 0;
  segmentCount = 1;
  markedEnd = 0;
  /** Why publishing is refused from now on. */
  refusal: Refused | undefined;
  reads = 0;
  unreadable = false;
  /** Holds up the next read, and that one only. */
  nextReadWaitsFor: Promise<void> | undefined;
  readonly #hub: FakeHub;
  /** One batch per record. */
  readonly #batches: Buffer[] = [];
  readonly #listeners = new Set<() => void>();
  #pending: Pending | undefined;

  constructor(hub: FakeHub, topic: string, partition: number) {
    this.#hub = hub;
    this.topic = topic;
    this.topicId = `id-of-${topic}`;
    this.partition = partition;
  }

  get logEndOffset(): number {
    return this.#batches.length;
  }

  get lastStableOffset(): number {
    return this.highWatermark;
  }

  endOfEpoch(): never {
    throw new Error('not of this fake');
  }

  producers(): never {
    throw new Error('not of this fake');
  }

  segments(): never {
    throw new Error('not of this fake');
  }

  positionOf(): never {
    throw new Error('not of this fake');
  }

  endTransaction(): never {
    throw new Error('not of this fake');
  }

  transactionStart(): never {
    throw new Error('not of this fake');
  }

  publish(fill: (writer: RecordWriter) => void): Promise<Published | Refused> {
    if (this.refusal) return Promise.resolve(this.refusal);
    const offset = this.#batches.length;
    const encoded = encodeBatch(offset, (writer) => {
      fill(writer);
      if (writer.isMarked) this.markedEnd = offset + 1;
    });
    this.#batches.push(encoded);
    this.#pending ??= newPending();
    if (this.#hub.commits === 'at-once') queueMicrotask(() => this.commit());
    return this.#pending.promise;
  }

  /** Everything published so far is on disk. */
  commit(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    this.highWatermark = this.#batches.length;
    for (const listener of this.#listeners) listener();
    pending.settle({});
  }

  /** Everything published since the last commit is lost. */
  fail(refused: Refused): void {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#batches.length = this.highWatermark;
    pending?.settle(refused);
  }

  async deleteRecords(beforeOffset: number): Promise<RecordsDeleted> {
    this.logStartOffset = Math.max(this.logStartOffset, beforeOffset);
    return { logStartOffset: this.logStartOffset };
  }

  async read({ offset, maxBytes }: ReadOptions): Promise<ReadResult> {
    this.reads++;
    const gate = this.nextReadWaitsFor;
    this.nextReadWaitsFor = undefined;
    if (gate !== undefined) await gate;
    if (this.deleted) return { refused: 'unknown-topic', message: 'deleted' };
    if (this.unreadable) return { refused: 'storage', message: 'a bad sector' };
    if (offset < this.logStartOffset || offset > this.highWatermark) {
      return { refused: 'offset-out-of-range', message: `offset ${offset}` };
    }
    return this.rangeFrom(offset, maxBytes);
  }

  rangeFrom(offset: number, maxBytes: number): RecordRange {
    let end = offset;
    for (let bytes = 0; end < this.highWatermark; end++) {
      bytes += this.#batches[end]!.length;
      if (bytes > maxBytes && end > offset) break;
    }
    const bytes = Buffer.concat(this.#batches.slice(offset, end));
    return { bytes, start: 0, end: bytes.length, nextOffset: end };
  }

  delete(): void {
    this.deleted = true;
    for (const listener of this.#listeners) listener();
  }

  onAdvance(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  append(): never {
    throw new Error('this front end publishes');
  }

  async offsetForTime(timestampMs: number): Promise<TimestampedOffset | undefined> {
    const cursor = new BatchCursor();
    cursor.reset(this.rangeFrom(this.logStartOffset, Number.POSITIVE_INFINITY));
    while (cursor.nextBatch()) {
      while (cursor.nextRecord()) {
        if (cursor.timestampMs < timestampMs) continue;
        return { offset: cursor.offset, timestampMs: cursor.timestampMs, leaderEpoch: 0 };
      }
    }
    return undefined;
  }

  offsetOfMaxTimestamp(): never {
    throw new Error('not of this fake');
  }
}

export class FakeHub implements Hub {
  readonly clock = new FakeClock();
  readonly log = new TestLog();
  readonly topics: FakeTopics;
  readonly access: Access;
  readonly random;
  /** Whether a publish is durable as soon as this turn's work is done, or when the test says so. */
  commits: 'at-once' | 'when-told' = 'at-once';
  /** What nobody may do: `operation topic`. */
  readonly denied = new Set<string>();
  readonly #stateLogs = new Map<string, FakeStateLog>();
  #uuids = 0;

  constructor() {
    this.topics = new FakeTopics(this);
    this.access = {
      allows: (_principal, operation, _kind, name) => !this.denied.has(`${operation} ${name}`),
    };
    this.random = { uuid: () => `uuid-${++this.#uuids}`, below: () => 0 };
  }

  histogram(): Histogram {
    return new Histogram();
  }

  cursor(): BatchCursor {
    return new BatchCursor();
  }

  partitionFor(key: Uint8Array, partitions: number): number {
    return partitionOfKey(key, partitions);
  }

  publish(partition: Partition, fill: (writer: RecordWriter) => void): Promise<Published | Refused> {
    return ours(partition).publish(fill);
  }

  /** Publishes as Kafka would: no source attributes. `undefined` stands for null. */
  produce(
    topic: string,
    record: {
      readonly key?: string | Buffer;
      readonly value?: string | Buffer;
      readonly headers?: readonly (readonly [string | Buffer, string | Buffer | undefined])[];
      readonly timestampMs?: number;
    },
  ): Promise<Published | Refused> {
    const partition = this.topics.make(topic).partitions[0] as FakePartition; // of this hub
    return partition.publish((writer) => writeRecord(writer, this.clock.now(), record));
  }

  follow(partition: Partition, options: FollowOptions): Followed {
    return follow(ours(partition), options);
  }

  get cluster(): never {
    throw new Error('not of this fake');
  }

  get settings(): never {
    throw new Error('not of this fake');
  }

  keepElsewhere(): never {
    throw new Error('not of this fake');
  }

  diskSpace(): never {
    throw new Error('not of this fake');
  }

  async stateTable(options: StateTableOptions): Promise<StateTable> {
    return openFakeStateTable(this.stateLog(options.topic), options, () => this.clock.now());
  }

  /** What a state table has on disk. */
  stateLog(topic: string): FakeStateLog {
    const log = this.#stateLogs.get(topic) ?? new FakeStateLog();
    this.#stateLogs.set(topic, log);
    return log;
  }
}

type Change = { readonly kind: TopicChangeKind; readonly topic: TopicView };

export class FakeTopics implements Topics {
  partitions = 1;
  /** Of topics that are made from now on. */
  maxMessageBytes = 1 << 20;
  /** The outcome of the next creations by first use, instead of a topic. */
  ensureError: TopicError | undefined;
  /** When set, creation by first use waits for it. */
  ensureGate: Promise<void> | undefined;
  ensureCalls = 0;
  readonly #hub: FakeHub;
  readonly #topics = new Map<string, TopicView>();
  readonly #listeners = new Set<(change: Change) => void>();

  constructor(hub: FakeHub) {
    this.#hub = hub;
  }

  get(name: string): TopicView | undefined {
    return this.#topics.get(name);
  }

  list(): readonly TopicView[] {
    return [...this.#topics.values()];
  }

  partition(name: string, partition: number): Partition | undefined {
    return this.#topics.get(name)?.partitions[partition];
  }

  declaredAt(): undefined {
    return undefined;
  }

  /** The topic, made when it is missing. */
  make(name: string, internal = false): TopicView {
    const existing = this.#topics.get(name);
    if (existing) return existing;
    const partitions = Array.from(
      { length: this.partitions },
      (_, index) => new FakePartition(this.#hub, name, index),
    );
    const config = { ...CONFIG, maxMessageBytes: this.maxMessageBytes };
    const topic: TopicView = { name, topicId: `id-of-${name}`, internal, partitions, config };
    this.#topics.set(name, topic);
    for (const listener of this.#listeners) listener({ kind: 'created', topic });
    return topic;
  }

  async ensure(name: string): Promise<TopicView | TopicError> {
    this.ensureCalls++;
    await this.ensureGate;
    return this.ensureError ?? this.make(name);
  }

  async delete(name: string): Promise<undefined> {
    const topic = this.#topics.get(name);
    this.#topics.delete(name);
    if (!topic) return;
    for (const partition of topic.partitions) ours(partition).delete();
    for (const listener of this.#listeners) listener({ kind: 'deleted', topic });
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  create(): never {
    throw new Error('not of this fake');
  }

  getById(topicId: string): TopicView | undefined {
    return [...this.#topics.values()].find((topic) => topic.topicId === topicId);
  }

  describeConfig(): never {
    throw new Error('not of this fake');
  }

  describeNewConfig(): never {
    throw new Error('not of this fake');
  }

  alterConfig(): never {
    throw new Error('not of this fake');
  }

  addPartitions(): never {
    throw new Error('not of this fake');
  }

  illegalName(): undefined {
    return undefined;
  }
}

const CONFIG = {
  cleanupPolicy: 'delete',
  messageTimestampType: 'CreateTime',
  messageTimestampBeforeMaxMs: Number.POSITIVE_INFINITY,
  messageTimestampAfterMaxMs: Number.POSITIVE_INFINITY,
  minInsyncReplicas: 1,
} as const;

function ours(partition: Partition): FakePartition {
  return partition as FakePartition; // this hub makes no others
}

function newPending(): Pending {
  let settle: (result: Published | Refused) => void = () => undefined;
  const promise = new Promise<Published | Refused>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

function encodeBatch(offset: number, fill: (writer: RecordWriter) => void): Buffer {
  const newChunk = (bytes: number) =>
    new Chunk(Buffer.alloc(Math.max(bytes, 4096)), { forget: () => undefined });
  const chunk = newChunk(0);
  const writer = new BatchWriter(chunk, newChunk);
  writer.begin(chunk, offset, 0, {});
  fill(writer);
  writer.finish();
  const { batchAt, byteLength } = writer;
  return Buffer.from(writer.chunk.bytes.subarray(batchAt, batchAt + byteLength));
}

function writeRecord(writer: RecordWriter, nowMs: number, record: Parameters<FakeHub['produce']>[1]): void {
  const bytesOf = (text: string | Buffer) => (typeof text === 'string' ? Buffer.from(text) : text);
  const key = record.key === undefined ? undefined : bytesOf(record.key);
  const value = record.value === undefined ? undefined : bytesOf(record.value);
  const headers = record.headers ?? [];
  const none = Buffer.alloc(0);
  writer.startRecord(
    record.timestampMs ?? nowMs,
    key ?? none,
    key ? 0 : -1,
    key ? key.length : -1,
    headers.length,
  );
  for (const [name, headerValue] of headers) {
    const nameBytes = bytesOf(name);
    const valueBytes = headerValue === undefined ? none : bytesOf(headerValue);
    const both = Buffer.concat([nameBytes, valueBytes]);
    const isNull = headerValue === undefined;
    writer.header(both, 0, nameBytes.length, isNull ? -1 : nameBytes.length, isNull ? -1 : both.length);
  }
  writer.endRecord(value ?? none, value ? 0 : -1, value ? value.length : -1, null);
}

/** As the hub's own: sleeps on the partition's wake-up, one range at a time. */
function follow(partition: FakePartition, options: FollowOptions): Followed {
  let offset = options.fromOffset ?? partition.highWatermark;
  let running = false;
  let closed = false;
  const run = async () => {
    if (running || closed) return;
    running = true;
    while (!closed && (partition.deleted || offset < partition.highWatermark)) {
      const maxBytes = options.maxBytes ?? 1 << 20;
      const result = await partition.read({ offset, maxBytes, upTo: 'highWatermark' });
      if (closed) break;
      if (result.refused === undefined) {
        offset = result.nextOffset;
        await options.onRange(result);
      } else if (result.refused === 'offset-out-of-range' && offset < partition.logStartOffset) {
        options.onSkip?.(offset, partition.logStartOffset);
        offset = partition.logStartOffset;
      } else {
        options.onError?.(result.refused, result.message);
        closed = true;
      }
    }
    running = false;
  };
  const stop = partition.onAdvance(() => void run());
  void run();
  return {
    close: () => {
      closed = true;
      stop();
    },
  };
}
