// The messages of every API under its name, and requests about one partition in a line.

import * as addOffsetsToTxn from '../../../protocols/kafka/messages/add-offsets-to-txn.ts';
import * as addPartitionsToTxn from '../../../protocols/kafka/messages/add-partitions-to-txn.ts';
import * as alterConfigs from '../../../protocols/kafka/messages/alter-configs.ts';
import * as alterPartitionReassignments from '../../../protocols/kafka/messages/alter-partition-reassignments.ts';
import * as apiVersions from '../../../protocols/kafka/messages/api-versions.ts';
import * as consumerGroupDescribe from '../../../protocols/kafka/messages/consumer-group-describe.ts';
import * as consumerGroupHeartbeat from '../../../protocols/kafka/messages/consumer-group-heartbeat.ts';
import * as createPartitions from '../../../protocols/kafka/messages/create-partitions.ts';
import * as createTopics from '../../../protocols/kafka/messages/create-topics.ts';
import * as deleteGroups from '../../../protocols/kafka/messages/delete-groups.ts';
import * as deleteRecords from '../../../protocols/kafka/messages/delete-records.ts';
import * as deleteTopics from '../../../protocols/kafka/messages/delete-topics.ts';
import * as describeCluster from '../../../protocols/kafka/messages/describe-cluster.ts';
import * as describeConfigs from '../../../protocols/kafka/messages/describe-configs.ts';
import * as describeGroups from '../../../protocols/kafka/messages/describe-groups.ts';
import * as describeLogDirs from '../../../protocols/kafka/messages/describe-log-dirs.ts';
import * as describeProducers from '../../../protocols/kafka/messages/describe-producers.ts';
import * as describeTopicPartitions from '../../../protocols/kafka/messages/describe-topic-partitions.ts';
import * as describeTransactions from '../../../protocols/kafka/messages/describe-transactions.ts';
import * as electLeaders from '../../../protocols/kafka/messages/elect-leaders.ts';
import * as endTxn from '../../../protocols/kafka/messages/end-txn.ts';
import * as fetch from '../../../protocols/kafka/messages/fetch.ts';
import * as findCoordinator from '../../../protocols/kafka/messages/find-coordinator.ts';
import * as heartbeat from '../../../protocols/kafka/messages/heartbeat.ts';
import * as incrementalAlterConfigs from '../../../protocols/kafka/messages/incremental-alter-configs.ts';
import * as initProducerId from '../../../protocols/kafka/messages/init-producer-id.ts';
import * as joinGroup from '../../../protocols/kafka/messages/join-group.ts';
import * as leaveGroup from '../../../protocols/kafka/messages/leave-group.ts';
import * as listConfigResources from '../../../protocols/kafka/messages/list-config-resources.ts';
import * as listGroups from '../../../protocols/kafka/messages/list-groups.ts';
import * as listOffsets from '../../../protocols/kafka/messages/list-offsets.ts';
import * as listPartitionReassignments from '../../../protocols/kafka/messages/list-partition-reassignments.ts';
import * as listTransactions from '../../../protocols/kafka/messages/list-transactions.ts';
import * as metadata from '../../../protocols/kafka/messages/metadata.ts';
import * as offsetCommit from '../../../protocols/kafka/messages/offset-commit.ts';
import * as offsetDelete from '../../../protocols/kafka/messages/offset-delete.ts';
import * as offsetFetch from '../../../protocols/kafka/messages/offset-fetch.ts';
import * as offsetForLeaderEpoch from '../../../protocols/kafka/messages/offset-for-leader-epoch.ts';
import * as produce from '../../../protocols/kafka/messages/produce.ts';
import * as syncGroup from '../../../protocols/kafka/messages/sync-group.ts';
import * as txnOffsetCommit from '../../../protocols/kafka/messages/txn-offset-commit.ts';
import * as writeTxnMarkers from '../../../protocols/kafka/messages/write-txn-markers.ts';
import { array, int16, int32, int64, records, string } from '../../../protocols/kafka/wire/fields.ts';
import { message } from '../../../protocols/kafka/wire/message.ts';

