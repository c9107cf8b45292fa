// What is written to `__consumer_offsets`, in Kafka's own formats, so that its tools read our topic: a key is an
// int16 that names its kind, then its fields; a value is an int16 version, then its fields; null = gone.
//
//   key 1  group, topic, partition   value 4  offset, leader epoch, metadata, commit time; topic id (tag 0)
//   key 2  group                     value 3  protocol type, generation, protocol, leader, time, members
//
// Offsets of a transaction that has not ended have a key of our own: Kafka keeps them under key 1 in transactional batches.
//
//   key 1000  group, producer id, topic, partition   value as of key 1; producer epoch (tag 10000), coordinator epoch (10001)
//
// A value of key 1 that came by a transaction says under tag 10002 where it was committed, which is before it counted: of two
// commits the later one counts. Kafka's readers pass over the tags.
//
// Values of versions 0–4 are read. A record of another kind or that does not decode is nobody's: `undefined`.

import type { StateRecord } from '../../port.ts';
import { array, bytes, int16, int32, int64, string, uuid } from '../wire/fields.ts';
import { message } from '../wire/message.ts';
import { decodeStored, encodeStored } from '../wire/stored-message.ts';
import type { GroupRecord } from './effects.ts';

const OFFSET_KEY = 1;
const OFFSET_KEY_OLD = 0;
const GROUP_KEY = 2;
const PENDING_OFFSET_KEY = 1_000;
const NO_EPOCH = -1;
const OFFSET_VALUE_VERSION = 4;
const GROUP_VALUE_VERSION = 3;

const OffsetKey = message(
  'OffsetCommitKey',
  { versions: [0, 1] },
  { group: string(), topic: string(), partition: int32() },
);

const PendingOffsetKey = message(
  'PendingOffsetKey',
  { versions: [PENDING_OFFSET_KEY, PENDING_OFFSET_KEY] },
  { group: string(), producerId: int64(), topic: string(), partition: int32() },
);

const OffsetValue = message(
  'OffsetCommitValue',
  { versions: [0, 4], flexible: 4 },
  {
    offset: int64(),
    leaderEpoch: int32({ versions: '3+', default: -1, ignorable: true }),
    metadata: string(),
    commitTimestamp: int64(),
    expireTimestamp: int64({ versions: '1', default: -1, ignorable: true }),
    topicId: uuid({ versions: '4+', tag: 0, ignorable: true }),
    producerEpoch: int16({ versions: '4+', tag: 10_000, default: NO_EPOCH, ignorable: true }),
    coordinatorEpoch: int32({ versions: '4+', tag: 10_001, default: NO_EPOCH, ignorable: true }),
    commitOffset: int64({ versions: '4+', tag: 10_002, default: -1, ignorable: true }),
  },
);

const GroupKey = message('GroupMetadataKey', { versions: [2, 2] }, { group: string() });

const GroupValue = message(
  'GroupMetadataValue',
  { versions: [0, 4], flexible: 4 },
  {
    protocolType: string(),
    generation: int32(),
    protocol: string({ nullable: '0+' }),
    leader: string({ nullable: '0+' }),
    currentStateTimestamp: int64({ versions: '2+', default: -1, ignorable: true }),
    members: array({
      memberId: string(),
      groupInstanceId: string({ versions: '3+', nullable: '3+', default: null, ignorable: true }),
      clientId: string(),
      clientHost: string(),
      rebalanceTimeout: int32({ versions: '1+', ignorable: true }),
      sessionTimeout: int32(),
      subscription: bytes(),
      assignment: bytes(),
    }),
  },
);

export interface CommittedOffset {
  readonly offset: number;
  readonly leaderEpoch: number;
  readonly metadata: string;
  readonly committedAtMs: number;
  /** Zero when the record does not say. */
  readonly topicId: string;
  /** Where it was committed: of two commits the later one counts. */
  readonly recordOffset: number;
}

export type OffsetToRecord = Omit<CommittedOffset, 'recordOffset'>;

/** Of a transaction, and what its end is held against; −1 = not known. */
export interface PendingOffset extends CommittedOffset {
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
}

export type PendingOffsetToRecord = Omit<PendingOffset, 'recordOffset'>;

/** Under tags of our own. */
interface OffsetTags {
  readonly producerEpoch?: number;
  readonly coordinatorEpoch?: number;
  readonly commitOffset?: number;
}

export interface OffsetKeyFields {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
}

export interface PendingOffsetKeyFields extends OffsetKeyFields {
  readonly producerId: number;
}

export type DecodedKey =
  | ({ readonly kind: 'offset' } & OffsetKeyFields)
  | ({ readonly kind: 'pending-offset' } & PendingOffsetKeyFields)
  | { readonly kind: 'group'; readonly groupId: string };

export function encodeOffset(key: OffsetKeyFields, committed: OffsetToRecord | null): StateRecord {
  const { groupId: group, topic, partition } = key;
  return {
    key: encodeStored(OFFSET_KEY, OffsetKey, { group, topic, partition }),
    value: committed === null ? null : encodeOffsetValue(committed, {}),
  };
}

