// The embedded consumer protocol: what members of protocol type `consumer` write into JoinGroup metadata and read
// from SyncGroup assignments. Any client may have written them, so they are read defensively: what does not decode
// is `undefined`. An int16 version comes first; versions beyond the known ones only add fields at the end.

import { WireError } from '../wire/errors.ts';
import { array, bytes, int32, string } from '../wire/fields.ts';
import { type Message, message } from '../wire/message.ts';
import { WireReader } from '../wire/reader.ts';
import type { Fields, StructValue } from '../wire/schema.ts';
import { WireWriter } from '../wire/writer.ts';

const VERSION_MAX = 3;

const topicPartitions = { topic: string(), partitions: array(int32()) };

const ConsumerSubscription = message(
  'ConsumerProtocolSubscription',
  { versions: [0, VERSION_MAX] },
  {
    topics: array(string()),
    userData: bytes({ nullable: '0+', default: null }),
    ownedPartitions: array(topicPartitions, { versions: '1+' }),
    generationId: int32({ versions: '2+', default: -1 }),
    rackId: string({ versions: '3+', nullable: '3+', default: null }),
  },
);

const ConsumerAssignment = message(
  'ConsumerProtocolAssignment',
  { versions: [0, VERSION_MAX] },
  {
    assignedPartitions: array(topicPartitions),
    userData: bytes({ nullable: '0+', default: null }),
  },
);

export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

export interface Subscription {
  readonly version: number;
  readonly topics: readonly string[];
  readonly ownedPartitions: readonly TopicPartitions[];
  readonly rackId: string | null;
}

export function decodeSubscription(metadata: Buffer): Subscription | undefined {
  const read = decoded(ConsumerSubscription, metadata);
  if (read === undefined) return undefined;
  const { version, value } = read;
  return { version, topics: value.topics, ownedPartitions: value.ownedPartitions, rackId: value.rackId };
}

export function decodeAssignment(assignment: Buffer): readonly TopicPartitions[] | undefined {
  return decoded(ConsumerAssignment, assignment)?.value.assignedPartitions;
}

const writer = new WireWriter();

export function encodeAssignment(version: number, assignedPartitions: readonly TopicPartitions[]): Buffer {
  writer.rewind(0);
  writer.int16(version);
  ConsumerAssignment.write(writer, version, {
    assignedPartitions: assignedPartitions.map(({ topic, partitions }) => ({
      topic,
      partitions: [...partitions],
    })),
  });
  return writer.take();
}

function decoded<F extends Fields>(
  schema: Message<F>,
  source: Buffer,
): { readonly version: number; readonly value: StructValue<F> } | undefined {
  try {
    const reader = new WireReader(source);
    const version = Math.min(VERSION_MAX, Math.max(0, reader.int16()));
    return { version, value: schema.read(reader, version) };
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
