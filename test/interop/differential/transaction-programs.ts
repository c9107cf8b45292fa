// Programs about transactions: both kinds of clients (KIP-890), what is refused, offsets that wait for the end. Data.
import type { Program } from './program.ts';
import { commit, type Extra, join, ready, send, topic } from './requests.ts';

type Fields = Readonly<Record<string, unknown>>;

const init = (version: number, id: string | null, fields: Fields = {}, extra: Extra = {}) =>
  send('initProducerId', version, { transactionalId: id, transactionTimeoutMs: 60_000, ...fields }, extra);

/** The id and epoch of a producer, for the requests that follow. */
const keep = { producer: 'producerId', epoch: 'producerEpoch' };
const mine = { producerId: '$producer', producerEpoch: '$epoch' };
const nobody = { producerId: 987_654, producerEpoch: 0 };

const places = (...topics: readonly (readonly [string, readonly number[]])[]) =>
  topics.map(([name, partitions]) => ({ name, partitions }));

const add = (version: number, id: string, topics: readonly unknown[], producer: Fields = mine) =>
  send('addPartitionsToTxn', version, {
    v3AndBelowTransactionalId: id,
    v3AndBelowProducerId: producer['producerId'],
    v3AndBelowProducerEpoch: producer['producerEpoch'],
    v3AndBelowTopics: topics,
  });

const end = (version: number, id: string, committed: boolean, producer: Fields = mine, extra: Extra = {}) =>
  send('endTxn', version, { transactionalId: id, committed, ...producer }, extra);

/** Until the markers of the last one are written. */
const addWhenDone = (version: number, id: string, topics: readonly unknown[]) => ({
  ...add(version, id, topics),
  until: ['resultsByTopicV3AndBelow.0.resultsByPartition.0.partitionErrorCode', 0] as const,
});

const addOffsets = (version: number, id: string, groupId: string, producer: Fields = mine) =>
  send('addOffsetsToTxn', version, { transactionalId: id, groupId, ...producer });

const commitIn = (version: number, id: string, groupId: string, fields: Fields = {}) =>
  send('txnOffsetCommit', version, {
    ...{ transactionalId: id, groupId },
    ...mine,
    topics: [
      {
        name: 'spent',
        partitions: [{ partitionIndex: 0, committedOffset: 7, committedMetadata: 'in a transaction' }],
      },
    ],
    ...fields,
  });

const describe = (...transactionalIds: readonly string[]) =>
  send('describeTransactions', 0, { transactionalIds });

const readyFor = (id: string) =>
  send('findCoordinator', 4, { keyType: 1, coordinatorKeys: [id] }, { patient: true });

const producers: Program = {
  name: 'producers of transactions',
  steps: [
    readyFor('first'),
    init(4, 'first', {}, { patient: true, keep }),
    ...[0, 1, 2, 3, 4, 5].map((version) => init(version, `of version ${version}`, {}, { patient: true })),
    init(4, 'first', { transactionTimeoutMs: 0 }),
    init(4, 'first', { transactionTimeoutMs: -1 }),
    init(4, 'first', { transactionTimeoutMs: 900_001 }),
    init(4, ''),
    init(4, 'first', mine, { patient: true, keep }),
    init(4, 'first', { producerId: 987_654, producerEpoch: 1 }),
    init(4, 'first', { producerId: '$producer', producerEpoch: 9_000 }),
    init(4, 'never seen', { producerId: 5, producerEpoch: 5 }),
    init(4, 'first', { producerId: -1, producerEpoch: 3 }),
    describe('first', 'never', '', 'first'),
    describe(),
    send('listTransactions', 0, { stateFilters: ['bogus'], producerIdFilters: [] }),
    send('listTransactions', 1, { stateFilters: ['Ongoing'], producerIdFilters: [], durationFilter: 0 }),
    send('listTransactions', 2, { stateFilters: [], producerIdFilters: [], transactionalIdPattern: 'fir.*' }),
    send('listTransactions', 2, { stateFilters: [], producerIdFilters: [], transactionalIdPattern: '(' }),
    send('listTransactions', 2, {
      stateFilters: [],
      producerIdFilters: [987_654],
      transactionalIdPattern: '',
    }),
  ],
};

const older: Program = {
  name: 'transactions of clients that add partitions',
  steps: [
    ...topic('spent', 2),
    readyFor('older'),
    init(4, 'older', {}, { patient: true, keep }),
    end(3, 'older', true),
    add(3, 'older', places(['spent', [0, 1]])),
    ...[0, 1, 2].map((version) => add(version, 'older', places(['spent', [0]]))),
    add(3, 'older', places(['spent', [0, 9]], ['unknown', [0]])),
    add(3, 'older', []),
    add(3, 'never', places(['spent', [0]])),
    add(3, '', places(['spent', [0]])),
    add(3, 'older', places(['spent', [0]]), nobody),
    add(3, 'older', places(['spent', [0]]), { producerId: '$producer', producerEpoch: 9_000 }),
    describeOpen('older'),
    end(3, 'never', true),
    end(3, '', true),
    end(3, 'older', true, nobody),
    end(3, 'older', true, { producerId: '$producer', producerEpoch: 9_000 }),
    end(3, 'older', true),
    { ...end(3, 'older', true), until: ['errorCode', 0] },
    { ...end(3, 'older', false), until: ['errorCode', 48] },
    addWhenDone(3, 'older', places(['spent', [0]])),
    end(0, 'older', false),
    { ...end(1, 'older', false), until: ['errorCode', 0] },
    { ...end(2, 'older', true), until: ['errorCode', 48] },
    addWhenDone(3, 'older', places(['spent', [0]])),
    init(4, 'older', {}, { patient: true, keep: { second: 'producerEpoch' } }),
    end(3, 'older', true),
    {
      ...add(3, 'older', places(['spent', [0]])),
      until: ['resultsByTopicV3AndBelow.0.resultsByPartition.0.partitionErrorCode', 90],
    },
    init(4, 'older', mine),
    end(3, 'older', true, { producerId: '$producer', producerEpoch: '$second' }),
  ],
};

