// Topics over their life: creation, first use, deletion, restart, also when several do it at once or the store is
// in doubt.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CreateTopicRequest } from '../../../protocols/port.ts';
import { type MetaStore, StorageError } from '../../../storage/index.ts';
import {
  append,
  copyAsIfKilled,
  createTopic,
  openTestHub,
  readTexts,
  temporaryDirectory,
} from './hub-fixture.ts';

function request(name: string, changes: Partial<CreateTopicRequest> = {}): CreateTopicRequest {
  return { name, partitions: -1, replicationFactor: -1, config: {}, ...changes };
}

describe('creating', () => {
  test('a topic has the partitions asked for, is found by name and id, and is announced', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    const changes: string[] = [];
    hub.topics.onChange(({ kind, topic }) => changes.push(`${kind} ${topic.name}`));
    const topic = await createTopic(hub, 'b', 3);
    await createTopic(hub, 'a');
    expect(topic.partitions.map(({ partition, leaderEpoch }) => [partition, leaderEpoch])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
    ]);
    expect(hub.topics.getById(topic.topicId)).toBe(topic);
    expect(hub.topics.partition('b', 2)).toBe(topic.partitions[2]);
    expect(hub.topics.partition('b', 3)).toBeUndefined();
    expect(hub.topics.list().map(({ name }) => name)).toEqual(['a', 'b']);
    expect(changes).toEqual(['created b', 'created a']);
  });

  test('-1 partitions are the configured default', async () => {
    const { hub } = await openTestHub(temporaryDirectory(), { topics: { partitions: 5 } });
    await hub.topics.create(request('t'));
    expect(hub.topics.get('t')?.partitions).toHaveLength(5);
  });

  test.each([
    ['invalid-name', request('a/b')],
    ['invalid-name', request('..')],
    ['invalid-partitions', request('t', { partitions: 0 })],
    ['invalid-partitions', request('t', { partitions: -2 })],
    ['limit', request('t', { partitions: 101 })],
    ['invalid-replication-factor', request('t', { replicationFactor: 3 })],
    ['invalid-replication-factor', request('t', { replicationFactor: 0 })],
    ['invalid-config', request('t', { config: { 'no.such.config': '1' } })],
    ['invalid-config', request('t', { config: { preallocate: 'true' } })],
    ['internal-topic', request('__consumer_offsets')],
  ])('%s: %o', async (error, refused) => {
    const { hub } = await openTestHub(temporaryDirectory());
    expect(await hub.topics.create(refused)).toMatchObject({ error });
    expect(hub.topics.list()).toEqual([]);
  });

  test('a name that exists or collides is refused', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    await createTopic(hub, 'a.b');
    expect(await hub.topics.create(request('a.b'))).toMatchObject({ error: 'exists' });
    expect(await hub.topics.create(request('a_b'))).toMatchObject({ error: 'invalid-name' });
  });

  test('of names that collide, created at once, one is made', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    const made = await Promise.all(['a.b', 'a_b', 'a.b'].map((name) => hub.topics.create(request(name))));
    expect(made.map((each) => ('error' in each ? each.error : each.name))).toEqual([
      'a.b',
      'invalid-name',
      'exists',
    ]);
  });

  test('validateOnly answers what would be and makes nothing', async () => {
    const directory = temporaryDirectory();
    const { hub } = await openTestHub(directory);
    const planned = await hub.topics.create(request('t', { partitions: 2, validateOnly: true }));
    expect(planned).toMatchObject({ name: 't', partitions: [{ partition: 0 }, { partition: 1 }] });
    expect(hub.topics.get('t')).toBeUndefined();
    expect(await hub.topics.create(request('..', { validateOnly: true }))).toMatchObject({
      error: 'invalid-name',
    });
    await createTopic(hub, 't');
    expect(await hub.topics.create(request('t', { validateOnly: true }))).toMatchObject({ error: 'exists' });
  });

  test('the configuration is kept, described with its sources, and in effect after a restart', async () => {
    const directory = temporaryDirectory();
    const first = await openTestHub(directory);
    const config = { 'segment.bytes': '65536', 'retention.ms': '-1' };
    await first.hub.topics.create(request('t', { config }));
    await first.close();
    const { hub } = await openTestHub(directory, { topics: { config: { 'max.message.bytes': '5000' } } });
    expect(hub.topics.get('t')?.config).toMatchObject({ maxMessageBytes: 5000 });
    expect(hub.topics.get('t')?.logConfig.segmentBytes).toBe(65536);
    const described = hub.topics.describeConfig('t');
    const shown = described?.map(({ name, value, source }) => ({ name, value, source }));
    expect(shown?.filter(({ source }) => source === 'topic')).toEqual([
      { name: 'retention.ms', value: '-1', source: 'topic' },
      { name: 'segment.bytes', value: '65536', source: 'topic' },
    ]);
    expect(shown).toContainEqual({ name: 'cleanup.policy', value: 'delete', source: 'default' });
    expect(shown).toContainEqual({ name: 'max.message.bytes', value: '5000', source: 'hub' });
    expect(shown).toContainEqual({ name: 'preallocate', value: 'false', source: 'default' });
    expect(hub.topics.describeConfig('u')).toBeUndefined();
  });

  test('a topic whose files cannot be made leaves nothing behind', async () => {
    const directory = temporaryDirectory();
    const { hub } = await openTestHub(directory);
    mkdirSync(path.join(directory, 'topics'), { recursive: true });
    writeFileSync(path.join(directory, 'topics', 't'), 'in the way');
    expect(await hub.topics.create(request('t'))).toMatchObject({ error: 'storage' });
    expect(hub.topics.get('t')).toBeUndefined();
  });
});

