// Produce (key 0), versions 3–13; 13 names topics by id (KIP-516). One batch per partition, decoded record by record into the store; a partition's
// error is its own. The answer waits for what acks promises; the next Produce of the connection does not, so that
// pipelined requests share a flush (KIP-98 batches, KIP-467 record errors).
//
// acks=0 has no answer; its error closes the connection, which is all that such a client can notice. It holds its
// place in line until its records are flushed, so that what the client asks next sees them.
//
// A batch that an idempotent producer sends again is answered as it was the first time, once that is as safe as acks asks;
// what does not follow the producer's last batch, or comes with an epoch of the past, is refused by the log (KIP-98).
// A transactional batch is appended where its producer's transaction is open, or the coordinator says that the partition is in
// it (KIP-890): from version 12 on the partition is added by this very request, before anything is appended; earlier
// clients have added it before, which is asked right before the append. So no transaction is begun that no marker will end.
// Left out: `timeoutMs` (a write either gets done or fails by the store's own watchdog).

import assert from 'node:assert/strict';
import type { Acks, Appended, Partition, Published, Refused, TopicConfig, TopicView } from '../../port.ts';
import {
  allows,
  type Call,
  defineApi,
  HANG_UP,
  Later,
  NO_ANSWER,
  type Outcome,
  type Silence,
} from '../api.ts';
import { APPEND_ERROR_CODES, ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { recordsCode } from '../failures.ts';
import { ProduceRequest, ProduceResponse } from '../messages/produce.ts';
import {
  batchOptionsOf,
  decompressBatch,
  validateBatch,
  type WriteOptions,
  writeRecords,
} from '../record-mapping.ts';
import { COMPRESSION } from '../records/compression.ts';
import { RecordsError } from '../records/errors.ts';
import {
  ATTRIBUTES_AT,
  BATCH_HEADER_BYTES,
  MAGIC,
  MAGIC_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  type RecordBatch,
  TRANSACTIONAL_BIT,
} from '../records/record-batch.ts';
import { PRODUCE_VERSIONS, writerCode } from '../transactions/verification.ts';

const ACKS: ReadonlyMap<number, Acks> = new Map([
  [-1, 'flushed'],
  [0, 'flushed'],
  [1, 'written'],
]);
const ALL_ACKS = -1;
/** There is one node, and so one copy of each partition. */
const COPIES = 1;
/** Clients that speak less do not know zstd (KIP-110). */
const ZSTD_VERSION_MIN = 7;
const IDS_SINCE_VERSION = 13;

type PartitionData = ProduceRequest['topicData'][number]['partitionData'][number];
type PartitionAnswer = ProduceResponse['responses'][number]['partitionResponses'][number];

type Acknowledgement = Published | Refused;

/** One partition of the request. Once it was taken it has an answer, or what was appended until that is acknowledged. */
interface Item {
  /** Undefined = an id that no topic has. */
  readonly topic: string | undefined;
  readonly data: PartitionData;
  answer: PartitionAnswer | undefined;
  appended: Appended | undefined;
  logAppendTimeMs: number;
  /** Which of the request's acknowledgements is its own. */
  acknowledgement: number;
}

interface Producer {
  readonly producerId: number;
  readonly producerEpoch: number;
}

/** An item that may be appended once its records are decompressed. */
interface CheckedItem {
  readonly work: Produce;
  readonly item: Item;
  readonly config: TopicConfig;
  readonly partition: Partition;
  readonly batch: RecordBatch;
}

/** What the items of one request share. */
interface Produce {
  readonly request: ProduceRequest;
  readonly call: Call;
  readonly items: readonly Item[];
  /** Undefined = not a legal value. */
  readonly acks: Acks | undefined;
  /** Of what was appended, in order; neighbours that share a group commit have one together. */
  readonly acknowledgements: Promise<Acknowledgement>[];
  /** With acks=1: when records that are acknowledged are seen. */
  readonly settling: Promise<unknown>[];
  appendedBytes: number;
}

export const produce = defineApi({
  key: 0,
  name: 'Produce',
  min: 3,
  max: 13,
  overlaps: 'itself',
  request: ProduceRequest,
  response: ProduceResponse,
  handle: handleProduce,
});

function handleProduce(
  request: ProduceRequest,
  call: Call,
): Outcome<ProduceResponse> | Promise<Outcome<ProduceResponse>> {
  const items: Item[] = [];
  for (const { name, topicId, partitionData } of request.topicData) {
    const topic = call.version >= IDS_SINCE_VERSION ? call.kafka.hub.topics.getById(topicId)?.name : name;
    for (const data of partitionData) items.push(itemOf(topic, data));
  }
  const acks = ACKS.get(request.acks);
  const work: Produce = { request, call, items, acks, acknowledgements: [], settling: [], appendedBytes: 0 };
  const added = call.version >= PRODUCE_VERSIONS.adds ? addToTransaction(work) : undefined;
  const taken = added === undefined ? takeItems(work, 0) : added.then(() => takeItems(work, 0));
  return taken === undefined ? outcomeOf(work) : taken.then(() => outcomeOf(work));
}

/** Where the request begins the producer's transaction, all at once: it costs the coordinator one write to disk. */
function addToTransaction(work: Produce): Promise<unknown> | undefined {
  const { transactionalId } = work.request;
  if (transactionalId === null) return undefined;
  const asked: { readonly item: Item; readonly producer: Producer; readonly partition: Partition }[] = [];
  for (const item of work.items) {
    const topic = item.topic === undefined ? undefined : work.call.kafka.hub.topics.get(item.topic);
    const partition = topic?.partitions[item.data.index];
    const producer = transactionalProducerOf(item.data.records);
    if (partition === undefined || producer === undefined || isOpen(partition, producer)) continue;
    if (itemFault(work, item, topic, partition) === ERROR_CODES.NONE)
      asked.push({ item, producer, partition });
  }
  const [first] = asked;
  if (first === undefined) return undefined;
  const { transactions } = work.call.kafka;
  // A request is of one producer; batches of another are asked about apart.
  const isOfFirst = ({ producer }: { readonly producer: Producer }): boolean =>
    producer.producerId === first.producer.producerId &&
    producer.producerEpoch === first.producer.producerEpoch;
  const add = async (producer: Producer, of: typeof asked): Promise<void> => {
    const places = of.map(({ partition: { topic, partition } }) => ({ topic, partition }));
    const code = await transactions.add({ transactionalId, ...producer }, places, 2);
    if (code !== ERROR_CODES.NONE)
      for (const { item } of of) item.answer = notInTransaction(work, item, code);
  };
  const others = asked.filter((each) => !isOfFirst(each));
  return Promise.all([
    add(first.producer, asked.filter(isOfFirst)),
    ...others.map((each) => add(each.producer, [each])),
  ]);
}

/** Whether the batch goes on with what is open here, or is none of a transaction. */
function needsNoVerification({ partition, batch }: CheckedItem): boolean {
  return !batch.isTransactional || isOpen(partition, batch);
}

function isOpen(partition: Partition, { producerId, producerEpoch }: Producer): boolean {
  return partition.transactionStart(producerId, producerEpoch) >= 0;
}

async function appendVerified(checked: CheckedItem, section: Buffer): Promise<void> {
  const { work, item, partition, batch } = checked;
  const { producerId, producerEpoch } = batch;
  const claim = { transactionalId: work.request.transactionalId ?? '', producerId, producerEpoch };
  const [code] = await work.call.kafka.transactions.verify(claim, [partition]);
  // The answer is of now: no marker comes between it and the append.
  if (code === ERROR_CODES.NONE) append(checked, section);
  else item.answer = notInTransaction(work, item, code ?? ERROR_CODES.UNKNOWN_SERVER_ERROR);
}

function notInTransaction({ call }: Produce, item: Item, code: ErrorCode): PartitionAnswer {
  const told = writerCode(code, call.version, PRODUCE_VERSIONS, ERROR_CODES.NOT_ENOUGH_REPLICAS);
  const message =
    told === ERROR_CODES.INVALID_TXN_STATE ? 'Partition was not added to the transaction' : null;
  return refused(item, told, message);
}

function itemOf(topic: string | undefined, data: PartitionData): Item {
  return {
    topic,
    data,
    answer: undefined,
    appended: undefined,
    logAppendTimeMs: -1,
    acknowledgement: -1,
  };
}

/** In order. A promise while something is decompressed on the thread pool, or too much waits for the disk. */
function takeItems(work: Produce, from: number): Promise<void> | undefined {
  for (let index = from; index < work.items.length; index++) {
    const pending = takeItem(work, work.items[index] as Item); // index is within
    if (pending !== undefined) return pending.then(() => takeItems(work, index + 1));
  }
  return undefined;
}

function takeItem(work: Produce, item: Item): Promise<void> | undefined {
  const { hub, settings } = work.call.kafka;
  if (item.answer !== undefined) return undefined;
  const topic = item.topic === undefined ? undefined : hub.topics.get(item.topic);
  const partition = topic?.partitions[item.data.index];
  const fault = itemFault(work, item, topic, partition);
  if (fault !== ERROR_CODES.NONE || topic === undefined || partition === undefined) {
    item.answer = refused(item, fault, null);
    return undefined;
  }
  try {
    const { config } = topic;
    const batch = validateBatch(item.data.records, { batchBytesMax: config.maxMessageBytes });
    if (batch.compression === COMPRESSION.zstd && work.call.version < ZSTD_VERSION_MIN)
      throw new RecordsError('unsupported-compression', 'zstd needs Produce 7');
    const checked: CheckedItem = { work, item, config, partition, batch };
    const section = decompressBatch(batch, settings.decompressedBytesMax);
    if (section instanceof Promise || !needsNoVerification(checked)) {
      return Promise.resolve(section)
        .then((decompressed) =>
          needsNoVerification(checked)
            ? append(checked, decompressed)
            : appendVerified(checked, decompressed),
        )
        .catch((error: unknown) => failItem(work, item, error));
    }
    append(checked, section);
  } catch (error) {
    failItem(work, item, error);
  }
  return work.appendedBytes > settings.heldBytesMax ? whenDone(work) : undefined;
}

/** What can be said without looking at the records. */
function itemFault(
  work: Produce,
  item: Item,
  topic: TopicView | undefined,
  partition: Partition | undefined,
): ErrorCode {
  if (work.acks === undefined) return ERROR_CODES.INVALID_REQUIRED_ACKS;
  if (!mayBeTransactional(work, item)) return ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
  if (item.topic === undefined) return ERROR_CODES.UNKNOWN_TOPIC_ID;
  if (!allows(work.call, 'write', 'topic', item.topic)) return ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  if (topic?.internal === true) return ERROR_CODES.INVALID_TOPIC_EXCEPTION;
  if (topic === undefined || partition === undefined) return ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
  return work.request.acks === ALL_ACKS && topic.config.minInsyncReplicas > COPIES
    ? ERROR_CODES.NOT_ENOUGH_REPLICAS
    : ERROR_CODES.NONE;
}

/** Throws RecordsError when the records do not decode; then nothing is appended. */
function append({ work, item, config, partition, batch }: CheckedItem, section: Buffer): void {
  const nowMs = work.call.kafka.hub.clock.now();
  const isLogAppendTime = config.messageTimestampType === 'LogAppendTime';
  const logAppendTimeMs = isLogAppendTime ? nowMs : -1;
  const writeOptions: WriteOptions = {
    logAppendTimeMs,
    earliestTimestampMs: nowMs - config.messageTimestampBeforeMaxMs,
    latestTimestampMs: nowMs + config.messageTimestampAfterMaxMs,
    requireKeys: config.cleanupPolicy.startsWith('compact'),
  };
  const options = batchOptionsOf(batch, section, work.acks ?? 'flushed', isLogAppendTime);
  const appended = partition.append(options, (writer) => writeRecords(writer, batch, section, writeOptions));
  if (appended.refused !== undefined) {
    item.answer = refused(item, APPEND_ERROR_CODES[appended.refused], appended.message);
    return;
  }
  const { counters } = work.call.kafka;
  work.appendedBytes += section.length;
  if (appended.duplicate !== true) {
    counters.recordsAppended += batch.recordCount;
    counters.bytesAppended += item.data.records?.length ?? 0;
  }
  item.appended = appended;
  item.logAppendTimeMs = appended.duplicate === true ? appended.logAppendTimeMs : logAppendTimeMs;
  item.acknowledgement = pushUnlessLast(work.acknowledgements, appended.acknowledged);
  if (appended.settled !== undefined) pushUnlessLast(work.settling, appended.settled);
}

/** Returns the index of `value`. */
function pushUnlessLast<T>(values: T[], value: T): number {
  if (values.length === 0 || values[values.length - 1] !== value) values.push(value);
  return values.length - 1;
}

/** Without a transactional id nobody may write in a transaction (KIP-98). Said before anything else is looked at. */
function mayBeTransactional({ request, call }: Produce, { data }: Item): boolean {
  const { transactionalId } = request;
  return transactionalId === null
    ? transactionalProducerOf(data.records) === undefined
    : allows(call, 'write', 'transactional-id', transactionalId);
}

/** Who a transactional batch says it is of; its other fields are not looked at yet. */
function transactionalProducerOf(records: Buffer | null): Producer | undefined {
  if (records === null || records.length < BATCH_HEADER_BYTES || records[MAGIC_AT] !== MAGIC)
    return undefined;
  if ((records.readInt16BE(ATTRIBUTES_AT) & TRANSACTIONAL_BIT) === 0) return undefined;
  return {
    producerId: Number(records.readBigInt64BE(PRODUCER_ID_AT)),
    producerEpoch: records.readInt16BE(PRODUCER_EPOCH_AT),
  };
}

async function whenDone(work: Produce): Promise<void> {
  await Promise.all(work.acknowledgements);
  work.appendedBytes = 0;
}

/** Requests that share one group commit, as pipelined ones mostly do, have one promise together. */
function outcomeOf(work: Produce): Outcome<ProduceResponse> {
  const { acknowledgements, settling, appendedBytes } = work;
  const [first] = acknowledgements;
  if (first === undefined) return respond(work, []);
  const settled = settling.length > 1 ? Promise.all(settling) : settling[0];
  const options = { settled, heldBytes: appendedBytes };
  return acknowledgements.length === 1
    ? Later.of(first, (only) => respond(work, [only]), options)
    : Later.of(Promise.all(acknowledgements), (all) => respond(work, all), options);
}

function respond(work: Produce, acknowledgements: readonly Acknowledgement[]): ProduceResponse | Silence {
  const answers = work.items.map((item) => answerOf(item, acknowledgements));
  if (work.request.acks === 0)
    return answers.some(({ errorCode }) => errorCode !== ERROR_CODES.NONE) ? HANG_UP : NO_ANSWER;
  let next = 0;
  const responses: ProduceResponse['responses'][number][] = [];
  for (const { name, topicId, partitionData } of work.request.topicData) {
    if (partitionData.length === 0) continue;
    responses.push({ name, topicId, partitionResponses: answers.slice(next, next + partitionData.length) });
    next += partitionData.length;
  }
  return { responses };
}

function answerOf(item: Item, acknowledgements: readonly Acknowledgement[]): PartitionAnswer {
  const { appended, answer, logAppendTimeMs } = item;
  if (answer !== undefined) return answer;
  const acknowledgement = acknowledgements[item.acknowledgement];
  // Every item was taken, and an append has its acknowledgement among those waited for.
  assert(
    appended !== undefined && acknowledgement !== undefined,
    `${item.topic} was taken and has no answer`,
  );
  if (acknowledgement.refused !== undefined)
    return refused(item, APPEND_ERROR_CODES[acknowledgement.refused], acknowledgement.message);
  const { baseOffset, logStartOffset } = appended;
  return { index: item.data.index, errorCode: ERROR_CODES.NONE, baseOffset, logAppendTimeMs, logStartOffset };
}

function failItem(work: Produce, item: Item, error: unknown): void {
  const code = recordsCode(work.call.kafka.hub, `Produce to ${item.topic}-${item.data.index}`, error);
  item.answer =
    error instanceof RecordsError
      ? {
          ...refused(item, code, error.message),
          recordErrors: error.faults.map(({ recordIndex, message }) => ({
            batchIndex: recordIndex,
            batchIndexErrorMessage: message,
          })),
        }
      : refused(item, code, null);
}

function refused({ data }: Item, errorCode: ErrorCode, errorMessage: string | null): PartitionAnswer {
  return { index: data.index, errorCode, baseOffset: -1, errorMessage };
}
