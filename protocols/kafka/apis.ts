// Every API that is served, in the order of keys. ApiVersions, dispatch and the README's table read this list.

import type { Api } from './api.ts';
import { addOffsetsToTxn } from './handlers/add-offsets-to-txn.ts';
import { addPartitionsToTxn } from './handlers/add-partitions-to-txn.ts';
import { alterConfigs } from './handlers/alter-configs.ts';
import { alterPartitionReassignments } from './handlers/alter-partition-reassignments.ts';
import { apiVersions } from './handlers/api-versions.ts';
import { consumerGroupDescribe } from './handlers/consumer-group-describe.ts';
import { consumerGroupHeartbeat } from './handlers/consumer-group-heartbeat.ts';
import { createPartitions } from './handlers/create-partitions.ts';
import { createTopics } from './handlers/create-topics.ts';
import { deleteGroups } from './handlers/delete-groups.ts';
import { deleteRecords } from './handlers/delete-records.ts';
import { deleteTopics } from './handlers/delete-topics.ts';
import { describeCluster } from './handlers/describe-cluster.ts';
import { describeConfigs } from './handlers/describe-configs.ts';
import { describeGroups } from './handlers/describe-groups.ts';
import { describeLogDirs } from './handlers/describe-log-dirs.ts';
import { describeProducers } from './handlers/describe-producers.ts';
import { describeTopicPartitions } from './handlers/describe-topic-partitions.ts';
import { describeTransactions } from './handlers/describe-transactions.ts';
import { electLeaders } from './handlers/elect-leaders.ts';
import { endTxn } from './handlers/end-txn.ts';
import { fetch } from './handlers/fetch.ts';
import { findCoordinator } from './handlers/find-coordinator.ts';
import { heartbeat } from './handlers/heartbeat.ts';
import { incrementalAlterConfigs } from './handlers/incremental-alter-configs.ts';
import { initProducerId } from './handlers/init-producer-id.ts';
import { joinGroup } from './handlers/join-group.ts';
import { leaveGroup } from './handlers/leave-group.ts';
import { listConfigResources } from './handlers/list-config-resources.ts';
import { listGroups } from './handlers/list-groups.ts';
import { listOffsets } from './handlers/list-offsets.ts';
import { listPartitionReassignments } from './handlers/list-partition-reassignments.ts';
import { listTransactions } from './handlers/list-transactions.ts';
import { metadata } from './handlers/metadata.ts';
import { offsetCommit } from './handlers/offset-commit.ts';
import { offsetDelete } from './handlers/offset-delete.ts';
import { offsetFetch } from './handlers/offset-fetch.ts';
import { offsetForLeaderEpoch } from './handlers/offset-for-leader-epoch.ts';
import { produce } from './handlers/produce.ts';
import { legacyProduce } from './handlers/produce-legacy.ts';
import { syncGroup } from './handlers/sync-group.ts';
import { txnOffsetCommit } from './handlers/txn-offset-commit.ts';
import { writeTxnMarkers } from './handlers/write-txn-markers.ts';

export const APIS: readonly Api[] = [
  legacyProduce,
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  addPartitionsToTxn,
  addOffsetsToTxn,
  endTxn,
  writeTxnMarkers,
  txnOffsetCommit,
  describeConfigs,
  alterConfigs,
  describeLogDirs,
  createPartitions,
  deleteGroups,
  electLeaders,
  incrementalAlterConfigs,
  alterPartitionReassignments,
  listPartitionReassignments,
  offsetDelete,
  describeCluster,
  describeProducers,
  describeTransactions,
  listTransactions,
  consumerGroupHeartbeat,
  consumerGroupDescribe,
  listConfigResources,
  describeTopicPartitions,
];
