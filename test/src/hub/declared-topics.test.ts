// Topics that the configuration declares: in effect from the start and from each reload on, and changed there alone.
import { expect, test } from 'vitest';
import type { TopicConfigChange, TopicError } from '../../../protocols/port.ts';
import type { DeclaredTopic } from '../../../src/config/broker-config.ts';
import type { LocalHub } from '../../../src/hub/hub.ts';
import { createTopic, openTestHub, TOPIC_DEFAULTS, temporaryDirectory } from './hub-fixture.ts';

const declared = (name: string, partitions: number, config: Record<string, string> = {}): DeclaredTopic => ({
  ...{ name, partitions, config },
  origin: {
    topic: 'polylog.toml:3',
    partitions: 'polylog.toml:4',
    config: Object.fromEntries(Object.keys(config).map((key) => [key, 'polylog.toml:5'])),
  },
});

const set = (name: string, value: string): TopicConfigChange => ({ name, operation: 'set', value });

const changes = (hub: LocalHub, topics: Partial<typeof TOPIC_DEFAULTS>, declaredTopics: DeclaredTopic[]) =>
  hub.reconfigure({ topics: { ...TOPIC_DEFAULTS, ...topics }, declaredTopics, advertised: new Map() });

const partitionsOf = (hub: LocalHub) =>
  hub.topics.list().map(({ name, partitions }) => [name, partitions.length]);

test('a start makes what is missing, sets what differs and adds partitions; fewer are told', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory, {
    declaredTopics: [declared('a', 2), declared('c', 5), declared('d', 1)],
  });
  await first.close();
  const { hub, log } = await openTestHub(directory, {
    declaredTopics: [
      declared('a', 3),
      declared('b', -1, { 'segment.bytes': '2048' }),
      declared('c', 4),
      declared('d', -1, { 'cleanup.policy': 'compact' }),
    ],
  });
  expect(partitionsOf(hub)).toEqual([
    ['a', 3],
    ['b', 1],
    ['c', 5],
    ['d', 1],
  ]);
  expect(hub.topics.get('d')?.config.cleanupPolicy).toBe('compact');
  expect(log.events('warn')).toEqual(['declared-topic-differs']);
});

test.each<[string, string, (hub: LocalHub) => Promise<unknown>]>([
  [
    'to be deleted',
    'topic t is declared at polylog.toml:3: take it out there, and reload',
    (hub) => hub.topics.delete('t'),
  ],
  [
    'other partitions',
    'topic t has 2 partitions declared at polylog.toml:4: change it there, and reload',
    (hub) => hub.topics.addPartitions('t', 3, { validateOnly: true }),
  ],
  [
    'another config',
    'topic t has retention.ms=5000 declared at polylog.toml:5: change it there, and reload',
    (hub) => hub.topics.alterConfig('t', [set('retention.ms', '1')]),
  ],
  [
    'its config back',
    'topic t has retention.ms=5000 declared at polylog.toml:5: change it there, and reload',
    (hub) => hub.topics.alterConfig('t', [set('segment.ms', '1000')], { others: 'reset' }),
  ],
])('a declared topic is not given %s', async (_, message, attempt) => {
  const { hub } = await openTestHub(temporaryDirectory(), {
    declaredTopics: [declared('t', 2, { 'retention.ms': '5000' })],
  });
  const refusal = (await attempt(hub)) as TopicError;
  expect(refusal).toMatchObject({ error: 'declared', message });
  expect(refusal.declaredAt).toBe(/polylog.toml:\d/.exec(message)?.[0]);
  expect(hub.topics.declaredAt('t')).toBe('polylog.toml:3');
  expect(hub.topics.describeConfig('t')?.find(({ name }) => name === 'retention.ms')?.value).toBe('5000');
});

test('what a declaration leaves open is changed as ever, and so is a topic that is not declared', async () => {
  const { hub } = await openTestHub(temporaryDirectory(), {
    declaredTopics: [declared('t', -1, { 'retention.ms': '5000' })],
  });
  await createTopic(hub, 'free');
  const kept = [set('retention.ms', '5000'), set('segment.ms', '1000')];
  expect(await hub.topics.alterConfig('t', kept, { others: 'reset' })).toBeUndefined();
  expect(await hub.topics.addPartitions('t', 3)).toBeUndefined();
  expect(await hub.topics.delete('free')).toBeUndefined();
  expect(hub.topics.declaredAt('free')).toBeUndefined();
});

test('a reload makes, changes and frees declared topics', async () => {
  const { hub } = await openTestHub(temporaryDirectory(), { declaredTopics: [declared('gone', 1)] });
  await changes(hub, {}, [declared('t', 2, { 'retention.ms': '5000' })]);
  expect(partitionsOf(hub)).toEqual([
    ['gone', 1],
    ['t', 2],
  ]);
  expect(await hub.topics.delete('gone')).toBeUndefined();
  expect(await hub.topics.delete('t')).toMatchObject({ error: 'declared' });
  await changes(hub, {}, [declared('t', 3, { 'retention.ms': '6000' })]);
  expect(partitionsOf(hub)).toEqual([['t', 3]]);
  expect(hub.topics.describeConfig('t')?.find(({ name }) => name === 'retention.ms')?.value).toBe('6000');
});

test('a declared topic that cannot be made leaves everything as it was', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  await createTopic(hub, 'a.b');
  const impossible = changes(hub, { partitions: 7, config: { 'retention.ms': '1' } }, [
    declared('new', 1),
    declared('a_b', 1),
  ]);
  await expect(impossible).rejects.toMatchObject({ code: 'declared-topic' });
  expect(partitionsOf(hub)).toEqual([['a.b', 1]]);
  expect(hub.settings.defaultPartitions).toBe(1);
  expect(hub.topics.describeConfig('a.b')?.find(({ name }) => name === 'retention.ms')?.source).toBe(
    'default',
  );
});

test('other defaults are in effect at once, on topics that say nothing themselves and on their logs', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const follows = await createTopic(hub, 'follows');
  await createTopic(hub, 'own');
  await hub.topics.alterConfig('own', [set('max.message.bytes', '7')]);
  const told: string[] = [];
  hub.topics.onChange(({ kind, topic }) => void told.push(`${kind} ${topic.name}`));
  await changes(
    hub,
    { partitions: 3, autoCreate: false, config: { 'max.message.bytes': '99', 'retention.ms': '77' } },
    [],
  );
  expect(hub.topics.get('follows')?.config.maxMessageBytes).toBe(99);
  expect(hub.topics.get('own')?.config.maxMessageBytes).toBe(7);
  expect(follows.partitions[0]?.log?.config.retentionMs).toBe(77);
  expect(told).toEqual(['configured follows', 'configured own']);
  expect((await createTopic(hub, 'new', -1)).partitions).toHaveLength(3);
  expect(await hub.topics.ensure('never')).toMatchObject({ error: 'unknown-topic' });
  expect(hub.settings).toMatchObject({ defaultPartitions: 3, autoCreate: false });
});

test('defaults that nobody may have are refused', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  await expect(changes(hub, { config: { nonsense: '1' } }, [])).rejects.toMatchObject({
    code: 'topic-config',
  });
});