export const api = {
  addOffsetsToTxn: {
    key: 25,
    request: addOffsetsToTxn.AddOffsetsToTxnRequest,
    response: addOffsetsToTxn.AddOffsetsToTxnResponse,
  },
  addPartitionsToTxn: {
    key: 24,
    request: addPartitionsToTxn.AddPartitionsToTxnRequest,
    response: addPartitionsToTxn.AddPartitionsToTxnResponse,
  },
  describeTransactions: {
    key: 65,
    request: describeTransactions.DescribeTransactionsRequest,
    response: describeTransactions.DescribeTransactionsResponse,
  },
  endTxn: { key: 26, request: endTxn.EndTxnRequest, response: endTxn.EndTxnResponse },
  listTransactions: {
    key: 66,
    request: listTransactions.ListTransactionsRequest,
    response: listTransactions.ListTransactionsResponse,
  },
  txnOffsetCommit: {
    key: 28,
    request: txnOffsetCommit.TxnOffsetCommitRequest,
    response: txnOffsetCommit.TxnOffsetCommitResponse,
  },
  writeTxnMarkers: {
    key: 27,
    request: writeTxnMarkers.WriteTxnMarkersRequest,
    response: writeTxnMarkers.WriteTxnMarkersResponse,
  },
  offsetForLeaderEpoch: {
    key: 23,
    request: offsetForLeaderEpoch.OffsetForLeaderEpochRequest,
    response: offsetForLeaderEpoch.OffsetForLeaderEpochResponse,
  },
  listPartitionReassignments: {
    key: 46,
    request: listPartitionReassignments.ListPartitionReassignmentsRequest,
    response: listPartitionReassignments.ListPartitionReassignmentsResponse,
  },
  listConfigResources: {
    key: 74,
    request: listConfigResources.ListConfigResourcesRequest,
    response: listConfigResources.ListConfigResourcesResponse,
  },
  incrementalAlterConfigs: {
    key: 44,
    request: incrementalAlterConfigs.IncrementalAlterConfigsRequest,
    response: incrementalAlterConfigs.IncrementalAlterConfigsResponse,
  },
  electLeaders: {
    key: 43,
    request: electLeaders.ElectLeadersRequest,
    response: electLeaders.ElectLeadersResponse,
  },
  describeTopicPartitions: {
    key: 75,
    request: describeTopicPartitions.DescribeTopicPartitionsRequest,
    response: describeTopicPartitions.DescribeTopicPartitionsResponse,
  },
  describeProducers: {
    key: 61,
    request: describeProducers.DescribeProducersRequest,
    response: describeProducers.DescribeProducersResponse,
  },
  describeLogDirs: {
    key: 35,
    request: describeLogDirs.DescribeLogDirsRequest,
    response: describeLogDirs.DescribeLogDirsResponse,
  },
  describeConfigs: {
    key: 32,
    request: describeConfigs.DescribeConfigsRequest,
    response: describeConfigs.DescribeConfigsResponse,
  },
  createPartitions: {
    key: 37,
    request: createPartitions.CreatePartitionsRequest,
    response: createPartitions.CreatePartitionsResponse,
  },
  alterPartitionReassignments: {
    key: 45,
    request: alterPartitionReassignments.AlterPartitionReassignmentsRequest,
    response: alterPartitionReassignments.AlterPartitionReassignmentsResponse,
  },
  alterConfigs: {
    key: 33,
    request: alterConfigs.AlterConfigsRequest,
    response: alterConfigs.AlterConfigsResponse,
  },
  produce: { key: 0, request: produce.ProduceRequest, response: produce.ProduceResponse },
  legacyProduce: {
    key: 0,
    request: message(
      'ProduceRequest',
      { versions: [0, 2] },
      {
        acks: int16(),
        timeoutMs: int32(),
        topicData: array({ name: string(), partitionData: array({ index: int32(), records: records() }) }),
      },
    ),
    response: message(
      'ProduceResponse',
      { versions: [0, 2] },
      {
        responses: array({
          name: string(),
          partitionResponses: array({
            index: int32(),
            errorCode: int16(),
            baseOffset: int64(),
            logAppendTimeMs: int64({ versions: '2' }),
          }),
        }),
        throttleTimeMs: int32({ versions: '1+' }),
      },
    ),
  },
  fetch: { key: 1, request: fetch.FetchRequest, response: fetch.FetchResponse },
  listOffsets: { key: 2, request: listOffsets.ListOffsetsRequest, response: listOffsets.ListOffsetsResponse },
  metadata: { key: 3, request: metadata.MetadataRequest, response: metadata.MetadataResponse },
  offsetCommit: {
    key: 8,
    request: offsetCommit.OffsetCommitRequest,
    response: offsetCommit.OffsetCommitResponse,
  },
  offsetFetch: { key: 9, request: offsetFetch.OffsetFetchRequest, response: offsetFetch.OffsetFetchResponse },
  findCoordinator: {
    key: 10,
    request: findCoordinator.FindCoordinatorRequest,
    response: findCoordinator.FindCoordinatorResponse,
  },
  joinGroup: { key: 11, request: joinGroup.JoinGroupRequest, response: joinGroup.JoinGroupResponse },
  heartbeat: { key: 12, request: heartbeat.HeartbeatRequest, response: heartbeat.HeartbeatResponse },
  leaveGroup: { key: 13, request: leaveGroup.LeaveGroupRequest, response: leaveGroup.LeaveGroupResponse },
  syncGroup: { key: 14, request: syncGroup.SyncGroupRequest, response: syncGroup.SyncGroupResponse },
  deleteRecords: {
    key: 21,
    request: deleteRecords.DeleteRecordsRequest,
    response: deleteRecords.DeleteRecordsResponse,
  },
  apiVersions: {
    key: 18,
    request: apiVersions.ApiVersionsRequest,
    response: apiVersions.ApiVersionsResponse,
  },
  createTopics: {
    key: 19,
    request: createTopics.CreateTopicsRequest,
    response: createTopics.CreateTopicsResponse,
  },
  deleteTopics: {
    key: 20,
    request: deleteTopics.DeleteTopicsRequest,
    response: deleteTopics.DeleteTopicsResponse,
  },
  initProducerId: {
    key: 22,
    request: initProducerId.InitProducerIdRequest,
    response: initProducerId.InitProducerIdResponse,
  },
  deleteGroups: {
    key: 42,
    request: deleteGroups.DeleteGroupsRequest,
    response: deleteGroups.DeleteGroupsResponse,
  },
  describeGroups: {
    key: 15,
    request: describeGroups.DescribeGroupsRequest,
    response: describeGroups.DescribeGroupsResponse,
  },
  listGroups: { key: 16, request: listGroups.ListGroupsRequest, response: listGroups.ListGroupsResponse },
  offsetDelete: {
    key: 47,
    request: offsetDelete.OffsetDeleteRequest,
    response: offsetDelete.OffsetDeleteResponse,
  },
  consumerGroupHeartbeat: {
    key: 68,
    request: consumerGroupHeartbeat.ConsumerGroupHeartbeatRequest,
    response: consumerGroupHeartbeat.ConsumerGroupHeartbeatResponse,
  },
  consumerGroupDescribe: {
    key: 69,
    request: consumerGroupDescribe.ConsumerGroupDescribeRequest,
    response: consumerGroupDescribe.ConsumerGroupDescribeResponse,
  },
  describeCluster: {
    key: 60,
    request: describeCluster.DescribeClusterRequest,
    response: describeCluster.DescribeClusterResponse,
  },
};

