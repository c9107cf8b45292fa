// A transactional producer by the request: each method is one request, and returns what it was told by its name.

import { errorName } from '../../../../protocols/kafka/error-codes.ts';
import type { KafkaSocket, TestKafka } from '../kafka-fixture.ts';
import { api, fetchOf } from '../kafka-requests.ts';
import { type RawBatch, rawBatch, simpleRecord } from '../records/raw-batch.ts';

export function transactionalBatch(
  producer: { readonly producerId: number; readonly producerEpoch: number },
  baseSequence: number,
  fields: RawBatch = {},
): Buffer {
  const { producerId, producerEpoch } = producer;
  return rawBatch([simpleRecord(0, null, Buffer.from('v'))], {
    ...{ attributes: 0x10, producerId: BigInt(producerId), producerEpoch, baseSequence },
    ...fields,
  });
}

export interface OffsetOptions {
  readonly version?: number;
  readonly groupId?: string;
  readonly generation?: number;
  readonly memberId?: string;
  readonly topic?: string;
  readonly partition?: number;
}

export class TransactionalClient {
  readonly socket: KafkaSocket;
  readonly id: string;
  producerId = -1;
  producerEpoch = -1;

  constructor(socket: KafkaSocket, id: string) {
    this.socket = socket;
    this.id = id;
  }

  /** Another one that says the same of itself. */
  copy(changes: { readonly producerId?: number; readonly producerEpoch?: number } = {}): TransactionalClient {
    return Object.assign(new TransactionalClient(this.socket, this.id), {
      ...{ producerId: this.producerId, producerEpoch: this.producerEpoch },
      ...changes,
    });
  }

  /** @param expected whether it says who it is (KIP-360) */
  async init(
    options: { readonly expected?: boolean; readonly timeoutMs?: number; readonly version?: number } = {},
  ): Promise<string> {
    const { expected = false, timeoutMs = 60_000, version = 5 } = options;
    const { producerId, producerEpoch } = expected ? this : { producerId: -1, producerEpoch: -1 };
    const answer = await this.socket.ask(api.initProducerId, version, {
      ...{ transactionalId: this.id, transactionTimeoutMs: timeoutMs, producerId, producerEpoch },
    });
    return this.#take(answer);
  }

  /** Asks again while it is told to. */
  async begin(options: { readonly timeoutMs?: number } = {}): Promise<string> {
    for (;;) {
      const told = await this.init(options);
      if (told !== 'CONCURRENT_TRANSACTIONS') return told;
    }
  }

  async add(topic: string, partitions: readonly number[] = [0], version = 3): Promise<string> {
    const answer = await this.socket.ask(api.addPartitionsToTxn, version, {
      v3AndBelowTransactionalId: this.id,
      v3AndBelowProducerId: this.producerId,
      v3AndBelowProducerEpoch: this.producerEpoch,
      v3AndBelowTopics: [{ name: topic, partitions: [...partitions] }],
    });
    const [results] = answer.resultsByTopicV3AndBelow;
    return results!.resultsByPartition.map(({ partitionErrorCode }) => errorName(partitionErrorCode)).join();
  }

  async addBatched(topic: string, verifyOnly: boolean, version = 4): Promise<string> {
    const { id: transactionalId, producerId, producerEpoch } = this;
    const topics = [{ name: topic, partitions: [0] }];
    const transactions = [{ transactionalId, producerId, producerEpoch, verifyOnly, topics }];
    const answer = await this.socket.ask(api.addPartitionsToTxn, version, { transactions });
    const [result] = answer.resultsByTransaction;
    return errorName(result!.topicResults[0]!.resultsByPartition[0]!.partitionErrorCode);
  }

  async produce(topic: string, sequence: number, version = 12, partition = 0): Promise<string> {
    return (await this.produceTo(topic, [partition], sequence, version))[0]!;
  }

  async produceTo(
    topic: string,
    partitions: readonly number[],
    sequence: number,
    version = 12,
  ): Promise<string[]> {
    const answer = await this.socket.ask(api.produce, version, {
      ...{ transactionalId: this.id, acks: -1, timeoutMs: 10_000 },
      topicData: [
        {
          name: topic,
          partitionData: partitions.map((index) => ({ index, records: transactionalBatch(this, sequence) })),
        },
      ],
    });
    return answer.responses[0]!.partitionResponses.map(({ errorCode }) => errorName(errorCode));
  }

