// Fetch (key 1).

import { array, int8, int16, int32, int64, records, string, struct, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const FetchRequest = message(
  'FetchRequest',
  { versions: [4, 18], flexible: 12 },
  {
    clusterId: string({ versions: '12+', nullable: '0+', default: null, tag: 0, ignorable: true }),
    replicaId: int32({ versions: '0-14', default: -1 }),
    replicaState: struct(
      { replicaId: int32({ default: -1 }), replicaEpoch: int64({ default: -1 }) },
      { versions: '15+', tag: 1 },
    ),
    maxWaitMs: int32(),
    minBytes: int32(),
    maxBytes: int32({ default: 0x7fffffff }),
    /** 0 = read uncommitted, 1 = read committed. */
    isolationLevel: int8({ default: 0 }),
    /** Fetch sessions are KIP-227: id 0 with epoch 0 opens one, epoch −1 asks for none. */
    sessionId: int32({ versions: '7+', default: 0, ignorable: true }),
    sessionEpoch: int32({ versions: '7+', default: -1, ignorable: true }),
    topics: array({
      topic: string({ versions: '0-12', ignorable: true }),
      topicId: uuid({ versions: '13+', ignorable: true }),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32({ versions: '9+', default: -1, ignorable: true }),
        fetchOffset: int64(),
        lastFetchedEpoch: int32({ versions: '12+', default: -1 }),
        logStartOffset: int64({ versions: '5+', default: -1, ignorable: true }),
        partitionMaxBytes: int32(),
        replicaDirectoryId: uuid({ versions: '17+', tag: 0, ignorable: true }),
        /** 2^63 stands for Long.MAX_VALUE. */
        highWatermark: int64({ versions: '18+', default: 2 ** 63, tag: 1, ignorable: true }),
      }),
    }),
    forgottenTopicsData: array(
      {
        topic: string({ versions: '7-12', ignorable: true }),
        topicId: uuid({ versions: '13+', ignorable: true }),
        partitions: array(int32()),
      },
      { versions: '7+' },
    ),
    rackId: string({ versions: '11+', default: '', ignorable: true }),
  },
);
export type FetchRequest = MessageValue<typeof FetchRequest>;

export const FetchResponse = message(
  'FetchResponse',
  { versions: [4, 18], flexible: 12 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ versions: '7+', ignorable: true }),
    sessionId: int32({ versions: '7+', default: 0 }),
    responses: array({
      topic: string({ versions: '0-12', ignorable: true }),
      topicId: uuid({ versions: '13+', ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        highWatermark: int64(),
        lastStableOffset: int64({ default: -1 }),
        logStartOffset: int64({ versions: '5+', default: -1, ignorable: true }),
        divergingEpoch: struct(
          { epoch: int32({ default: -1 }), endOffset: int64({ default: -1 }) },
          { versions: '12+', tag: 0 },
        ),
        currentLeader: struct(
          { leaderId: int32({ default: -1 }), leaderEpoch: int32({ default: -1 }) },
          { versions: '12+', tag: 1 },
        ),
        snapshotId: struct(
          { endOffset: int64({ default: -1 }), epoch: int32({ default: -1 }) },
          { versions: '12+', tag: 2 },
        ),
        /** null with read uncommitted. */
        abortedTransactions: array({ producerId: int64(), firstOffset: int64() }, { nullable: '0+' }),
        preferredReadReplica: int32({ versions: '11+', default: -1 }),
        records: records({ nullable: '0+' }),
      }),
    }),
    nodeEndpoints: array(
      { nodeId: int32(), host: string(), port: int32(), rack: string({ nullable: '0+', default: null }) },
      { versions: '16+', tag: 0 },
    ),
  },
);
export type FetchResponse = MessageInput<typeof FetchResponse>;
