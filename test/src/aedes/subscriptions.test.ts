// Subscriptions of aedes' clients on disk: what changes is written, and no more.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogPersistence } from '../../../src/aedes/aedes-persistence.ts';
import { type AedesFixture, openAedesFixture } from './aedes-fixture.ts';

let fixture: AedesFixture;
beforeAll(async () => {
  fixture = await openAedesFixture();
});
afterAll(() => fixture.close());

const client = { id: 'c' };
const subscription = (topic: string, qos: 0 | 1 | 2 = 1) => ({ topic, qos, rh: 0, rap: false, nl: false });
const topicsOf = async (persistence: LogPersistence) =>
  (await persistence.subscriptionsByClient(client)).map(({ topic }) => topic).sort();

it('one more costs as much as the first, however many there are', async () => {
  const persistence = await LogPersistence.open(fixture.hub, '__aedes_many');
  const partition = fixture.hub.topics.partition('__aedes_many', 0)!;
  const costs: number[] = [];
  for (let index = 100; index < 200; index++) {
    const before = partition.byteSize;
    await persistence.addSubscriptions(client, [subscription(`a/${index}`)]);
    costs.push(partition.byteSize - before);
  }
  expect(costs.at(-1)).toBe(costs[0]);
  const before = partition.byteSize;
  await persistence.addSubscriptions(client, [subscription('a/150')]);
  expect(partition.byteSize).toBe(before);
  await persistence.addSubscriptions(client, [subscription('a/150', 2)]);
  expect(partition.byteSize).toBeGreaterThan(before);
});

it('what is asked for at once is as if it came one after the other, after a restart too', async () => {
  const persistence = await LogPersistence.open(fixture.hub, '__aedes_at_once');
  await Promise.all([
    persistence.addSubscriptions(client, [subscription('a'), subscription('b'), subscription('c', 0)]),
    persistence.removeSubscriptions(client, ['b', 'unknown']),
    persistence.addSubscriptions(client, [subscription('d')]),
  ]);
  expect(await topicsOf(persistence)).toEqual(['a', 'c', 'd']);
  expect(await persistence.countOffline()).toEqual({ subsCount: 2, clientsCount: 1 });
  fixture = await fixture.restart();
  const again = await LogPersistence.open(fixture.hub, '__aedes_at_once');
  expect(await topicsOf(again)).toEqual(['a', 'c', 'd']);
  await Promise.all([
    again.removeSubscriptions(client, ['a']),
    again.addSubscriptions(client, [subscription('a', 2)]),
  ]);
  expect((await again.subscriptionsByTopic('a')).map(({ qos }) => qos)).toEqual([2]);
  await Promise.all([again.addSubscriptions(client, [subscription('e')]), again.cleanSubscriptions(client)]);
  expect(await topicsOf(again)).toEqual([]);
  expect(await again.countOffline()).toEqual({ subsCount: 0, clientsCount: 0 });
});

it('subscriptions as earlier versions stored them are there, and none comes back once it was given up', async () => {
  const topic = '__aedes_earlier';
  const table = await fixture.hub.stateTable({ topic, apply: () => undefined });
  // Letter, length of the identifier, identifier; then a filter, where one was stored by itself.
  const list = Buffer.from('73000163', 'hex');
  const one = Buffer.from('73000163622f23', 'hex');
  await table.write(0, [
    {
      key: list,
      value: Buffer.from(
        '[{"topic":"a","qos":1,"rh":0,"rap":false,"nl":false},{"topic":"d","qos":0,"rh":0,"rap":false,"nl":false}]',
      ),
    },
    { key: one, value: Buffer.from('{"topic":"b/#","qos":2,"rh":0,"rap":false,"nl":false}') },
    { key: Buffer.from('7a', 'hex'), value: Buffer.from('of a later version') },
  ]);
  fixture = await fixture.restart();
  const persistence = await LogPersistence.open(fixture.hub, topic);
  expect(await topicsOf(persistence)).toEqual(['a', 'b/#', 'd']);
  expect((await persistence.subscriptionsByTopic('b/c')).map(({ qos }) => qos)).toEqual([2]);
  expect(await persistence.countOffline()).toEqual({ subsCount: 2, clientsCount: 1 });
  await persistence.removeSubscriptions(client, ['a']);
  fixture = await fixture.restart();
  const kept = new Map<string, boolean>();
  const stored = await fixture.hub.stateTable({
    topic,
    apply: (_partition, key, value) => void kept.set(key.toString('hex'), value !== null),
  });
  expect(stored.partitions).toBe(1);
  expect([kept.get(list.toString('hex')), kept.get(one.toString('hex'))]).toEqual([false, false]);
  fixture = await fixture.restart();
  expect(await topicsOf(await LogPersistence.open(fixture.hub, topic))).toEqual(['b/#', 'd']);
});
