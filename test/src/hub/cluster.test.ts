// The answers about the cluster, and producer ids that never come back.
import { expect, test } from 'vitest';
import type { Endpoint } from '../../../protocols/port.ts';
import { OneNodeCluster } from '../../../src/hub/cluster.ts';
import { NumberBlocks } from '../../../src/hub/number-blocks.ts';
import type { MetaStore } from '../../../storage/index.ts';
import { copyAsIfKilled, createTopic, openTestHub, temporaryDirectory } from './hub-fixture.ts';

test('nodes, leaders and replicas are those of the configured node', async () => {
  const { hub, store } = await openTestHub(temporaryDirectory());
  await createTopic(hub, 't', 2);
  expect(hub.cluster.clusterId).toBe(store.identity.clusterId);
  expect(hub.cluster.nodes()).toEqual([{ nodeId: 7, rack: undefined }]);
  expect(hub.cluster.controller()).toBe(7);
  expect([hub.cluster.leaderOf('t', 1), hub.cluster.leaderOf('t', 2), hub.cluster.leaderOf('u', 0)]).toEqual([
    7, -1, -1,
  ]);
  expect([hub.cluster.replicasOf('t', 0), hub.cluster.replicasOf('u', 0)]).toEqual([[7], []]);
});

test('a listener has the endpoint that it advertises, else none', async () => {
  const { hub, metaStore } = await openTestHub(temporaryDirectory());
  const endpoint: Endpoint = { host: 'broker.example', port: 9092 };
  const cluster = new OneNodeCluster({
    clusterId: 'c',
    nodeId: 3,
    rack: 'a',
    topics: hub.topics,
    producerIds: new NumberBlocks(metaStore, 'producer-id', 10),
    advertised: (listener) => (listener === 'outside' ? endpoint : undefined),
  });
  expect(cluster.endpoint(3, 'outside')).toEqual(endpoint);
  expect(cluster.endpoint(3, 'inside')).toBeUndefined();
  expect(cluster.endpoint(4, 'outside')).toBeUndefined();
});

test('producer ids never come back, concurrently, over blocks, after a clean stop or a kill', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  const ids = await Promise.all(Array.from({ length: 2500 }, () => first.hub.cluster.allocateProducerId()));
  const killed = await openTestHub(copyAsIfKilled(directory));
  ids.push(await killed.hub.cluster.allocateProducerId());
  expect(new Set(ids).size).toBe(2501);
  await first.close();
  const { hub } = await openTestHub(directory);
  expect(ids.slice(0, 2500)).not.toContain(await hub.cluster.allocateProducerId());
});

test('an allocation that fails is an error for who asked, and the next one tries again', async () => {
  let failing = true;
  const allocate: MetaStore['allocate'] = async () => {
    if (failing) throw new Error('no');
    return 5000;
  };
  const blocks = new NumberBlocks({ allocate } as MetaStore, 'n', 2); // it uses nothing else
  const failed = await Promise.allSettled([blocks.allocate(), blocks.allocate()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  failing = false;
  expect(await Promise.all([blocks.allocate(), blocks.allocate()])).toEqual([5000, 5001]);
});