/** When it was opened is not the same for both. */
function describeOpen(id: string) {
  return send('describeTransactions', 0, { transactionalIds: [id] });
}

const newer: Program = {
  name: 'transactions of clients that let producing add them',
  steps: [
    ...topic('spent', 2),
    readyFor('newer'),
    init(5, 'newer', {}, { patient: true, keep }),
    // The hub has it asked again once: its records may be behind it.
    { ...end(5, 'newer', true), until: ['errorCode', 48] },
    end(5, 'newer', false, mine, { patient: true, keep }),
    { ...end(5, 'newer', false, nobody), until: ['errorCode', 49] },
    end(5, 'never', false),
    end(5, '', false),
    end(4, 'newer', true),
    end(5, 'newer', false, { producerId: '$producer', producerEpoch: 9_000 }),
  ],
};

const offsets: Program = {
  name: 'offsets in a transaction',
  steps: [
    ...topic('spent', 2),
    ...ready('spenders'),
    readyFor('payer'),
    init(4, 'payer', {}, { patient: true, keep }),
    addOffsets(3, 'never', 'spenders'),
    addOffsets(3, '', 'spenders'),
    addOffsets(3, 'payer', 'spenders', nobody),
    addOffsets(3, 'payer', 'spenders', { producerId: '$producer', producerEpoch: 9_000 }),
    addOffsets(3, 'payer', 'spenders'),
    addOffsets(3, 'payer', ''),
    ...[0, 1, 2].map((version) => addOffsets(version, 'payer', 'spenders')),
    commitIn(3, 'payer', 'spenders'),
    ...[0, 1, 2].map((version) => commitIn(version, 'payer', 'spenders')),
    commitIn(3, 'payer', 'spenders', { memberId: 'nobody', generationIdOrMemberEpoch: 3 }),
    commitIn(3, 'payer', 'spenders', { generationIdOrMemberEpoch: 3 }),
    commitIn(3, 'payer', 'spenders', { groupInstanceId: 'nobody' }),
    commitIn(3, 'payer', 'spenders', { topics: [] }),
    commitIn(3, 'payer', 'spenders', {
      topics: ['spent', 'unknown'].map((name) => ({
        name,
        partitions: [
          { partitionIndex: 0, committedOffset: 7, committedMetadata: 'x'.repeat(5_000) },
          { partitionIndex: 9, committedOffset: 7, committedMetadata: null },
        ],
      })),
    }),
    commitIn(3, 'payer', ''),
    fetchOffsets(false),
    fetchOffsets(true),
    commit(8, 'spenders', {
      topics: [
        { name: 'spent', partitions: [{ partitionIndex: 1, committedOffset: 1, committedMetadata: '' }] },
      ],
    }),
    send('offsetDelete', 0, {
      groupId: 'spenders',
      topics: [{ name: 'spent', partitions: [{ partitionIndex: 0 }] }],
    }),
    send('deleteGroups', 2, { groupsNames: ['spenders'] }),
  ],
};

function fetchOffsets(requireStable: boolean) {
  return send('offsetFetch', 7, { groupId: 'spenders', topics: null, requireStable });
}

const completed: Program = {
  name: 'offsets of a transaction at its end',
  steps: [
    ...topic('spent', 2),
    ...ready('savers'),
    readyFor('saver'),
    init(4, 'saver', {}, { patient: true, keep }),
    addOffsets(3, 'saver', 'savers'),
    commitIn(3, 'saver', 'savers'),
    send('offsetFetch', 7, { groupId: 'savers', topics: null, requireStable: true }),
    end(3, 'saver', true),
    {
      ...send('offsetFetch', 7, {
        ...{ groupId: 'savers', requireStable: true },
        topics: [{ name: 'spent', partitionIndexes: [0] }],
      }),
      until: ['topics.0.partitions.0.committedOffset', 7],
    },
    join(3, { groupId: 'savers' }, { keep: { member: 'memberId' } }),
    { ...addOffsets(3, 'saver', 'savers'), until: ['errorCode', 0] },
    commitIn(3, 'saver', 'savers', { memberId: '$member', generationIdOrMemberEpoch: 9 }),
    commitIn(3, 'saver', 'savers', { memberId: '$member', generationIdOrMemberEpoch: 1 }),
    end(3, 'saver', false),
  ],
};

const markers: Program = {
  name: 'markers that no coordinator sent',
  steps: [
    ...topic('marked', 1),
    send('writeTxnMarkers', 1, { markers: [] }),
    send('writeTxnMarkers', 1, {
      markers: [
        {
          ...{ producerId: 987_654, producerEpoch: 0, transactionResult: false, coordinatorEpoch: 0 },
          topics: [
            { name: 'marked', partitionIndexes: [0, 9] },
            { name: 'unknown', partitionIndexes: [0] },
          ],
        },
      ],
    }),
  ],
};

export const transactionPrograms: readonly Program[] = [producers, older, newer, offsets, completed, markers];
