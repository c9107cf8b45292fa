// AddPartitionsToTxn (key 24), versions 0–5. Up to 3 a producer says where it is going to write in its transaction: all
// partitions or none, and where one is at fault the others are told that nothing was tried (55). From 4 on (KIP-890) it is
// for brokers: several transactions at once, each with `verifyOnly` to ask and add nothing; whoever asks so needs the right
// to alter the cluster.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { AddPartitionsToTxnRequest, AddPartitionsToTxnResponse } from '../messages/add-partitions-to-txn.ts';
import { clientFenceCode } from '../transactions/fence-codes.ts';
import type { ProducerClaim, TopicPartition } from '../transactions/transaction.ts';

const FENCED_VERSION_MIN = 2;
const BATCHED_VERSION_MIN = 4;

type Topics = AddPartitionsToTxnRequest['v3AndBelowTopics'];
type Transaction = AddPartitionsToTxnRequest['transactions'][number];
type TopicResult = NonNullable<AddPartitionsToTxnResponse['resultsByTopicV3AndBelow']>[number];

export const addPartitionsToTxn = defineApi({
  key: 24,
  name: 'AddPartitionsToTxn',
  min: 0,
  max: 5,
  request: AddPartitionsToTxnRequest,
  response: AddPartitionsToTxnResponse,
  handle: handleAddPartitionsToTxn,
});

async function handleAddPartitionsToTxn(
  request: AddPartitionsToTxnRequest,
  call: Call,
): Promise<AddPartitionsToTxnResponse> {
  if (call.version < BATCHED_VERSION_MIN) {
    const claim = {
      transactionalId: request.v3AndBelowTransactionalId,
      producerId: request.v3AndBelowProducerId,
      producerEpoch: request.v3AndBelowProducerEpoch,
    };
    return { resultsByTopicV3AndBelow: await addOf(call, claim, request.v3AndBelowTopics) };
  }
  if (!allows(call, 'alter', 'cluster', call.kafka.hub.cluster.clusterId))
    return { errorCode: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, resultsByTransaction: [] };
  const resultsByTransaction = await Promise.all(
    request.transactions.map(async (transaction) => ({
      transactionalId: transaction.transactionalId,
      topicResults: await resultsOf(call, transaction),
    })),
  );
  return { errorCode: ERROR_CODES.NONE, resultsByTransaction };
}

async function resultsOf(call: Call, transaction: Transaction): Promise<TopicResult[]> {
  const { topics, verifyOnly } = transaction;
  if (!verifyOnly) return addOf(call, transaction, topics);
  const places = placesOf(topics);
  const codes = await call.kafka.transactions.verify(transaction, places);
  return resultsFrom(topics, (index) => codes[index] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR);
}

async function addOf(call: Call, claim: ProducerClaim, topics: Topics): Promise<TopicResult[]> {
  if (!allows(call, 'write', 'transactional-id', claim.transactionalId))
    return resultsFrom(topics, () => ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  const places = placesOf(topics);
  const faults = places.map((place) => placeFault(call, place));
  if (faults.some((fault) => fault !== ERROR_CODES.NONE))
    return resultsFrom(topics, (index) => {
      const fault = faults[index] ?? ERROR_CODES.NONE;
      return fault === ERROR_CODES.NONE ? ERROR_CODES.OPERATION_NOT_ATTEMPTED : fault;
    });
  const { transactionalId, producerId, producerEpoch } = claim;
  const code = await call.kafka.transactions.add({ transactionalId, producerId, producerEpoch }, places, 0);
  return resultsFrom(topics, () => clientFenceCode(code, call.version, FENCED_VERSION_MIN));
}

function placeFault(call: Call, { topic, partition }: TopicPartition): ErrorCode {
  const view = call.kafka.hub.topics.get(topic);
  if (view?.internal === true || !allows(call, 'write', 'topic', topic))
    return ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  return view?.partitions[partition] === undefined
    ? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION
    : ERROR_CODES.NONE;
}

function placesOf(topics: Topics): TopicPartition[] {
  return topics.flatMap(({ name, partitions }) =>
    partitions.map((partition) => ({ topic: name, partition })),
  );
}

/** @param codeOf of a place, by its index among all of them */
function resultsFrom(topics: Topics, codeOf: (index: number) => ErrorCode): TopicResult[] {
  let next = 0;
  return topics.map(({ name, partitions }) => ({
    name,
    resultsByPartition: partitions.map((partitionIndex) => ({
      partitionIndex,
      partitionErrorCode: codeOf(next++),
    })),
  }));
}
