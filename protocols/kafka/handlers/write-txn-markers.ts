// WriteTxnMarkers (key 27), version 1: ends a producer's transaction in partitions. Coordinators of other brokers ask so, and
// administrators with Apache's `transactions` tool, for a transaction that no coordinator knows (KIP-664). Whoever asks needs
// the right to alter the cluster. Where no access rules are set everybody has it, as with Apache: what protects the log
// then are the epochs: a marker of an earlier coordinator (52) or of a fenced producer (47) is not written.
// Left out: version 2, whose markers say of which kind of client a transaction is.

import type { TransactionEnd } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { APPEND_ERROR_CODES, ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { WriteTxnMarkersRequest, WriteTxnMarkersResponse } from '../messages/write-txn-markers.ts';

type Marker = WriteTxnMarkersRequest['markers'][number];
type MarkerResult = WriteTxnMarkersResponse['markers'][number];

export const writeTxnMarkers = defineApi({
  key: 27,
  name: 'WriteTxnMarkers',
  min: 1,
  max: 1,
  request: WriteTxnMarkersRequest,
  response: WriteTxnMarkersResponse,
  handle: handleWriteTxnMarkers,
});

async function handleWriteTxnMarkers(
  request: WriteTxnMarkersRequest,
  call: Call,
): Promise<WriteTxnMarkersResponse> {
  const isAllowed = allows(call, 'alter', 'cluster', call.kafka.hub.cluster.clusterId);
  const markers: MarkerResult[] = [];
  // One after another: two of them may be of one producer.
  for (const marker of request.markers) markers.push(await writeMarker(call, marker, isAllowed));
  return { markers };
}

async function writeMarker(call: Call, marker: Marker, isAllowed: boolean): Promise<MarkerResult> {
  const topics = marker.topics.map(async ({ name, partitionIndexes }) => ({
    name,
    partitions: await Promise.all(
      partitionIndexes.map(async (partitionIndex) => ({
        partitionIndex,
        errorCode: isAllowed
          ? await writeOne(call, marker, name, partitionIndex)
          : ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED,
      })),
    ),
  }));
  return { producerId: marker.producerId, topics: await Promise.all(topics) };
}

async function writeOne(call: Call, marker: Marker, topic: string, index: number): Promise<ErrorCode> {
  const { hub, transactionalOffsets } = call.kafka;
  const { producerId, producerEpoch, coordinatorEpoch } = marker;
  if (producerId < 0 || producerEpoch < 0) return ERROR_CODES.INVALID_REQUEST;
  const outcome = marker.transactionResult ? 'commit' : 'abort';
  const end: TransactionEnd = { producerId, producerEpoch, outcome, coordinatorEpoch };
  const partition = hub.topics.partition(topic, index);
  if (partition === undefined) return ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
  if (topic === transactionalOffsets.topic) return transactionalOffsets.endTransaction(index, end);
  const { refused } = await partition.endTransaction(end);
  return refused === undefined ? ERROR_CODES.NONE : APPEND_ERROR_CODES[refused];
}