describe('first use', () => {
  test('makes the topic with the defaults, once for all who come at the same time', async () => {
    const { hub } = await openTestHub(temporaryDirectory(), { topics: { partitions: 2 } });
    const made = await Promise.all(Array.from({ length: 20 }, () => hub.topics.ensure('t')));
    expect(new Set(made)).toEqual(new Set([hub.topics.get('t')]));
    expect(hub.topics.get('t')?.partitions).toHaveLength(2);
  });

  test('and an explicit creation at the same time make one topic', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    const [created, ensured] = await Promise.all([hub.topics.create(request('t')), hub.topics.ensure('t')]);
    expect(ensured).toBe(created);
  });

  test('stops at the limit, those being made included', async () => {
    const { hub } = await openTestHub(temporaryDirectory(), { topics: { autoCreateLimit: 3 } });
    const names = ['a', 'b', 'c', 'd', 'e'];
    const made = await Promise.all(names.map((name) => hub.topics.ensure(name)));
    expect(made.map((each) => ('error' in each ? each.error : each.name))).toEqual([
      'a',
      'b',
      'c',
      'limit',
      'limit',
    ]);
    expect(await hub.topics.ensure('a')).toBe(hub.topics.get('a'));
  });

  test.each([
    ['unknown-topic', 't', { autoCreate: false }],
    ['invalid-name', 'a b', {}],
    ['internal-topic', '__consumer_offsets', {}],
  ])('is refused: %s', async (error, name, topics) => {
    const { hub } = await openTestHub(temporaryDirectory(), { topics });
    expect(await hub.topics.ensure(name)).toMatchObject({ error });
  });
});

