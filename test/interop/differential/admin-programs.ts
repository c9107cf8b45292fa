// Programs about administration: configs, partitions, elections, reassignments, directories, the cluster. Data.
import type { Program } from './program.ts';
import { send, topic } from './requests.ts';

const NODE = 1;
const NOBODY = 4711;
const [TOPIC, BROKER, LOGGER, METRICS, GROUP] = [2, 4, 8, 16, 32];

const describeOf = (resourceType: number, resourceName: string, keys: readonly string[] | null = null) =>
  send('describeConfigs', 4, {
    resources: [{ resourceType, resourceName, configurationKeys: keys }],
    includeSynonyms: true,
  });

type Change = readonly [name: string, operation: number, value: string | null];
const change = (
  resourceType: number,
  resourceName: string,
  configs: readonly Change[],
  validateOnly = true,
) =>
  send('incrementalAlterConfigs', 1, {
    resources: [
      {
        ...{ resourceType, resourceName },
        configs: configs.map(([name, configOperation, value]) => ({ name, configOperation, value })),
      },
    ],
    validateOnly,
  });

const replace = (
  resourceType: number,
  resourceName: string,
  configs: readonly (readonly [string, string | null])[],
  validateOnly = true,
) =>
  send('alterConfigs', 2, {
    resources: [{ resourceType, resourceName, configs: configs.map(([name, value]) => ({ name, value })) }],
    validateOnly,
  });

const described: Program = {
  name: 'configs described',
  steps: [
    ...topic('described', 2, [['retention.ms', '5000']]),
    ...[1, 2, 3, 4].map((version) =>
      send('describeConfigs', version, {
        resources: [{ resourceType: TOPIC, resourceName: 'described', configurationKeys: null }],
        includeSynonyms: false,
      }),
    ),
    describeOf(TOPIC, 'described', ['retention.ms', 'no.such', 'cleanup.policy', 'retention.ms']),
    describeOf(TOPIC, 'described', []),
    describeOf(TOPIC, 'nope'),
    describeOf(TOPIC, ''),
    describeOf(TOPIC, 'a/b'),
    describeOf(0, 'x'),
    describeOf(1, 'x'),
    describeOf(77, 'x'),
    describeOf(BROKER, `${NOBODY}`),
    describeOf(BROKER, 'abc'),
    describeOf(BROKER, ''),
    describeOf(BROKER, `${NODE}`, ['num.partitions', 'node.id', 'no.such']),
    describeOf(LOGGER, `${NOBODY}`),
    describeOf(LOGGER, 'abc'),
    describeOf(LOGGER, ''),
    describeOf(METRICS, ''),
    send('describeConfigs', 4, { resources: [] }),
  ],
};

const seenAs = (retentionMs: string) =>
  send(
    'describeConfigs',
    4,
    {
      resources: [
        {
          ...{ resourceType: TOPIC, resourceName: 'changed' },
          configurationKeys: ['retention.ms', 'cleanup.policy', 'max.message.bytes'],
        },
      ],
      includeSynonyms: true,
    },
    { until: ['results.0.configs.2.value', retentionMs] },
  );

