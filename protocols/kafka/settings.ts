// What a Kafka front end can be told, each with its default. Sizes are bytes, times milliseconds.

import type { FetchSessionLimits } from './fetch-sessions.ts';
import type { CoordinatorSettings } from './groups/coordinator.ts';
import type { OffsetSettings } from './groups/offsets.ts';
import type { PendingOffsetLimits } from './groups/transactional-offsets.ts';
import type { TransactionSettings } from './transactions/coordinator.ts';

export interface KafkaOptions {
  /** Longest request; a longer one closes its connection before anything is buffered. */
  readonly requestBytesMax?: number;
  /** Requests of one connection that are taken and not answered; beyond it the socket is not read. */
  readonly unansweredRequestsMax?: number;
  /** Answers of one connection that its peer has not read; beyond it no further request is taken. */
  readonly writeBacklogBytesMax?: number;
  /** Requests that have not come whole and answers that are not read, of all connections together. */
  readonly connectionBytesTotalMax?: number;
  /** Connections of one address, of all listeners; 0 = any number. */
  readonly connectionsPerAddressMax?: number;
  /** Records of one connection that are appended and not acknowledged; beyond it no further request is taken. */
  readonly heldBytesMax?: number;
  /** A connection without traffic and without a request under way is closed after this; 0 = never. */
  readonly idleTimeoutMs?: number;
  /** Record data in one Fetch answer, whatever the client asks for; the first batch may be larger. */
  readonly fetchBytesMax?: number;
  /** Longest that a Fetch may wait. */
  readonly fetchMaxWaitMs?: number;
  /** Fetch sessions that are kept; clients without one send full requests. */
  readonly fetchSessionsMax?: number;
  /** Memory that fetch sessions may take together. */
  readonly fetchSessionBytesMax?: number;
  /** Of both, what clients of one address may take; 0 to 1. */
  readonly fetchSessionClientShare?: number;
  /** Records of one batch after decompression. */
  readonly decompressedBytesMax?: number;
  readonly groupMinSessionTimeoutMs?: number;
  readonly groupMaxSessionTimeoutMs?: number;
  /** How long a new group waits for more members. */
  readonly groupInitialRebalanceDelayMs?: number;
  /** Groups of this node. */
  readonly groupsMax?: number;
  /** Groups that clients of one address may make. */
  readonly groupsPerClientMax?: number;
  /** Of members of the consumer protocol (KIP-848), for which the server sets it: without a heartbeat they are out. */
  readonly groupConsumerSessionTimeoutMs?: number;
  /** How often they are told to send one. */
  readonly groupConsumerHeartbeatIntervalMs?: number;
  /** Members of one group, those given an id and not joined yet included. */
  readonly groupMembersMax?: number;
  /** Longest text that may be kept with an offset. */
  readonly offsetMetadataBytesMax?: number;
  /** How long offsets outlive the last member of their group. */
  readonly offsetsRetentionMs?: number;
  /** Longest that a producer may ask its transactions to last. */
  readonly transactionTimeoutMaxMs?: number;
  /** A transactional id that has done nothing for so long is forgotten. */
  readonly transactionalIdExpirationMs?: number;
  /** How often transactions are looked for that have lasted too long. */
  readonly transactionAbortCheckMs?: number;
  /** Transactional ids of this node. */
  readonly transactionalIdsMax?: number;
  /** Transactional ids that clients of one address may make. */
  readonly transactionalIdsPerClientMax?: number;
  /** Partitions and groups of one transaction. */
  readonly transactionPartitionsMax?: number;
  /** Offsets of one transaction; of all that have not ended, twice as many of one group. */
  readonly transactionOffsetsMax?: number;
  /** How long a request waits for the end of the transaction before, until its client is told to come again. */
  readonly transactionWaitMs?: number;
}

export interface KafkaSettings {
  readonly requestBytesMax: number;
  readonly unansweredRequestsMax: number;
  readonly writeBacklogBytesMax: number;
  readonly connectionBytesTotalMax: number;
  readonly connectionsPerAddressMax: number;
  readonly heldBytesMax: number;
  readonly idleTimeoutMs: number;
  readonly fetchBytesMax: number;
  readonly fetchMaxWaitMs: number;
  readonly fetchSessions: FetchSessionLimits;
  readonly decompressedBytesMax: number;
  readonly groups: CoordinatorSettings;
  readonly offsets: OffsetSettings;
  readonly pendingOffsets: PendingOffsetLimits;
  readonly transactions: TransactionSettings;
}

