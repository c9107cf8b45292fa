// A data directory whose meta/ was lost or damaged: no hub starts on it, and `polylog log rebuild-meta` makes it anew.
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { rebuildTopics } from '../../../src/hub/topic-rebuilding.ts';
import { readTopicEntry, TOPIC_PREFIX } from '../../../src/hub/topic-records.ts';
import type { Broker } from '../../../src/running-broker.ts';
import { runBroker } from '../../../src/running-broker.ts';
import { openMetaStore } from '../../../storage/index.ts';
import { runLog } from '../../helpers/inspect.ts';
import { configOf } from '../broker-fixture.ts';
import { append, temporaryDirectory } from '../hub/hub-fixture.ts';
import { TestLog } from '../hub/test-log.ts';

const SESSIONS = '__mqtt_sessions';

const start = (directory: string): Promise<Broker> =>
  runBroker({ ...configOf(path.join(directory, 'data'), []), declaredTopics: [] }, new TestLog(), []);

/** What there is: topics with their ends, and what the state table says. */
async function whatThereIs({ hub }: Broker) {
  const state: string[] = [];
  await hub.stateTable({
    topic: SESSIONS,
    apply: (_partition, key, value) => void state.push(`${key} ${value}`),
  });
  const topics = hub.topics.list().map(({ name, topicId, internal, partitions }) => {
    return { name, topicId, internal, ends: partitions.map(({ highWatermark }) => highWatermark) };
  });
  return { topics, state };
}

async function filled(directory: string) {
  const broker = await start(directory);
  const { hub } = broker;
  const create = (name: string, partitions: number, config: Record<string, string> = {}) =>
    hub.topics.create({ name, partitions, replicationFactor: -1, config });
  await create('plant', 3);
  await create('latest', 1, { 'cleanup.policy': 'compact', 'retention.ms': '1000' });
  await append(hub.topics.partition('plant', 1)!, 'a', 'b');
  await append(hub.topics.partition('latest', 0)!, 'c');
  const table = await hub.stateTable({ topic: SESSIONS, apply: () => undefined });
  await table.write(0, [{ key: Buffer.from('client'), value: Buffer.from('session') }]);
  const producerId = await hub.cluster.allocateProducerId();
  const epoch = hub.topics.partition('plant', 1)!.leaderEpoch;
  const there = await whatThereIs(broker);
  await broker.stop();
  return { there, producerId, epoch };
}

it('lost: the start is refused, and what the files say is there again', async () => {
  const directory = temporaryDirectory();
  const { there, producerId, epoch } = await filled(directory);
  const meta = path.join(directory, 'data', 'meta');
  rmSync(meta, { recursive: true });
  expect(await runLog(['rebuild-meta', 'data', '--dry-run'], directory)).toMatchObject({
    ...{ exitCode: 0, err: '' },
    out: expect.stringMatching(
      /^__mqtt_sessions: 4 partitions\nlatest: 1 partition\nplant: 3 partitions\n3 topics would be/,
    ),
  });
  expect(existsSync(meta)).toBe(false);
  await expect(start(directory)).rejects.toMatchObject({
    code: 'data-directory',
    message: expect.stringMatching(
      /was lost: it has no topics, and there are 3 topics on disk \(__mqtt_sessions, latest, plant\)/,
    ),
  });

  expect(await runLog(['rebuild-meta', 'data'], directory)).toMatchObject({ exitCode: 0, err: '' });
  const broker = await start(directory);
  expect(await whatThereIs(broker)).toEqual(there);
  const { hub } = broker;
  // What topics were to keep is not known: nothing of them goes.
  const kept = hub.topics.describeConfig('latest')?.filter(({ name }) => /^(?:retention|cleanup)/.test(name));
  expect(kept?.map(({ name, value }) => `${name}=${value}`).sort()).toEqual([
    ...['cleanup.policy=delete', 'retention.bytes=-1', 'retention.ms=-1'],
  ]);
  expect(hub.topics.get(SESSIONS)?.config.cleanupPolicy).toBe('compact');
  expect(hub.topics.partition('plant', 1)?.leaderEpoch).toBeGreaterThan(epoch);
  expect(await hub.cluster.allocateProducerId()).toBeGreaterThan(producerId);
  expect(await append(hub.topics.partition('plant', 1)!, 'd')).toMatchObject({ baseOffset: 2 });
  await broker.stop();

  const again = await runLog(['rebuild-meta', 'data'], directory);
  expect(again).toMatchObject({
    exitCode: 1,
    out: '',
    err: expect.stringContaining('knows of 3 topics: it is not lost'),
  });
  expect((await runLog(['verify', 'data'], directory)).exitCode).toBe(0);
});

it('a crash on the way leaves it as lost as before: what is made anew is one transaction', async () => {
  const directory = temporaryDirectory();
  const store = await openMetaStore(path.join(directory, 'meta'));
  const topics = [
    { name: 'a', topicId: 'id-a', partitions: 3 },
    { name: 'b', topicId: 'id-b', partitions: 1 },
  ];
  expect(await rebuildTopics(store, topics, 1_000)).toEqual({ outcome: 'applied', revision: 1 });
  expect(await store.revision()).toBe(1);
  const logIds = (await store.list(TOPIC_PREFIX)).map((entry) => readTopicEntry(entry).record.logIds);
  expect(logIds).toEqual([[0, 1, 2], [3]]);
  expect([await store.allocate('log-id', 1), await store.allocate('producer-id', 1)]).toEqual([4, 1_000]);
  await store.close();
});

it('lost, but for counters: the start is refused, and it is made anew all the same', async () => {
  const directory = temporaryDirectory();
  const { there, producerId } = await filled(directory);
  const meta = path.join(directory, 'data', 'meta');
  rmSync(meta, { recursive: true });
  const store = await openMetaStore(meta);
  await store.allocate('log-id', 100);
  await store.allocate('producer-id', 100);
  await store.close();
  await expect(start(directory)).rejects.toMatchObject({ code: 'data-directory' });
  expect(await runLog(['rebuild-meta', 'data'], directory)).toMatchObject({ exitCode: 0, err: '' });
  const broker = await start(directory);
  expect(await whatThereIs(broker)).toEqual(there);
  expect(await broker.hub.cluster.allocateProducerId()).toBeGreaterThan(producerId);
  await broker.stop();
});

it.each(['CURRENT', '.ldb'])('damaged in %s: it is set aside, and made anew', async (file) => {
  const directory = temporaryDirectory();
  const { there } = await filled(directory);
  const data = path.join(directory, 'data');
  // An opening puts what was written in tables.
  await (await openMetaStore(path.join(data, 'meta'))).close();
  for (const name of readdirSync(path.join(data, 'meta'))) {
    if (name.endsWith(file)) writeFileSync(path.join(data, 'meta', name), 'nothing\n');
  }
  await expect(start(directory)).rejects.toMatchObject({ code: 'corrupt' });
  const { exitCode, out } = await runLog(['rebuild-meta', 'data'], directory);
  expect([exitCode, out]).toEqual([
    0,
    expect.stringMatching(/^data\/meta is damaged, and is meta.damaged-\d+ now\n/),
  ]);
  expect(readdirSync(data).filter((name) => name.startsWith('meta'))).toHaveLength(2);
  const broker = await start(directory);
  expect(await whatThereIs(broker)).toEqual(there);
  await broker.stop();
});

it('is for data directories alone', async () => {
  const directory = temporaryDirectory();
  await (await start(directory)).stop();
  expect(await runLog(['rebuild-meta', 'elsewhere'], directory)).toMatchObject({ exitCode: 1, out: '' });
});