  async end(outcome: 'commit' | 'abort', version = 5): Promise<string> {
    const { id: transactionalId, producerId, producerEpoch } = this;
    const committed = outcome === 'commit';
    const answer = await this.socket.ask(api.endTxn, version, {
      ...{ transactionalId, producerId, producerEpoch, committed },
    });
    return version < 5 ? errorName(answer.errorCode) : this.#take(answer);
  }

  async addOffsets(groupId = 'g', version = 3): Promise<string> {
    const { id: transactionalId, producerId, producerEpoch } = this;
    const request = { transactionalId, producerId, producerEpoch, groupId };
    return errorName((await this.socket.ask(api.addOffsetsToTxn, version, request)).errorCode);
  }

  async commitOffset(offset: number, options: OffsetOptions = {}): Promise<string> {
    const {
      version = 5,
      groupId = 'g',
      generation = -1,
      memberId = '',
      topic = 't',
      partition = 0,
    } = options;
    const { id: transactionalId, producerId, producerEpoch } = this;
    const partitions = [{ partitionIndex: partition, committedOffset: offset, committedMetadata: 'm' }];
    const answer = await this.socket.ask(api.txnOffsetCommit, version, {
      ...{ transactionalId, groupId, producerId, producerEpoch },
      ...(version < 3 ? {} : { generationIdOrMemberEpoch: generation, memberId }),
      topics: [{ name: topic, partitions }],
    });
    return errorName(answer.topics[0]!.partitions[0]!.errorCode);
  }

  /** Which answers there are, each once. */
  async commitOffsets(
    groupId: string,
    topic: string,
    partitionIndexes: readonly number[],
    committedOffset: number,
  ): Promise<string[]> {
    const { id: transactionalId, producerId, producerEpoch } = this;
    const partitions = partitionIndexes.map((partitionIndex) => ({
      ...{ partitionIndex, committedOffset, committedMetadata: '' },
    }));
    const answer = await this.socket.ask(api.txnOffsetCommit, 5, {
      ...{ transactionalId, groupId, producerId, producerEpoch, generationIdOrMemberEpoch: -1, memberId: '' },
      topics: [{ name: topic, partitions }],
    });
    return [...new Set(answer.topics[0]!.partitions.map(({ errorCode }) => errorName(errorCode)))];
  }

  async described(): Promise<{ state: string; epoch: number; partitions: string }> {
    const answer = await this.socket.ask(api.describeTransactions, 0, { transactionalIds: [this.id] });
    const { errorCode, transactionState, producerEpoch, topics } = answer.transactionStates[0]!;
    const partitions = topics.map(({ topic, partitions: ofTopic }) => `${topic}:${ofTopic.join('+')}`).join();
    const state = errorCode === 0 ? transactionState : errorName(errorCode);
    return { state, epoch: producerEpoch, partitions };
  }

  /** When the end is complete: it is asked for until then. */
  async completed(): Promise<string> {
    for (;;) {
      const { state } = await this.described();
      if (state.startsWith('Complete')) return state;
    }
  }

  #take(answer: {
    readonly errorCode: number;
    readonly producerId: number;
    readonly producerEpoch: number;
  }): string {
    if (answer.errorCode !== 0) return errorName(answer.errorCode);
    this.producerId = answer.producerId;
    this.producerEpoch = answer.producerEpoch;
    return `epoch ${answer.producerEpoch}`;
  }
}

let lastId = 0;

export async function clientOn(kafka: TestKafka, id = `id-${++lastId}`): Promise<TransactionalClient> {
  return new TransactionalClient(await kafka.connect(), id);
}

/** What OffsetFetch says of the group: the offset, or the error by its name. */
export async function fetchOffset(
  client: KafkaSocket,
  options: { readonly stable?: boolean; readonly groupId?: string; readonly topic?: string } = {},
): Promise<number | string> {
  const { stable = true, groupId = 'g', topic = 't' } = options;
  const answer = await client.ask(api.offsetFetch, 8, {
    groups: [{ groupId, topics: [{ name: topic, partitionIndexes: [0] }] }],
    requireStable: stable,
  });
  const { errorCode, committedOffset } = answer.groups[0]!.topics[0]!.partitions[0]!;
  return errorCode === 0 ? committedOffset : errorName(errorCode);
}

/** Where a reader of committed records is at the end, and what it is told of aborted ones. */
export async function committedView(client: KafkaSocket, topic: string, partition = 0) {
  const answer = await client.ask(api.fetch, 11, { ...fetchOf(topic, 0, { partition, isolationLevel: 1 }) });
  const { lastStableOffset, highWatermark, abortedTransactions } = answer.responses[0]!.partitions[0]!;
  return { lastStableOffset, highWatermark, aborted: abortedTransactions?.length ?? 0 };
}
