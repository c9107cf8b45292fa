// Appends what came over HTTP: records of one partition in the order in which they were sent, in one batch unless they
// are more than the topic's batches may hold. Of a batch all is appended or nothing, and it is on disk when this resolves.
import type { Appended, Hub, Partition, RecordWriter, Refused, TopicView } from '../../protocols/port.ts';
import { AdminError, type ErrorCode } from './errors.ts';
import type { RecordInput } from './record-input.ts';
import { knownPartition, refusalError } from './topic-errors.ts';

/** Where a record went, or why it did not. */
export type RecordOutcome =
  | { readonly partition: number; readonly offset: number }
  | { readonly partition: number; readonly error: { readonly code: ErrorCode; readonly message: string } };

/** More than the store, or Kafka's format, adds to a record and to a batch: lengths, a header's name. */
const RECORD_BYTES = 48;
const HEADER_BYTES = 12;
const BATCH_BYTES = 128;

interface Placed {
  readonly input: RecordInput;
  readonly index: number;
  readonly byteLength: number;
}

/**
 * One outcome per record, in order.
 * @throws AdminError before anything is appended, when a record could not be
 */
export async function appendRecords(
  hub: Hub,
  topic: TopicView,
  inputs: readonly RecordInput[],
): Promise<RecordOutcome[]> {
  const nowMs = hub.clock.now();
  checkRecords(topic, inputs, nowMs);
  const byPartition = placed(hub, topic, inputs);
  const outcomes = new Array<RecordOutcome>(inputs.length);
  const pending: Promise<void>[] = [];
  for (const [partition, records] of byPartition) {
    const appender = new PartitionAppender(partition, topic, nowMs, outcomes);
    pending.push(...appender.append(records));
  }
  await Promise.all(pending);
  return outcomes;
}

/** @throws AdminError */
function checkRecords({ config }: TopicView, inputs: readonly RecordInput[], nowMs: number): void {
  const isCompacted = config.cleanupPolicy.includes('compact');
  const earliestMs = nowMs - config.messageTimestampBeforeMaxMs;
  const latestMs = nowMs + config.messageTimestampAfterMaxMs;
  for (const [index, input] of inputs.entries()) {
    const field = (name: string): string => (inputs.length === 1 ? name : `records.${index}.${name}`);
    if (isCompacted && input.key === null) throw wrong(field('key'), 'a compacted topic needs a key');
    const { timestampMs = nowMs } = input;
    if (config.messageTimestampType === 'LogAppendTime') continue;
    if (timestampMs < earliestMs || timestampMs > latestMs)
      throw wrong(field('timestampMs'), `${timestampMs} is too far from the hub's time, ${nowMs}`);
  }
}

/** @throws AdminError when there is no such partition, or a record is too large for its topic */
function placed(hub: Hub, topic: TopicView, inputs: readonly RecordInput[]): Map<Partition, Placed[]> {
  const { length } = topic.partitions;
  // Those without a key go together, so that they keep their order too.
  const anyPartition = hub.random.below(length);
  const byPartition = new Map<Partition, Placed[]>();
  for (const [index, input] of inputs.entries()) {
    const byKey = input.key === null ? anyPartition : hub.partitionFor(input.key, length);
    const partition = knownPartition(topic, input.partition ?? byKey);
    const byteLength = byteLengthOf(input);
    if (byteLength + BATCH_BYTES > topic.config.maxMessageBytes) {
      const field = inputs.length === 1 ? 'value' : `records.${index}.value`;
      const message = `${field}: a record of ${byteLength} bytes is more than max.message.bytes allows`;
      throw new AdminError('payload_too_large', message, { field, hint: `${topic.config.maxMessageBytes}` });
    }
    const records = byPartition.get(partition) ?? [];
    byPartition.set(partition, records);
    records.push({ input, index, byteLength });
  }
  return byPartition;
}

class PartitionAppender {
  readonly #partition: Partition;
  readonly #topic: TopicView;
  readonly #nowMs: number;
  readonly #outcomes: RecordOutcome[];

  constructor(partition: Partition, topic: TopicView, nowMs: number, outcomes: RecordOutcome[]) {
    this.#partition = partition;
    this.#topic = topic;
    this.#nowMs = nowMs;
    this.#outcomes = outcomes;
  }

  /** What is refused ends it: what follows must not overtake what is missing. */
  append(records: readonly Placed[]): Promise<void>[] {
    const pending: Promise<void>[] = [];
    const bytesMax = this.#topic.config.maxMessageBytes;
    for (let start = 0; start < records.length; ) {
      let byteLength = BATCH_BYTES;
      let end = start;
      while (end < records.length && (end === start || byteLength + records[end]!.byteLength <= bytesMax))
        byteLength += records[end++]!.byteLength; // end is below the length
      const batch = records.slice(start, end);
      const appended = this.#appendBatch(batch, byteLength);
      if (appended.refused !== undefined) {
        this.#refuse(records.slice(start), appended);
        break;
      }
      pending.push(appended.acknowledged.then((outcome) => this.#settle(batch, appended, outcome)));
      start = end;
    }
    return pending;
  }

  #appendBatch(batch: readonly Placed[], byteLengthHint: number): Appended | Refused {
    const logAppendTime = this.#topic.config.messageTimestampType === 'LogAppendTime';
    return this.#partition.append({ acks: 'flushed', logAppendTime, byteLengthHint }, (writer) => {
      for (const { input } of batch)
        writeRecord(writer, input, logAppendTime ? this.#nowMs : (input.timestampMs ?? this.#nowMs));
    });
  }

  #settle(
    batch: readonly Placed[],
    { baseOffset }: Appended,
    outcome: Refused | { refused?: undefined },
  ): void {
    if (outcome.refused !== undefined) {
      this.#refuse(batch, outcome);
      return;
    }
    const { partition } = this.#partition;
    for (const [at, { index }] of batch.entries())
      this.#outcomes[index] = { partition, offset: baseOffset + at };
  }

  #refuse(records: readonly Placed[], refused: Refused): void {
    const { code, message } = refusalError(refused);
    const { partition } = this.#partition;
    for (const { index } of records) this.#outcomes[index] = { partition, error: { code, message } };
  }
}

function writeRecord(writer: RecordWriter, input: RecordInput, timestampMs: number): void {
  const { key, value, headers } = input;
  writer.startRecord(timestampMs, key ?? EMPTY, ...rangeOf(key), headers.length);
  for (const { bytes, nameEnd, isNull } of headers) {
    if (isNull) writer.header(bytes, 0, nameEnd, -1, -1);
    else writer.header(bytes, 0, nameEnd, nameEnd, bytes.length);
  }
  writer.endRecord(value ?? EMPTY, ...rangeOf(value), null);
}

function rangeOf(bytes: Buffer | null): [start: number, end: number] {
  return bytes === null ? [-1, -1] : [0, bytes.length];
}

function byteLengthOf({ key, value, headers }: RecordInput): number {
  let byteLength = RECORD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const { bytes } of headers) byteLength += HEADER_BYTES + bytes.length;
  return byteLength;
}

function wrong(field: string, what: string): AdminError {
  return new AdminError('invalid_request', `${field}: ${what}`, { field });
}

const EMPTY = Buffer.alloc(0);
