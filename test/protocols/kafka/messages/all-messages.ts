// Every message that the codec knows, by name: what the golden vectors are matched with.

import {
  AddOffsetsToTxnRequest,
  AddOffsetsToTxnResponse,
} from '../../../../protocols/kafka/messages/add-offsets-to-txn.ts';
import {
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse,
} from '../../../../protocols/kafka/messages/add-partitions-to-txn.ts';
import {
  AlterConfigsRequest,
  AlterConfigsResponse,
} from '../../../../protocols/kafka/messages/alter-configs.ts';
import {
  AlterPartitionReassignmentsRequest,
  AlterPartitionReassignmentsResponse,
} from '../../../../protocols/kafka/messages/alter-partition-reassignments.ts';
import {
  ApiVersionsRequest,
  ApiVersionsResponse,
} from '../../../../protocols/kafka/messages/api-versions.ts';
import {
  ConsumerGroupDescribeRequest,
  ConsumerGroupDescribeResponse,
} from '../../../../protocols/kafka/messages/consumer-group-describe.ts';
import {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponse,
} from '../../../../protocols/kafka/messages/consumer-group-heartbeat.ts';
import {
  CreatePartitionsRequest,
  CreatePartitionsResponse,
} from '../../../../protocols/kafka/messages/create-partitions.ts';
import {
  CreateTopicsRequest,
  CreateTopicsResponse,
} from '../../../../protocols/kafka/messages/create-topics.ts';
import {
  DeleteGroupsRequest,
  DeleteGroupsResponse,
} from '../../../../protocols/kafka/messages/delete-groups.ts';
import {
  DeleteRecordsRequest,
  DeleteRecordsResponse,
} from '../../../../protocols/kafka/messages/delete-records.ts';
import {
  DeleteTopicsRequest,
  DeleteTopicsResponse,
} from '../../../../protocols/kafka/messages/delete-topics.ts';
import {
  DescribeClusterRequest,
  DescribeClusterResponse,
} from '../../../../protocols/kafka/messages/describe-cluster.ts';
import {
  DescribeConfigsRequest,
  DescribeConfigsResponse,
} from '../../../../protocols/kafka/messages/describe-configs.ts';
import {
  DescribeGroupsRequest,
  DescribeGroupsResponse,
} from '../../../../protocols/kafka/messages/describe-groups.ts';
import {
  DescribeLogDirsRequest,
  DescribeLogDirsResponse,
} from '../../../../protocols/kafka/messages/describe-log-dirs.ts';
import {
  DescribeProducersRequest,
  DescribeProducersResponse,
} from '../../../../protocols/kafka/messages/describe-producers.ts';
import {
  DescribeTopicPartitionsRequest,
  DescribeTopicPartitionsResponse,
} from '../../../../protocols/kafka/messages/describe-topic-partitions.ts';
import {
  DescribeTransactionsRequest,
  DescribeTransactionsResponse,
} from '../../../../protocols/kafka/messages/describe-transactions.ts';
import {
  ElectLeadersRequest,
  ElectLeadersResponse,
} from '../../../../protocols/kafka/messages/elect-leaders.ts';
import { EndTxnRequest, EndTxnResponse } from '../../../../protocols/kafka/messages/end-txn.ts';
import { FetchRequest, FetchResponse } from '../../../../protocols/kafka/messages/fetch.ts';
import {
  FindCoordinatorRequest,
  FindCoordinatorResponse,
} from '../../../../protocols/kafka/messages/find-coordinator.ts';
import { HeartbeatRequest, HeartbeatResponse } from '../../../../protocols/kafka/messages/heartbeat.ts';
import {
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse,
} from '../../../../protocols/kafka/messages/incremental-alter-configs.ts';
import {
  InitProducerIdRequest,
  InitProducerIdResponse,
} from '../../../../protocols/kafka/messages/init-producer-id.ts';
import { JoinGroupRequest, JoinGroupResponse } from '../../../../protocols/kafka/messages/join-group.ts';
import { LeaveGroupRequest, LeaveGroupResponse } from '../../../../protocols/kafka/messages/leave-group.ts';
import {
  ListConfigResourcesRequest,
  ListConfigResourcesResponse,
} from '../../../../protocols/kafka/messages/list-config-resources.ts';
import { ListGroupsRequest, ListGroupsResponse } from '../../../../protocols/kafka/messages/list-groups.ts';
import {
  ListOffsetsRequest,
  ListOffsetsResponse,
} from '../../../../protocols/kafka/messages/list-offsets.ts';
import {
  ListPartitionReassignmentsRequest,
  ListPartitionReassignmentsResponse,
} from '../../../../protocols/kafka/messages/list-partition-reassignments.ts';
import {
  ListTransactionsRequest,
  ListTransactionsResponse,
} from '../../../../protocols/kafka/messages/list-transactions.ts';
import { MetadataRequest, MetadataResponse } from '../../../../protocols/kafka/messages/metadata.ts';
import {
  OffsetCommitRequest,
  OffsetCommitResponse,
} from '../../../../protocols/kafka/messages/offset-commit.ts';
import {
  OffsetDeleteRequest,
  OffsetDeleteResponse,
} from '../../../../protocols/kafka/messages/offset-delete.ts';
import {
  OffsetFetchRequest,
  OffsetFetchResponse,
} from '../../../../protocols/kafka/messages/offset-fetch.ts';
import {
  OffsetForLeaderEpochRequest,
  OffsetForLeaderEpochResponse,
} from '../../../../protocols/kafka/messages/offset-for-leader-epoch.ts';
import { ProduceRequest, ProduceResponse } from '../../../../protocols/kafka/messages/produce.ts';
import { SyncGroupRequest, SyncGroupResponse } from '../../../../protocols/kafka/messages/sync-group.ts';
import {
  TxnOffsetCommitRequest,
  TxnOffsetCommitResponse,
} from '../../../../protocols/kafka/messages/txn-offset-commit.ts';
import {
  WriteTxnMarkersRequest,
  WriteTxnMarkersResponse,
} from '../../../../protocols/kafka/messages/write-txn-markers.ts';

