// Requests as the programs write them down: what they all have in common stands here once.
import type { ApiName } from './broker-client.ts';
import type { Request, Step } from './program.ts';

type Fields = Readonly<Record<string, unknown>>;
export type Extra = Partial<Omit<Request, 'api' | 'version' | 'send'>>;

export const send = (api: ApiName, version: number, fields: Fields, extra: Extra = {}): Request => ({
  api,
  version,
  send: fields,
  ...extra,
});

/** A topic, and its id as `$id:NAME`. */
export function topic(
  name: string,
  partitions = 1,
  configs: readonly (readonly [string, string])[] = [],
): Step[] {
  const made = {
    ...{ name, numPartitions: partitions, replicationFactor: 1, assignments: [] },
    configs: configs.map(([key, value]) => ({ name: key, value })),
  };
  return [
    send('createTopics', 7, { topics: [made], timeoutMs: 10_000, validateOnly: false }),
    send(
      'metadata',
      12,
      { topics: [{ name }], allowAutoTopicCreation: false },
      { patient: true, keep: { [`id:${name}`]: 'topics.0.topicId' } },
    ),
  ];
}

/** Until its coordinator serves it. */
export const ready = (group: string): Step[] => [
  send('findCoordinator', 4, { keyType: 0, coordinatorKeys: [group] }, { patient: true }),
  send('offsetFetch', 8, { groups: [{ groupId: group, topics: [] }] }, { patient: true }),
];

/** A topic that the coordinator of groups has learnt of: Kafka's is told later than the rest of its broker. */
export const topicForGroups = (name: string, partitions = 1): Step[] => [
  ...topic(name, partitions),
  send(
    'consumerGroupHeartbeat',
    1,
    { groupId: `watch-${name}`, memberId: 'watch', ...joining(name) },
    { uncompared: true, until: ['assignment.topicPartitions.length', 1] },
  ),
];

/** Metadata of a member of a classic group that wants these topics. */
export const subscription = (...topics: readonly string[]): Buffer =>
  Buffer.concat([
    Buffer.from([0, 0, 0, 0, 0, topics.length]),
    ...topics.flatMap((name) => [Buffer.from([0, name.length]), Buffer.from(name)]),
    Buffer.from([255, 255, 255, 255]),
  ]);

/** An assignment of one topic's partitions, for SyncGroup. */
export function assignment(name: string, ...partitions: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 + 4 + 2 + name.length + 4 + 4 * partitions.length + 4);
  bytes.writeInt32BE(1, 2);
  bytes.writeInt16BE(name.length, 6);
  bytes.write(name, 8);
  let at = 8 + name.length;
  at = bytes.writeInt32BE(partitions.length, at);
  for (const partition of partitions) at = bytes.writeInt32BE(partition, at);
  bytes.writeInt32BE(-1, at);
  return bytes;
}

export const join = (version: number, fields: Fields, extra: Extra = {}): Request =>
  send(
    'joinGroup',
    version,
    {
      ...{ memberId: '', sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000, protocolType: 'consumer' },
      protocols: [{ name: 'range', metadata: subscription('t') }],
      ...fields,
    },
    extra,
  );

export const sync = (version: number, fields: Fields, extra: Extra = {}): Request =>
  send('syncGroup', version, { assignments: [], ...fields }, extra);

export const beat = (version: number, fields: Fields): Request => send('heartbeat', version, fields);

export const commit = (
  version: number,
  group: string,
  fields: Fields = {},
  partition: Fields = {},
): Request =>
  send('offsetCommit', version, {
    ...{ groupId: group, generationIdOrMemberEpoch: -1, memberId: '' },
    topics: [
      {
        ...{ name: 'offsets' },
        partitions: [{ partitionIndex: 0, committedOffset: 5, committedMetadata: 'note', ...partition }],
      },
    ],
    ...fields,
  });

/** ConsumerGroupHeartbeat of a member that joins, unless `fields` say otherwise. */
export const consumer = (groupId: string, memberId: string, fields: Fields = {}): Request =>
  send('consumerGroupHeartbeat', 1, { groupId, memberId, memberEpoch: 0, ...fields });

export const joining = (...topics: readonly string[]): Fields => ({
  ...{ memberEpoch: 0, rebalanceTimeoutMs: 60_000 },
  ...{ subscribedTopicNames: topics, topicPartitions: [] },
});

/** What a member says that it has. */
export const owning = (name: string, ...partitions: readonly number[]): Fields => ({
  topicPartitions: partitions.length === 0 ? [] : [{ topicId: `$id:${name}`, partitions }],
});