describe('deleting', () => {
  test('kills the handles, wakes who waits on them, removes the files and is announced', async () => {
    const directory = temporaryDirectory();
    const { hub } = await openTestHub(directory);
    const topic = await createTopic(hub, 't');
    const partition = topic.partitions[0]!;
    await append(partition, 'a');
    const woken: boolean[] = [];
    partition.onAdvance(() => woken.push(partition.deleted));
    const changes: string[] = [];
    hub.topics.onChange(({ kind }) => changes.push(kind));
    expect(await hub.topics.delete('t')).toBeUndefined();
    expect({ woken, changes }).toEqual({ woken: [true], changes: ['deleted'] });
    expect(await append(partition, 'b')).toMatchObject({ refused: 'unknown-topic' });
    const read = await partition.read({ offset: 0, maxBytes: 100, upTo: 'highWatermark' });
    expect(read).toMatchObject({ refused: 'unknown-topic' });
    expect(hub.topics.get('t')).toBeUndefined();
    expect(readdirSync(path.join(directory, 'topics'))).toEqual([]);
  });

  test('a topic deleted and made again is another topic, after a restart too', async () => {
    const directory = temporaryDirectory();
    const first = await openTestHub(directory);
    const old = await createTopic(first.hub, 't');
    await append(old.partitions[0]!, 'old');
    await first.hub.topics.delete('t');
    const young = await createTopic(first.hub, 't');
    expect(young.topicId).not.toBe(old.topicId);
    expect(young.record.logIds).not.toEqual(old.record.logIds);
    expect(young.partitions[0]!.logEndOffset).toBe(0);
    await append(young.partitions[0]!, 'new');
    await first.close();
    const { hub } = await openTestHub(directory);
    expect(hub.topics.get('t')?.topicId).toBe(young.topicId);
    expect(await readTexts(hub, hub.topics.partition('t', 0)!)).toEqual(['new']);
  });

  test('what is not there or not theirs is refused', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    await hub.stateTable({ topic: '__consumer_offsets', apply: () => undefined });
    expect(await hub.topics.delete('t')).toMatchObject({ error: 'unknown-topic' });
    expect(await hub.topics.delete('__consumer_offsets')).toMatchObject({ error: 'internal-topic' });
  });

  test('deletions and creations of one name at the same time take turns', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    await createTopic(hub, 't');
    const results = await Promise.all([
      hub.topics.delete('t'),
      hub.topics.create(request('t')),
      hub.topics.delete('t'),
      hub.topics.delete('t'),
    ]);
    expect(results[0]).toBeUndefined();
    expect(results[1]).toMatchObject({ name: 't' });
    expect(results[2]).toBeUndefined();
    expect(results[3]).toMatchObject({ error: 'unknown-topic' });
  });

  test.each([
    ['before the files went', false],
    ['after the files went', true],
  ])('a deletion that a crash interrupted %s is finished at the next start', async (_, filesGone) => {
    const directory = temporaryDirectory();
    const { hub, metaStore, store } = await openTestHub(directory);
    const topic = await createTopic(hub, 't');
    await append(topic.partitions[0]!, 'a');
    await metaStore.transact({ put: [{ key: 'topic/t', value: { ...topic.record, state: 'deleting' } }] });
    if (filesGone) await store.deleteTopic('t', topic.topicId);
    const restarted = await openTestHub(copyAsIfKilled(directory));
    expect(restarted.hub.topics.get('t')).toBeUndefined();
    expect(await restarted.metaStore.get('topic/t')).toBeUndefined();
    expect(await restarted.metaStore.get(`leaders/${topic.topicId}`)).toBeUndefined();
    expect((await createTopic(restarted.hub, 't')).partitions[0]!.logEndOffset).toBe(0);
  });
});

describe('when the MetaStore does not know whether it stored', () => {
  /** Every transaction is `unknown` from the moment `begin` is called; `applied` ones do take effect. */
  function doubtful(applied: boolean) {
    let doubting = false;
    const wrapMetaStore = (metaStore: MetaStore): MetaStore => ({
      revision: () => metaStore.revision(),
      get: (key) => metaStore.get(key),
      list: (prefix) => metaStore.list(prefix),
      watch: (...args) => metaStore.watch(...args),
      allocate: (...args) => metaStore.allocate(...args),
      close: () => metaStore.close(),
      transact: async (transaction) => {
        if (!doubting || applied) await metaStore.transact(transaction);
        return doubting
          ? { outcome: 'unknown', cause: new StorageError('io', 'no') }
          : { outcome: 'applied', revision: await metaStore.revision() };
      },
    });
    const begin = (): void => {
      doubting = true;
    };
    return { wrapMetaStore, begin };
  }

  test.each([true, false])('a creation says so, and a restart shows it (stored: %s)', async (applied) => {
    const directory = temporaryDirectory();
    const { wrapMetaStore, begin } = doubtful(applied);
    const first = await openTestHub(directory, { wrapMetaStore });
    begin();
    expect(await first.hub.topics.create(request('t'))).toMatchObject({ error: 'unknown-outcome' });
    expect(first.hub.topics.get('t')).toBeUndefined();
    await first.close();
    const { hub } = await openTestHub(directory);
    expect(hub.topics.get('t') !== undefined).toBe(applied);
  });

  test.each([true, false])('a deletion says so, and a restart shows it (stored: %s)', async (applied) => {
    const directory = temporaryDirectory();
    const { wrapMetaStore, begin } = doubtful(applied);
    const first = await openTestHub(directory, { wrapMetaStore });
    const partition = (await createTopic(first.hub, 't')).partitions[0]!;
    await append(partition, 'a');
    begin();
    expect(await first.hub.topics.delete('t')).toMatchObject({ error: 'unknown-outcome' });
    expect(await readTexts(first.hub, partition)).toEqual(['a']);
    await first.close();
    const { hub } = await openTestHub(directory);
    expect(hub.topics.get('t') === undefined).toBe(applied);
  });
});

