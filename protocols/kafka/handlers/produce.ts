// Produce (key 0), versions 3–11. One batch per partition, decoded record by record into the store; a partition's
// error is its own. The answer waits for what acks promises; the next Produce of the connection does not, so that
// pipelined requests share a flush (KIP-98 batches, KIP-467 record errors).
//
// acks=0 has no answer; its error closes the connection, which is all that such a client can notice. It holds its
// place in line until its records are flushed, so that what the client asks next sees them.
// Left out: transactions (INVALID_TXN_STATE), `timeoutMs` (a write either gets done or fails by the store's own watchdog).

import type { Acks, Appended, Partition, Refused } from '../../port.ts';
import { allows, type Call, defineApi, HANG_UP, Later, NO_ANSWER, type Silence } from '../api.ts';
import { APPEND_ERROR_CODES, ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { recordsCode } from '../failures.ts';
import { ProduceRequest, ProduceResponse } from '../messages/produce.ts';
import { batchOptionsOf, decompressBatch, validateBatch, writeRecords } from '../record-mapping.ts';
import { COMPRESSION } from '../records/compression.ts';
import { RecordsError } from '../records/errors.ts';
import {
  ATTRIBUTES_AT,
  BATCH_HEADER_BYTES,
  MAGIC,
  MAGIC_AT,
  TRANSACTIONAL_BIT,
} from '../records/record-batch.ts';

const ACKS: ReadonlyMap<number, Acks> = new Map([
  [-1, 'flushed'],
  [0, 'flushed'],
  [1, 'written'],
]);
/** Kafka's default of `message.timestamp.after.max.ms`: a time further ahead is a mistake of its clock (KIP-937). */
const TIMESTAMP_AFTER_MAX_MS = 3_600_000;
/** Clients that speak less do not know zstd (KIP-110). */
const ZSTD_VERSION_MIN = 7;

type PartitionData = ProduceRequest['topicData'][number]['partitionData'][number];
type PartitionAnswer = ProduceResponse['responses'][number]['partitionResponses'][number];

/** One partition of the request, and its answer once there is one. */
interface Item {
  readonly topic: string;
  readonly data: PartitionData;
  answer: PartitionAnswer | Promise<PartitionAnswer> | undefined;
}

/** What the items of one request share. */
interface Produce {
  readonly request: ProduceRequest;
  readonly call: Call;
  readonly items: readonly Item[];
  /** Undefined = not a legal value. */
  readonly acks: Acks | undefined;
  /** With acks=1: when records that are acknowledged are seen. */
  readonly settling: Promise<unknown>[];
  appendedBytes: number;
}

export const produce = defineApi({
  key: 0,
  name: 'Produce',
  min: 3,
  max: 11,
  overlaps: 'itself',
  request: ProduceRequest,
  response: ProduceResponse,
  handle: handleProduce,
});

function handleProduce(
  request: ProduceRequest,
  call: Call,
): Later<ProduceResponse> | Promise<Later<ProduceResponse>> {
  const items = request.topicData.flatMap(({ name, partitionData }) =>
    partitionData.map((data): Item => ({ topic: name, data, answer: undefined })),
  );
  const work: Produce = {
    request,
    call,
    items,
    acks: ACKS.get(request.acks),
    settling: [],
    appendedBytes: 0,
  };
  const taken = takeItems(work, 0);
  const later = (): Later<ProduceResponse> => {
    const answer = respond(work);
    return new Later(answer, work.acks === 'written' ? settled(work, answer) : answer, work.appendedBytes);
  };
  return taken === undefined ? later() : taken.then(later);
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
  const { call } = work;
  const { hub, settings } = call.kafka;
  const partition = hub.topics.partition(item.topic, item.data.index);
  const fault = itemFault(work, item, partition);
  if (fault !== ERROR_CODES.NONE || partition === undefined) {
    item.answer = refused(item, fault, null);
    return undefined;
  }
  const config = hub.topics.get(item.topic)?.config;
  const isCompacted = config?.cleanupPolicy === 'compact';
  const isLogAppendTime = config?.messageTimestampType === 'LogAppendTime';
  try {
    const batch = validateBatch(item.data.records, { batchBytesMax: config?.maxMessageBytes ?? 0 });
    if (batch.compression === COMPRESSION.zstd && call.version < ZSTD_VERSION_MIN)
      throw new RecordsError('unsupported-compression', 'zstd needs Produce 7');
    const append = (section: Buffer): void => {
      work.appendedBytes += section.length;
      const nowMs = hub.clock.now();
      const logAppendTimeMs = isLogAppendTime ? nowMs : -1;
      const writeOptions = {
        ...{ logAppendTimeMs, requireKeys: isCompacted },
        latestTimestampMs: nowMs + TIMESTAMP_AFTER_MAX_MS,
      };
      const options = {
        ...batchOptionsOf(batch, section),
        acks: work.acks ?? 'flushed',
        logAppendTime: isLogAppendTime,
      };
      item.answer = partition
        .append(options, (writer) => writeRecords(writer, batch, section, writeOptions))
        .then((result) => answerOf(work, item, result, logAppendTimeMs));
    };
    const section = decompressBatch(batch, settings.decompressedBytesMax);
    if (section instanceof Promise) {
      return section.then(append).catch((error: unknown) => failItem(work, item, error));
    }
    append(section);
  } catch (error) {
    failItem(work, item, error);
  }
  return work.appendedBytes > settings.heldBytesMax ? whenDone(work) : undefined;
}

/** What can be said without looking at the records. */
function itemFault(work: Produce, item: Item, partition: Partition | undefined): ErrorCode {
  const { hub } = work.call.kafka;
  if (work.acks === undefined) return ERROR_CODES.INVALID_REQUIRED_ACKS;
  if (work.request.transactionalId !== null) return ERROR_CODES.INVALID_TXN_STATE;
  if (saysTransactional(item.data.records)) return ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
  if (!allows(work.call, 'write', 'topic', item.topic)) return ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  if (hub.topics.get(item.topic)?.internal === true) return ERROR_CODES.INVALID_TOPIC_EXCEPTION;
  return partition === undefined ? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION : ERROR_CODES.NONE;
}

/** Without a transactional id nobody may write in a transaction (KIP-98). Said before anything else is looked at. */
function saysTransactional(records: Buffer | null): boolean {
  if (records === null || records.length < BATCH_HEADER_BYTES || records[MAGIC_AT] !== MAGIC) return false;
  return (records.readInt16BE(ATTRIBUTES_AT) & TRANSACTIONAL_BIT) !== 0;
}

async function whenDone(work: Produce): Promise<void> {
  await Promise.all(work.items.map(({ answer }) => answer));
  work.appendedBytes = 0;
}

async function respond(work: Produce): Promise<ProduceResponse | Silence> {
  const answers = await Promise.all(work.items.map(({ answer }) => answer as NonNullable<typeof answer>)); // all taken
  if (work.request.acks === 0)
    return answers.some(({ errorCode }) => errorCode !== ERROR_CODES.NONE) ? HANG_UP : NO_ANSWER;
  let next = 0;
  return {
    responses: work.request.topicData
      .filter(({ partitionData }) => partitionData.length > 0)
      .map(({ name, partitionData }) => {
        const partitionResponses = answers.slice(next, next + partitionData.length);
        next += partitionData.length;
        return { name, partitionResponses };
      }),
  };
}

async function settled(work: Produce, answer: Promise<unknown>): Promise<void> {
  await answer;
  await Promise.all(work.settling);
}

function answerOf(
  work: Produce,
  { data }: Item,
  result: Appended | Refused,
  logAppendTimeMs: number,
): PartitionAnswer {
  if (result.refused === undefined) {
    const { baseOffset, logStartOffset } = result;
    if (result.settled !== undefined) work.settling.push(result.settled);
    return { index: data.index, errorCode: ERROR_CODES.NONE, baseOffset, logAppendTimeMs, logStartOffset };
  }
  return {
    index: data.index,
    errorCode: APPEND_ERROR_CODES[result.refused],
    baseOffset: -1,
    errorMessage: result.message,
  };
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
