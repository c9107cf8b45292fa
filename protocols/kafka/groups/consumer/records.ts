// The records of a consumer group in `__consumer_offsets`, in Kafka's own formats (4.4), all of value version 0:
//
//   key 3   group              epoch; hash of the subscribed topics (tag 0)
//   key 5   group, member      instance, rack, client, host, topics, expression, timeout, assignor; classic metadata (tag 0)
//   key 6   group              epoch of the target assignment; time (tag 0)
//   key 7   group, member      target: topic ids with partitions
//   key 8   group, member      epoch, previous epoch, state, assigned, pending revocation
//   key 16  group, expression  topics that it matches; version; time
//
// What does not decode is nobody's: `undefined`.

import type { StateRecord } from '../../../port.ts';
import { WireError } from '../../wire/errors.ts';
import { array, bytes, int8, int32, int64, string, struct, uuid } from '../../wire/fields.ts';
import { type Message, message } from '../../wire/message.ts';
import { WireReader } from '../../wire/reader.ts';
import type { Fields, StructInput, StructValue } from '../../wire/schema.ts';
import { WireWriter } from '../../wire/writer.ts';
import {
  type Assignment,
  type ConsumerRecord,
  type CurrentAssignment,
  type MemberState,
  type SinceEpochs,
  sinceEpochOf,
} from './consumer-group.ts';

const KEYS = { epoch: 3, member: 5, 'target-epoch': 6, target: 7, current: 8, regex: 16 } as const;
const VALUE_VERSION = 0;
const FLEXIBLE = { versions: [0, 0], flexible: 0 } as const;
const PLAIN = { versions: [0, 0] } as const;

const GroupKey = message('ConsumerGroupKey', PLAIN, { group: string() });
/** Of a member, or of an expression. */
const PartKey = message('ConsumerGroupPartKey', PLAIN, { group: string(), part: string() });

const EpochValue = message('ConsumerGroupMetadataValue', FLEXIBLE, {
  epoch: int32(),
  metadataHash: int64({ tag: 0, default: 0 }),
});

const MemberValue = message('ConsumerGroupMemberMetadataValue', FLEXIBLE, {
  instanceId: string({ nullable: '0+' }),
  rackId: string({ nullable: '0+' }),
  clientId: string(),
  clientHost: string(),
  subscribedTopicNames: array(string()),
  subscribedTopicRegex: string({ nullable: '0+' }),
  rebalanceTimeoutMs: int32({ default: -1 }),
  serverAssignor: string({ nullable: '0+' }),
  classicMemberMetadata: struct(
    { sessionTimeoutMs: int32(), supportedProtocols: array({ name: string(), metadata: bytes() }) },
    { nullable: '0+', default: null, tag: 0 },
  ),
});

const TargetEpochValue = message('ConsumerGroupTargetAssignmentMetadataValue', FLEXIBLE, {
  assignmentEpoch: int32(),
  assignmentTimestamp: int64({ tag: 0, default: 0 }),
});

const topicPartitions = { topicId: uuid(), partitions: array(int32()) };

const TargetValue = message('ConsumerGroupTargetAssignmentMemberValue', FLEXIBLE, {
  topicPartitions: array(topicPartitions),
});

const currentPartitions = {
  ...topicPartitions,
  /** One for each partition, or none at all; KIP-1251. */
  assignmentEpochs: array(int32(), { tag: 0, default: [] }),
};

const CurrentValue = message('ConsumerGroupCurrentMemberAssignmentValue', FLEXIBLE, {
  memberEpoch: int32(),
  previousMemberEpoch: int32(),
  state: int8(),
  assignedPartitions: array(currentPartitions),
  partitionsPendingRevocation: array(currentPartitions),
});

const RegexValue = message('ConsumerGroupRegularExpressionValue', FLEXIBLE, {
  topics: array(string()),
  version: int64(),
  timestamp: int64(),
});

const STATES: readonly MemberState[] = ['stable', 'unrevoked', 'unreleased'];