describe('changing', () => {
  const set = (name: string, value: string) => [{ name, operation: 'set', value }] as const;

  test('a configuration takes effect on the open logs, is announced, and outlives a restart', async () => {
    const directory = temporaryDirectory();
    const first = await openTestHub(directory);
    const before = await createTopic(first.hub, 't', 2);
    const changes: string[] = [];
    first.hub.topics.onChange(({ kind, topic }) => changes.push(`${kind} ${topic.config.maxMessageBytes}`));
    expect(await first.hub.topics.alterConfig('t', set('segment.bytes', '4096'))).toBeUndefined();
    expect(await first.hub.topics.alterConfig('t', set('max.message.bytes', '77'))).toBeUndefined();
    const after = first.hub.topics.get('t');
    expect(after?.config.maxMessageBytes).toBe(77);
    expect(after?.partitions.map(({ log }) => log?.config.segmentBytes)).toEqual([4096, 4096]);
    expect(after?.partitions).toEqual(before.partitions);
    expect(first.hub.topics.getById(before.topicId)).toBe(after);
    expect(changes).toEqual(['configured 1048588', 'configured 77']);
    await first.close();
    const { hub } = await openTestHub(directory);
    expect(hub.topics.get('t')?.logConfig.segmentBytes).toBe(4096);
  });

  test('what is not named is kept, or goes back to its default', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    await hub.topics.create(request('t', { config: { 'retention.ms': '5' } }));
    const own = () => hub.topics.get('t')?.record.config;
    await hub.topics.alterConfig('t', set('segment.ms', '9'));
    expect(own()).toEqual({ 'retention.ms': '5', 'segment.ms': '9' });
    await hub.topics.alterConfig('t', set('segment.ms', '8'), { others: 'reset' });
    expect(own()).toEqual({ 'segment.ms': '8' });
    await hub.topics.alterConfig('t', set('segment.ms', '7'), { validateOnly: true });
    expect(own()).toEqual({ 'segment.ms': '8' });
  });

  test('changes at once take effect one after the other', async () => {
    const { hub } = await openTestHub(temporaryDirectory());
    await createTopic(hub, 't');
    const names = ['segment.ms', 'retention.ms', 'flush.ms', 'delete.retention.ms'];
    await Promise.all([
      ...names.map((name) => hub.topics.alterConfig('t', set(name, '5'))),
      hub.topics.addPartitions('t', 3),
      hub.topics.addPartitions('t', 4),
    ]);
    expect(Object.keys(hub.topics.get('t')?.record.config ?? {})).toEqual(names);
    expect(hub.topics.get('t')?.partitions).toHaveLength(4);
  });

  test.each([
    ['invalid-config', 't', set('retention.ms', 'soon')],
    ['invalid-config', 't', set('preallocate', 'true')],
    ['unknown-topic', 'nope', set('retention.ms', '5')],
    ['internal-topic', '__state', set('retention.ms', '5')],
  ] as const)('%s: %s %o', async (error, name, changes) => {
    const { hub } = await openTestHub(temporaryDirectory());
    await createTopic(hub, 't');
    await hub.topics.ensureInternal('__state', 1, {});
    expect(await hub.topics.alterConfig(name, changes)).toMatchObject({ error });
    expect(hub.topics.get('t')?.record.config).toEqual({});
  });

  test('partitions are added: they take records, keep them, and the others are the same', async () => {
    const directory = temporaryDirectory();
    const first = await openTestHub(directory);
    const before = await createTopic(first.hub, 't', 1);
    await append(before.partitions[0]!, 'old');
    const changes: string[] = [];
    first.hub.topics.onChange(({ kind, topic }) => changes.push(`${kind} ${topic.partitions.length}`));
    expect(await first.hub.topics.addPartitions('t', 3)).toBeUndefined();
    expect(changes).toEqual(['extended 3']);
    const added = first.hub.topics.partition('t', 2)!;
    expect(first.hub.topics.partition('t', 0)).toBe(before.partitions[0]);
    expect(first.hub.cluster.leaderOf('t', 2)).toBe(7);
    await append(added, 'new');
    await first.close();
    const { hub } = await openTestHub(directory);
    expect(hub.topics.get('t')?.partitions).toHaveLength(3);
    expect(await readTexts(hub, hub.topics.partition('t', 2)!)).toEqual(['new']);
    expect(await readTexts(hub, hub.topics.partition('t', 0)!)).toEqual(['old']);
  });

  test.each([
    ['invalid-partitions', 't', 2],
    ['invalid-partitions', 't', 1],
    ['invalid-partitions', 't', -1],
    ['limit', 't', 101],
    ['unknown-topic', 'nope', 5],
    ['internal-topic', '__state', 5],
  ])('%s: %s with %i partitions', async (error, name, total) => {
    const { hub } = await openTestHub(temporaryDirectory());
    await createTopic(hub, 't', 2);
    await hub.topics.ensureInternal('__state', 1, {});
    expect(await hub.topics.addPartitions(name, total)).toMatchObject({ error });
    expect(hub.topics.get('t')?.partitions).toHaveLength(2);
  });
});