const changed: Program = {
  name: 'configs changed',
  steps: [
    ...topic('changed', 2, [['retention.ms', '5000']]),
    ...(
      [
        [['no.such', 0, '1']],
        [['no.such', 1, null]],
        [['retention.ms', 0, 'soon']],
        [['retention.ms', 2, '5']],
        [['retention.ms', 3, '5']],
        [['retention.ms', 0, null]],
        [['retention.ms', 9, '5']],
        [
          ['retention.ms', 0, '5'],
          ['retention.ms', 1, null],
        ],
        [['retention.ms', 0, '']],
        [],
        [['cleanup.policy', 3, 'delete']],
        [['cleanup.policy', 2, null]],
        [['cleanup.policy', 2, 'compact']],
        [['cleanup.policy', 0, 'compact,bad']],
        [
          ['min.compaction.lag.ms', 0, '100'],
          ['max.compaction.lag.ms', 0, '50'],
        ],
        [['min.insync.replicas', 0, '0']],
        [['', 0, '7']],
        [['segment.bytes', 0, '99999999999']],
        [['min.cleanable.dirty.ratio', 0, '2']],
        [['message.timestamp.type', 0, 'Never']],
        [['preallocate', 0, 'perhaps']],
      ] as const
    ).map((changes) => change(TOPIC, 'changed', changes)),
    change(TOPIC, 'changed', [['retention.ms', 0, '7000']], false),
    change(TOPIC, 'changed', [['cleanup.policy', 2, 'compact']], false),
    change(TOPIC, 'changed', [['max.message.bytes', 0, '2000']], false),
    ...[
      [TOPIC, 'nope'],
      [TOPIC, ''],
      [TOPIC, 'a/b'],
      [0, 'x'],
      [77, 'x'],
      [BROKER, `${NOBODY}`],
      [BROKER, 'abc'],
      [LOGGER, `${NOBODY}`],
      [LOGGER, 'abc'],
      [LOGGER, ''],
    ].map(([type, name]) => change(Number(type), `${name}`, [['retention.ms', 0, '5']])),
    send('incrementalAlterConfigs', 1, {
      resources: ['changed', 'changed', 'nope'].map((resourceName) => ({
        ...{ resourceType: TOPIC, resourceName },
        configs: [],
      })),
      validateOnly: true,
    }),
    send('incrementalAlterConfigs', 0, { resources: [], validateOnly: false }),
    seenAs('7000'),
    replace(TOPIC, 'changed', [['no.such', '1']]),
    replace(TOPIC, 'changed', [['retention.ms', null]]),
    replace(TOPIC, 'changed', [
      ['retention.ms', '1'],
      ['retention.ms', '2'],
    ]),
    replace(TOPIC, 'changed', [['retention.ms', 'x']]),
    replace(TOPIC, 'nope', []),
    replace(77, 'x', []),
    replace(BROKER, `${NOBODY}`, []),
    replace(TOPIC, 'changed', [['retention.ms', '9000']], false),
    send('alterConfigs', 0, { resources: [], validateOnly: false }),
    seenAs('9000'),
  ],
};

const partitionsOf = (
  name: string,
  count: number,
  assignments: readonly (readonly number[])[] | null = null,
) => ({
  ...{ name, count },
  assignments: assignments?.map((brokerIds) => ({ brokerIds })) ?? null,
});
const extend = (topics: readonly unknown[], validateOnly = true, version = 3) =>
  send('createPartitions', version, { topics, timeoutMs: 5_000, validateOnly });

const partitions: Program = {
  name: 'partitions added',
  steps: [
    ...topic('grown', 2),
    ...[3, 2, 1, 0, -1].map((count) => extend([partitionsOf('grown', count)])),
    ...[[[NODE]], [[NODE], [NODE]], [[NOBODY]], [[NODE, NODE]], [[]], []].map((assignments) =>
      extend([partitionsOf('grown', 3, assignments)]),
    ),
    extend([partitionsOf('nope', 3)]),
    extend([partitionsOf('a/b', 3)]),
    extend([partitionsOf('', 3)]),
    extend([partitionsOf('grown', 3), partitionsOf('grown', 4), partitionsOf('nope', 3)]),
    extend([]),
    ...[0, 1, 2].map((version) => extend([partitionsOf('grown', 3)], true, version)),
    extend([partitionsOf('grown', 3)], false),
    send('describeTopicPartitions', 0, { topics: [{ name: 'grown' }] }, { patient: true }),
    extend([partitionsOf('grown', 3)], false),
  ],
};

const elect = (version: number, fields: Readonly<Record<string, unknown>>) =>
  send('electLeaders', version, { timeoutMs: 5_000, ...fields });

const elections: Program = {
  name: 'elections',
  steps: [
    ...topic('elected', 2),
    ...[0, 1, 2].map((electionType) =>
      elect(2, {
        electionType,
        topicPartitions: [
          { topic: 'elected', partitions: [0, 5] },
          { topic: 'nope', partitions: [0] },
        ],
      }),
    ),
    elect(2, { electionType: 0, topicPartitions: [] }),
    elect(2, { electionType: 1, topicPartitions: null }),
    elect(2, { electionType: 0, topicPartitions: [{ topic: 'elected', partitions: [-1] }] }),
    elect(1, { electionType: 0, topicPartitions: [{ topic: 'elected', partitions: [1] }] }),
    elect(0, { topicPartitions: [{ topic: 'elected', partitions: [1] }] }),
  ],
};

const reassign = (topics: readonly unknown[]) =>
  send('alterPartitionReassignments', 0, { timeoutMs: 5_000, topics });