export const ALL_MESSAGES = {
  AddOffsetsToTxnRequest,
  AddOffsetsToTxnResponse,
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse,
  AlterConfigsRequest,
  AlterConfigsResponse,
  AlterPartitionReassignmentsRequest,
  AlterPartitionReassignmentsResponse,
  ApiVersionsRequest,
  ApiVersionsResponse,
  ConsumerGroupDescribeRequest,
  ConsumerGroupDescribeResponse,
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponse,
  CreatePartitionsRequest,
  CreatePartitionsResponse,
  CreateTopicsRequest,
  CreateTopicsResponse,
  DeleteGroupsRequest,
  DeleteGroupsResponse,
  DeleteRecordsRequest,
  DeleteRecordsResponse,
  DeleteTopicsRequest,
  DeleteTopicsResponse,
  DescribeClusterRequest,
  DescribeClusterResponse,
  DescribeConfigsRequest,
  DescribeConfigsResponse,
  DescribeGroupsRequest,
  DescribeGroupsResponse,
  DescribeLogDirsRequest,
  DescribeLogDirsResponse,
  DescribeProducersRequest,
  DescribeProducersResponse,
  DescribeTopicPartitionsRequest,
  DescribeTopicPartitionsResponse,
  DescribeTransactionsRequest,
  DescribeTransactionsResponse,
  ElectLeadersRequest,
  ElectLeadersResponse,
  EndTxnRequest,
  EndTxnResponse,
  FetchRequest,
  FetchResponse,
  FindCoordinatorRequest,
  FindCoordinatorResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse,
  InitProducerIdRequest,
  InitProducerIdResponse,
  JoinGroupRequest,
  JoinGroupResponse,
  LeaveGroupRequest,
  LeaveGroupResponse,
  ListConfigResourcesRequest,
  ListConfigResourcesResponse,
  ListGroupsRequest,
  ListGroupsResponse,
  ListOffsetsRequest,
  ListOffsetsResponse,
  ListPartitionReassignmentsRequest,
  ListPartitionReassignmentsResponse,
  ListTransactionsRequest,
  ListTransactionsResponse,
  MetadataRequest,
  MetadataResponse,
  OffsetCommitRequest,
  OffsetCommitResponse,
  OffsetDeleteRequest,
  OffsetDeleteResponse,
  OffsetFetchRequest,
  OffsetFetchResponse,
  OffsetForLeaderEpochRequest,
  OffsetForLeaderEpochResponse,
  ProduceRequest,
  ProduceResponse,
  SyncGroupRequest,
  SyncGroupResponse,
  TxnOffsetCommitRequest,
  TxnOffsetCommitResponse,
  WriteTxnMarkersRequest,
  WriteTxnMarkersResponse,
};