describe('starting', () => {
  test('raises the leader epoch of every partition, and above what is on disk', async () => {
    const directory = temporaryDirectory();
    const first = await openTestHub(directory);
    const topic = await createTopic(first.hub, 't', 2);
    await first.close();
    const second = await openTestHub(directory);
    const epochs = (hub: typeof second.hub) =>
      hub.topics.get('t')!.partitions.map((each) => each.leaderEpoch);
    expect(epochs(second.hub)).toEqual([1, 1]);
    await second.metaStore.transact({ delete: [`leaders/${topic.topicId}`] });
    await second.close();
    const third = await openTestHub(directory);
    expect(epochs(third.hub)).toEqual([2, 2]);
  });

  test('gives a topic its files when a crash came between the decision and them', async () => {
    const directory = temporaryDirectory();
    const { hub, metaStore } = await openTestHub(directory);
    const { record } = await createTopic(hub, 't', 2);
    const value = { ...record, topicId: '0cb3d4c2-5c3a-4f1e-9d5c-0d3a4f2b1c11', logIds: [1000, 1001] };
    await metaStore.transact({ put: [{ key: 'topic/u', value }] });
    const restarted = await openTestHub(copyAsIfKilled(directory));
    const { partitions, topicId } = restarted.hub.topics.get('u')!;
    expect(topicId).toBe(value.topicId);
    expect(await append(partitions[1]!, 'a')).toMatchObject({ baseOffset: 0 });
    expect(restarted.hub.faults()).toEqual([]);
  });

  test('fails with a sentence when a declared topic cannot be made', async () => {
    const declaredTopics = [{ name: 'a', partitions: 1, config: { preallocate: 'true' } }];
    await expect(openTestHub(temporaryDirectory(), { declaredTopics })).rejects.toMatchObject({
      code: 'declared-topic',
      message: expect.stringContaining('[[topic]] "a": topic config "preallocate"'),
    });
  });

  test('a partition that does not open answers with why, and the others serve', async () => {
    const directory = temporaryDirectory();
    const first = await openTestHub(directory);
    const topic = await createTopic(first.hub, 't', 2);
    await append(topic.partitions[1]!, 'a');
    await first.close();
    const bad = path.join(directory, 'topics', 't', '0');
    rmSync(bad, { recursive: true });
    writeFileSync(bad, 'a file');
    const { hub, log } = await openTestHub(directory);
    const [broken, whole] = hub.topics.get('t')!.partitions;
    expect(await append(broken!, 'b')).toMatchObject({ refused: 'storage' });
    expect(hub.cluster.leaderOf('t', 0)).toBe(-1);
    expect(hub.faults()).toEqual(['partition t-0 could not be opened']);
    expect(log.events('error')).toContain('partition-not-opened');
    expect(await readTexts(hub, whole!)).toEqual(['a']);
    expect(await append(whole!, 'b')).toMatchObject({ baseOffset: 1 });
  });
});

test('a topic that only the files know of, its entry in the MetaStore being lost, is told at the start', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  await createTopic(first.hub, 'kept');
  await append((await createTopic(first.hub, 'forgotten')).partitions[0]!, 'a');
  await first.metaStore.transact({ delete: ['topic/forgotten'] });
  await first.close();
  const second = await openTestHub(directory);
  expect(second.log.entries).toContainEqual(
    expect.objectContaining({
      level: 'error',
      event: 'topic-unknown',
      fields: expect.objectContaining({ topic: 'forgotten' }),
    }),
  );
  expect(second.log.events('error')).toEqual(['topic-unknown']);
});