const reassignments: Program = {
  name: 'reassignments',
  steps: [
    ...topic('moved', 2),
    ...[[NODE], null, [NOBODY], [NODE, NODE], [], [NODE, NOBODY], [-1]].map((replicas) =>
      reassign([{ name: 'moved', partitions: [{ partitionIndex: 0, replicas }] }]),
    ),
    reassign([
      { name: 'moved', partitions: [{ partitionIndex: 9, replicas: [NODE] }] },
      { name: 'nope', partitions: [{ partitionIndex: 0, replicas: [NODE] }] },
    ]),
    reassign([{ name: 'moved', partitions: [{ partitionIndex: -1, replicas: null }] }]),
    reassign([]),
    ...[
      null,
      [],
      [
        { name: 'moved', partitionIndexes: [0, 9] },
        { name: 'nope', partitionIndexes: [0] },
      ],
    ].map((topics) => send('listPartitionReassignments', 0, { timeoutMs: 5_000, topics })),
  ],
};

const shown: Program = {
  name: 'topics, directories, producers and resources shown',
  steps: [
    ...topic('shown', 2),
    send('describeTopicPartitions', 0, {
      topics: [{ name: 'shown' }, { name: 'nope' }, { name: 'a/b' }, { name: 'shown' }],
    }),
    ...[1, 0, -1].map((responsePartitionLimit) =>
      send('describeTopicPartitions', 0, { topics: [{ name: 'shown' }], responsePartitionLimit }),
    ),
    ...[
      ['shown', 1],
      ['zz', 0],
      ['aa', 0],
      ['shown', 9],
      ['shown', -1],
    ].map(([topicName, partitionIndex]) =>
      send('describeTopicPartitions', 0, {
        topics: [{ name: 'shown' }],
        cursor: { topicName, partitionIndex },
      }),
    ),
    ...[0, 1, 2].map((version) =>
      send('describeCluster', version, { includeClusterAuthorizedOperations: true }),
    ),
    send('describeCluster', 2, { includeClusterAuthorizedOperations: false, endpointType: 2 }),
    send('describeCluster', 2, { includeClusterAuthorizedOperations: false, endpointType: 9 }),
    send('describeProducers', 0, {
      topics: [
        { name: 'shown', partitionIndexes: [0, 9, -1] },
        { name: 'nope', partitionIndexes: [0] },
        { name: 'a/b', partitionIndexes: [0] },
        { name: '', partitionIndexes: [0] },
      ],
    }),
    ...[[LOGGER], [METRICS], [GROUP], [0], [77], [BROKER, BROKER], [TOPIC, 77]].map((resourceTypes) =>
      send('listConfigResources', 1, { resourceTypes }),
    ),
    send('listConfigResources', 0, {}),
    send('offsetForLeaderEpoch', 4, {
      topics: [
        {
          topic: 'shown',
          partitions: [
            { partition: 0, leaderEpoch: 100 },
            { partition: 9, leaderEpoch: 0 },
            { partition: 0, leaderEpoch: -1 },
            { partition: 0, currentLeaderEpoch: 5_000, leaderEpoch: 0 },
          ],
        },
        { topic: 'nope', partitions: [{ partition: 0, leaderEpoch: 0 }] },
      ],
    }),
    ...[7, 8, 9, 10].flatMap((version) =>
      [-1, -2, -3, -4, -5, -6, -7].map((timestamp) =>
        send('listOffsets', version, {
          ...{ replicaId: -1, isolationLevel: 0 },
          topics: [{ name: 'shown', partitions: [{ partitionIndex: 0, timestamp }] }],
        }),
      ),
    ),
    send('initProducerId', 4, { transactionalId: null, transactionTimeoutMs: 1_000 }, { patient: true }),
    send('initProducerId', 4, {
      transactionalId: null,
      transactionTimeoutMs: 1_000,
      producerId: 5,
      producerEpoch: -1,
    }),
    send('initProducerId', 4, {
      transactionalId: null,
      transactionTimeoutMs: 1_000,
      producerId: 5,
      producerEpoch: 3,
    }),
    send('initProducerId', 4, { transactionalId: '', transactionTimeoutMs: 1_000 }),
    send('initProducerId', 4, { transactionalId: null, transactionTimeoutMs: -1 }),
  ],
};

export const adminPrograms: readonly Program[] = [
  described,
  changed,
  partitions,
  elections,
  reassignments,
  shown,
];