/** An offset that counts from now on, as it was committed in a transaction. */
export function encodeOffsetOfTransaction(key: OffsetKeyFields, pending: CommittedOffset): StateRecord {
  const { key: encoded } = encodeOffset(key, null);
  return { key: encoded, value: encodeOffsetValue(pending, { commitOffset: pending.recordOffset }) };
}

export function encodePendingOffset(
  { groupId: group, producerId, topic, partition }: PendingOffsetKeyFields,
  pending: PendingOffsetToRecord | null,
): StateRecord {
  return {
    key: encodeStored(PENDING_OFFSET_KEY, PendingOffsetKey, { group, producerId, topic, partition }),
    value: pending === null ? null : encodeOffsetValue(pending, pending),
  };
}

function encodeOffsetValue(
  { offset, leaderEpoch, metadata, committedAtMs, topicId }: OffsetToRecord,
  { producerEpoch = NO_EPOCH, coordinatorEpoch = NO_EPOCH, commitOffset = -1 }: OffsetTags,
): Buffer {
  return encodeStored(OFFSET_VALUE_VERSION, OffsetValue, {
    ...{ offset, leaderEpoch, metadata, topicId, producerEpoch, coordinatorEpoch, commitOffset },
    commitTimestamp: committedAtMs,
  });
}

export function encodeGroup(groupId: string, record: GroupRecord | null): StateRecord {
  return {
    key: encodeStored(GROUP_KEY, GroupKey, { group: groupId }),
    value:
      record === null
        ? null
        : encodeStored(GROUP_VALUE_VERSION, GroupValue, {
            protocolType: record.protocolType ?? '',
            generation: record.generation,
            protocol: record.protocolName,
            leader: record.leaderId,
            currentStateTimestamp: record.stateSinceMs,
            members: record.members.map((member) => ({
              memberId: member.memberId,
              groupInstanceId: member.groupInstanceId,
              clientId: member.clientId,
              clientHost: member.clientHost,
              rebalanceTimeout: member.rebalanceTimeoutMs,
              sessionTimeout: member.sessionTimeoutMs,
              subscription: member.subscription,
              assignment: member.assignment,
            })),
          }),
  };
}

export function decodeKey(bytesOfKey: Buffer): DecodedKey | undefined {
  return decodeStored(bytesOfKey, (reader, kind) => {
    if (kind === OFFSET_KEY || kind === OFFSET_KEY_OLD) {
      const { group, topic, partition } = OffsetKey.read(reader, kind);
      return { kind: 'offset', groupId: group, topic, partition };
    }
    if (kind === PENDING_OFFSET_KEY) {
      const { group, producerId, topic, partition } = PendingOffsetKey.read(reader, kind);
      return { kind: 'pending-offset', groupId: group, producerId, topic, partition };
    }
    if (kind !== GROUP_KEY) return undefined;
    return { kind: 'group', groupId: GroupKey.read(reader, kind).group };
  });
}

/** @param recordOffset of the record in the state's log */
export function decodeOffset(bytesOfValue: Buffer, recordOffset: number): CommittedOffset | undefined {
  return decodeStored(bytesOfValue, (reader, version) => {
    const { offset, leaderEpoch, metadata, commitTimestamp, topicId, commitOffset } = OffsetValue.read(
      reader,
      version,
    );
    return {
      ...{ offset, leaderEpoch, metadata, committedAtMs: commitTimestamp, topicId },
      recordOffset: commitOffset < 0 ? recordOffset : commitOffset,
    };
  });
}

/** As of {@link decodeOffset}. */
export function decodePendingOffset(bytesOfValue: Buffer, recordOffset: number): PendingOffset | undefined {
  return decodeStored(bytesOfValue, (reader, version) => {
    const { offset, leaderEpoch, metadata, commitTimestamp, topicId, producerEpoch, coordinatorEpoch } =
      OffsetValue.read(reader, version);
    return {
      ...{ offset, leaderEpoch, metadata, committedAtMs: commitTimestamp, topicId, recordOffset },
      ...{ producerEpoch, coordinatorEpoch },
    };
  });
}

/** The slices of the record are copies: they outlive the log's buffer. */
export function decodeGroup(bytesOfValue: Buffer): GroupRecord | undefined {
  return decodeStored(bytesOfValue, (reader, version) => {
    const value = GroupValue.read(reader, version);
    return {
      protocolType: value.protocolType === '' ? null : value.protocolType,
      generation: value.generation,
      protocolName: value.protocol,
      leaderId: value.leader,
      stateSinceMs: value.currentStateTimestamp,
      members: value.members.map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        rebalanceTimeoutMs: version === 0 ? member.sessionTimeout : member.rebalanceTimeout,
        sessionTimeoutMs: member.sessionTimeout,
        subscription: Buffer.from(member.subscription),
        assignment: Buffer.from(member.assignment),
      })),
    };
  });
}
