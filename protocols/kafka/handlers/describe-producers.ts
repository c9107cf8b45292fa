// DescribeProducers (key 61), version 0 (KIP-664): the producers that a partition remembers. Each partition has its own
// result; to name one again is refused, for a few bytes would ask for as many producers as there are.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { DescribeProducersRequest, DescribeProducersResponse } from '../messages/describe-producers.ts';

type PartitionAnswer = DescribeProducersResponse['topics'][number]['partitions'][number];

export const describeProducers = defineApi({
  key: 61,
  name: 'DescribeProducers',
  min: 0,
  max: 0,
  request: DescribeProducersRequest,
  response: DescribeProducersResponse,
  handle: handleDescribeProducers,
});

function handleDescribeProducers(request: DescribeProducersRequest, call: Call): DescribeProducersResponse {
  const described = new Set<string>();
  const describeOnce = (name: string, index: number): PartitionAnswer => {
    const key = `${name}/${index}`;
    if (described.has(key)) return refused(index, ERROR_CODES.INVALID_REQUEST);
    described.add(key);
    return describePartition(call, name, index);
  };
  return {
    topics: request.topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((index) => describeOnce(name, index)),
    })),
  };
}

function describePartition(call: Call, topic: string, partitionIndex: number): PartitionAnswer {
  const { topics, cluster } = call.kafka.hub;
  if (!allows(call, 'read', 'topic', topic))
    return refused(partitionIndex, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  if (topics.illegalName(topic) !== undefined)
    return refused(partitionIndex, ERROR_CODES.INVALID_TOPIC_EXCEPTION);
  const partition = topics.partition(topic, partitionIndex);
  if (partition === undefined) return refused(partitionIndex, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  if (cluster.leaderOf(topic, partitionIndex) < 0)
    return refused(partitionIndex, ERROR_CODES.NOT_LEADER_OR_FOLLOWER);
  const activeProducers = partition.producers().map((producer) => ({
    producerId: producer.producerId,
    producerEpoch: producer.producerEpoch,
    lastSequence: producer.lastSequence,
    lastTimestamp: producer.lastTimestampMs,
    coordinatorEpoch: producer.coordinatorEpoch,
    currentTxnStartOffset: producer.transactionStartOffset,
  }));
  return { partitionIndex, errorCode: ERROR_CODES.NONE, activeProducers };
}

function refused(partitionIndex: number, errorCode: ErrorCode): PartitionAnswer {
  return { partitionIndex, errorCode, activeProducers: [] };
}