export function encodeConsumerRecord(group: string, record: ConsumerRecord): StateRecord {
  return { key: encodeKey(group, record), value: encodeValue(record) };
}

function encodeKey(group: string, record: ConsumerRecord): Buffer {
  const kind = KEYS[record.kind];
  switch (record.kind) {
    case 'epoch':
    case 'target-epoch':
      return encode(kind, GroupKey, { group });
    case 'member':
    case 'target':
    case 'current':
      return encode(kind, PartKey, { group, part: record.memberId });
    case 'regex':
      return encode(kind, PartKey, { group, part: record.regex });
    default:
      return record satisfies never;
  }
}

function encodeValue(record: ConsumerRecord): Buffer | null {
  if (record.value === null) return null;
  switch (record.kind) {
    case 'epoch':
      return encode(VALUE_VERSION, EpochValue, record.value);
    case 'target-epoch':
      return encode(VALUE_VERSION, TargetEpochValue, { assignmentEpoch: record.value });
    case 'member': {
      const { topicNames, topicRegex, classic, ...fields } = record.value;
      const classicMemberMetadata =
        classic === null
          ? null
          : { sessionTimeoutMs: classic.sessionTimeoutMs, supportedProtocols: classic.protocols };
      const subscription = { subscribedTopicNames: topicNames, subscribedTopicRegex: topicRegex };
      return encode(VALUE_VERSION, MemberValue, { ...fields, ...subscription, classicMemberMetadata });
    }
    case 'target':
      return encode(VALUE_VERSION, TargetValue, { topicPartitions: listOf(record.value) });
    case 'current': {
      const { epoch, previousEpoch, state, assigned, pendingRevocation } = record.value;
      return encode(VALUE_VERSION, CurrentValue, {
        memberEpoch: epoch,
        previousMemberEpoch: previousEpoch,
        state: STATES.indexOf(state),
        assignedPartitions: listWithEpochs(record.value, assigned),
        partitionsPendingRevocation: listWithEpochs(record.value, pendingRevocation),
      });
    }
    case 'regex': {
      const { topics, resolvedAtMs } = record.value;
      return encode(VALUE_VERSION, RegexValue, { topics, version: resolvedAtMs, timestamp: resolvedAtMs });
    }
    default:
      return record satisfies never;
  }
}

export interface DecodedConsumerRecord {
  readonly groupId: string;
  readonly record: ConsumerRecord;
}

/** Whether a key is one of these; its first bytes say so. */
export function isConsumerKey(key: Buffer): boolean {
  // The union of literals is what the table holds.
  return key.length >= 2 && (Object.values(KEYS) as number[]).includes(key.readInt16BE(0));
}