/** No names = an empty list. */
export function metadataOf(...names: string[]) {
  return { topics: names.map((name) => ({ name })) };
}

export function produceOf(
  topic: string,
  batch: Buffer | null,
  options: { acks?: number; partition?: number } = {},
) {
  const { acks = -1, partition = 0 } = options;
  return {
    ...{ acks, timeoutMs: 10_000 },
    topicData: [{ name: topic, partitionData: [{ index: partition, records: batch }] }],
  };
}

export interface FetchOptions {
  readonly partition?: number;
  readonly maxWaitMs?: number;
  readonly minBytes?: number;
  readonly maxBytes?: number;
  readonly partitionMaxBytes?: number;
  readonly currentLeaderEpoch?: number;
  readonly isolationLevel?: number;
}

export function fetchOf(topic: string, fetchOffset: number, options: FetchOptions = {}) {
  const {
    partition = 0,
    maxWaitMs = 0,
    minBytes = 1,
    maxBytes = 1 << 26,
    partitionMaxBytes = 1 << 26,
  } = options;
  const { currentLeaderEpoch = -1, isolationLevel = 0 } = options;
  const partitions = [{ partition, fetchOffset, partitionMaxBytes, currentLeaderEpoch }];
  return { maxWaitMs, minBytes, maxBytes, isolationLevel, topics: [{ topic, partitions }] };
}

export function offsetsOf(
  topic: string,
  timestamp: number,
  options: { partition?: number; isolationLevel?: number } = {},
) {
  const { partition = 0, isolationLevel = 0 } = options;
  const partitions = [{ partitionIndex: partition, timestamp }];
  return { replicaId: -1, isolationLevel, topics: [{ name: topic, partitions }] };
}