/** Puts other values into settings that are in use: whoever reads a field when it matters sees them from now on. */
export function changeSettings(live: KafkaSettings, next: KafkaSettings): void {
  const { fetchSessions, groups, offsets, pendingOffsets, transactions, ...plain } = next;
  const { consumer, ...groupLimits } = groups;
  // Nobody else may write to them, which is what their types say; this is how they change.
  Object.assign(live, plain);
  Object.assign(live.fetchSessions, fetchSessions);
  Object.assign(live.groups, groupLimits);
  Object.assign(live.groups.consumer, consumer);
  Object.assign(live.offsets, offsets);
  Object.assign(live.pendingOffsets, pendingOffsets);
  Object.assign(live.transactions, transactions);
}

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export function kafkaSettings(options: KafkaOptions): KafkaSettings {
  return {
    requestBytesMax: options.requestBytesMax ?? 100 * MEBIBYTE,
    unansweredRequestsMax: options.unansweredRequestsMax ?? 256,
    writeBacklogBytesMax: options.writeBacklogBytesMax ?? 16 * MEBIBYTE,
    // One request of the largest size must have room beside others, and takes twice its size while it is gathered.
    connectionBytesTotalMax:
      options.connectionBytesTotalMax ?? Math.max(512 * MEBIBYTE, 4 * (options.requestBytesMax ?? 0)),
    connectionsPerAddressMax: options.connectionsPerAddressMax ?? 0,
    heldBytesMax: options.heldBytesMax ?? 64 * MEBIBYTE,
    idleTimeoutMs: options.idleTimeoutMs ?? 10 * MINUTE_MS,
    fetchBytesMax: options.fetchBytesMax ?? 16 * MEBIBYTE,
    fetchMaxWaitMs: options.fetchMaxWaitMs ?? 5 * MINUTE_MS,
    fetchSessions: {
      sessionsMax: options.fetchSessionsMax ?? 1_000,
      bytesMax: options.fetchSessionBytesMax ?? 64 * MEBIBYTE,
      clientShare: options.fetchSessionClientShare ?? 0.5,
      protectedMs: 2 * MINUTE_MS,
    },
    decompressedBytesMax: options.decompressedBytesMax ?? 64 * MEBIBYTE,
    groups: {
      minSessionTimeoutMs: options.groupMinSessionTimeoutMs ?? 6_000,
      maxSessionTimeoutMs: options.groupMaxSessionTimeoutMs ?? 30 * MINUTE_MS,
      initialRebalanceDelayMs: options.groupInitialRebalanceDelayMs ?? 3_000,
      membersMax: options.groupMembersMax ?? 1_000,
      groupsMax: options.groupsMax ?? 10_000,
      groupsPerClientMax: options.groupsPerClientMax ?? Math.ceil((options.groupsMax ?? 10_000) / 2),
      consumer: {
        sessionTimeoutMs: options.groupConsumerSessionTimeoutMs ?? 45_000,
        heartbeatIntervalMs: options.groupConsumerHeartbeatIntervalMs ?? 5_000,
        membersMax: options.groupMembersMax ?? 1_000,
      },
      memberBytesMax: 256 * KIBIBYTE,
      assignmentBytesMax: 4 * MEBIBYTE,
      heldBytesMax: 256 * MEBIBYTE,
    },
    offsets: {
      metadataBytesMax: options.offsetMetadataBytesMax ?? 4_096,
      heldBytesMax: 512 * MEBIBYTE,
      retentionMs: options.offsetsRetentionMs ?? 7 * DAY_MS,
      retentionCheckMs: 10 * MINUTE_MS,
    },
    pendingOffsets: {
      ofTransactionMax: options.transactionOffsetsMax ?? 100_000,
      ofGroupMax: 2 * (options.transactionOffsetsMax ?? 100_000),
    },
    transactions: {
      timeoutMaxMs: options.transactionTimeoutMaxMs ?? 15 * MINUTE_MS,
      idExpirationMs: options.transactionalIdExpirationMs ?? 7 * DAY_MS,
      abortCheckMs: options.transactionAbortCheckMs ?? 10_000,
      expirationCheckMs: 60 * MINUTE_MS,
      idsMax: options.transactionalIdsMax ?? 100_000,
      idsPerClientMax:
        options.transactionalIdsPerClientMax ?? Math.ceil((options.transactionalIdsMax ?? 100_000) / 2),
      partitionsMax: options.transactionPartitionsMax ?? 10_000,
      heldBytesMax: 256 * MEBIBYTE,
      concurrentWaitMs: options.transactionWaitMs ?? 500,
    },
  };
}