export function decodeConsumerRecord(key: Buffer, value: Buffer | null): DecodedConsumerRecord | undefined {
  try {
    const reader = new WireReader(key);
    const kind = reader.int16();
    if (kind === KEYS.epoch || kind === KEYS['target-epoch']) {
      const { group } = GroupKey.read(reader, 0);
      const record = kind === KEYS.epoch ? epochRecord(value) : targetEpochRecord(value);
      return { groupId: group, record };
    }
    const { group, part } = PartKey.read(reader, 0);
    const record = partRecord(kind, part, value);
    return record === undefined ? undefined : { groupId: group, record };
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

function epochRecord(value: Buffer | null): ConsumerRecord {
  const read = decode(EpochValue, value);
  return { kind: 'epoch', value: read && { epoch: read.epoch, metadataHash: read.metadataHash } };
}

function targetEpochRecord(value: Buffer | null): ConsumerRecord {
  return { kind: 'target-epoch', value: decode(TargetEpochValue, value)?.assignmentEpoch ?? null };
}

function partRecord(kind: number, part: string, value: Buffer | null): ConsumerRecord | undefined {
  switch (kind) {
    case KEYS.member:
      return memberRecord(part, value);
    case KEYS.target: {
      const read = decode(TargetValue, value);
      return { kind: 'target', memberId: part, value: read && assignmentOf(read.topicPartitions) };
    }
    case KEYS.current:
      return { kind: 'current', memberId: part, value: currentValue(decode(CurrentValue, value)) };
    case KEYS.regex: {
      const read = decode(RegexValue, value);
      return {
        kind: 'regex',
        regex: part,
        value: read && { topics: read.topics, resolvedAtMs: read.timestamp },
      };
    }
    default:
      return undefined;
  }
}

function memberRecord(memberId: string, value: Buffer | null): ConsumerRecord {
  const read = decode(MemberValue, value);
  if (read === null) return { kind: 'member', memberId, value: null };
  const { subscribedTopicNames, subscribedTopicRegex, classicMemberMetadata, ...fields } = read;
  const classic = classicMemberMetadata && {
    sessionTimeoutMs: classicMemberMetadata.sessionTimeoutMs,
    // Copies: they outlive the log's buffer.
    protocols: classicMemberMetadata.supportedProtocols.map(({ name, metadata }) => ({
      name,
      metadata: Buffer.from(metadata),
    })),
  };
  const subscription = { topicNames: subscribedTopicNames, topicRegex: subscribedTopicRegex };
  return { kind: 'member', memberId, value: { memberId, ...fields, ...subscription, classic } };
}

function currentValue(read: StructValue<FieldsOf<typeof CurrentValue>> | null): CurrentAssignment | null {
  return (
    read && {
      epoch: read.memberEpoch,
      previousEpoch: read.previousMemberEpoch,
      state: STATES[read.state] ?? 'stable',
      assigned: assignmentOf(read.assignedPartitions),
      pendingRevocation: assignmentOf(read.partitionsPendingRevocation),
      sinceEpochs: sinceEpochsOf(read.memberEpoch, [
        ...read.assignedPartitions,
        ...read.partitionsPendingRevocation,
      ]),
    }
  );
}

/** What the member has had since its own epoch need not be said. */
function sinceEpochsOf(
  memberEpoch: number,
  list: readonly (TopicPartitionsValue & { readonly assignmentEpochs: readonly number[] })[],
): SinceEpochs {
  const since = new Map<string, Map<number, number>>();
  for (const { topicId, partitions, assignmentEpochs } of list) {
    const ofTopic = since.get(topicId) ?? new Map<number, number>();
    for (const [index, partition] of partitions.entries()) {
      const epoch = assignmentEpochs[index] ?? memberEpoch;
      if (epoch !== memberEpoch) ofTopic.set(partition, epoch);
    }
    if (ofTopic.size > 0) since.set(topicId, ofTopic);
  }
  return since;
}

type FieldsOf<M> = M extends Message<infer F> ? F : never;

interface TopicPartitionsValue {
  readonly topicId: string;
  readonly partitions: readonly number[];
}

function listOf(assignment: Assignment): TopicPartitionsValue[] {
  return [...assignment].map(([topicId, partitions]) => ({ topicId, partitions }));
}

function listWithEpochs(current: CurrentAssignment, assignment: Assignment) {
  return [...assignment].map(([topicId, partitions]) => ({
    ...{ topicId, partitions },
    assignmentEpochs: partitions.map(
      (partition) => sinceEpochOf(current, topicId, partition) ?? current.epoch,
    ),
  }));
}

function assignmentOf(list: readonly TopicPartitionsValue[]): Assignment {
  return new Map(list.map(({ topicId, partitions }) => [topicId, [...partitions].sort((a, b) => a - b)]));
}

function decode<F extends Fields>(schema: Message<F>, value: Buffer | null): StructValue<F> | null {
  if (value === null) return null;
  const reader = new WireReader(value);
  return schema.read(reader, reader.int16());
}

const writer = new WireWriter();

function encode<F extends Fields>(version: number, schema: Message<F>, value: StructInput<F>): Buffer {
  writer.rewind(0);
  writer.int16(version);
  schema.write(writer, 0, value);
  return writer.take();
}
