// State tables: live and replayed state are the same, and a failed write leaves no trace.
import { expect, test } from 'vitest';
import type { StatePartitionState } from '../../../protocols/port.ts';
import type { LocalHub } from '../../../src/hub/hub.ts';
import { copyAsIfKilled, FaultyFileSystem, openTestHub, temporaryDirectory } from './hub-fixture.ts';

interface Applied {
  readonly partition: number;
  readonly key: string;
  readonly value: string | null;
  readonly offset: number;
}

async function openTable(hub: LocalHub, topic = '__test') {
  const applied: Applied[] = [];
  const states: [number, StatePartitionState][] = [];
  const table = await hub.stateTable({
    topic,
    apply: (partition, key, value, offset) =>
      applied.push({
        partition,
        key: key.toString(),
        value: value === null ? null : value.toString(),
        offset,
      }),
    onState: (partition, state) => states.push([partition, state]),
  });
  const write = (partition: number, entries: Record<string, string | null>) =>
    table.write(
      partition,
      Object.entries(entries).map(([key, value]) => ({
        key: Buffer.from(key),
        value: value === null ? null : Buffer.from(value),
      })),
    );
  return { table, applied, states, write };
}

const byPartition = (applied: readonly Applied[]) =>
  applied.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset);

test('a write is applied in order when it resolves; null and empty values stay apart', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const { table, applied, write } = await openTable(hub);
  expect(table.partitions).toBe(4);
  expect(await write(1, { a: '1', b: '' })).toBeUndefined();
  expect(applied).toHaveLength(2);
  await Promise.all([write(1, { a: null }), write(1, { c: '3' })]);
  expect(applied.map(({ key, value, offset }) => [key, value, offset])).toEqual([
    ['a', '1', 0],
    ['b', '', 1],
    ['a', null, 2],
    ['c', '3', 3],
  ]);
  expect(await write(1, {})).toBeUndefined();
});

test('a restart replays what was applied live, after a clean stop and after a kill', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  const live = await openTable(first.hub);
  for (let turn = 0; turn < 40; turn++) {
    await live.write(turn % 4, { [`key ${turn % 7}`]: turn % 5 === 0 ? null : `value ${turn}` });
  }
  const killed = await openTable((await openTestHub(copyAsIfKilled(directory))).hub);
  expect(byPartition(killed.applied)).toEqual(byPartition(live.applied));
  await first.close();
  const { hub } = await openTestHub(directory);
  const replayed = await openTable(hub);
  expect(byPartition(replayed.applied)).toEqual(byPartition(live.applied));
  expect(replayed.states.filter(([partition]) => partition === 2)).toEqual([
    [2, 'loading'],
    [2, 'serving'],
  ]);
});

test('a record is read back by its offset, out of a batch too; nothing stands where none was written', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  const { table, write } = await openTable(first.hub);
  await write(0, { a: '1', b: '2', c: null });
  await write(0, { d: '' });
  const readAll = async (read: (offset: number) => ReturnType<typeof table.read>) => {
    const records = await Promise.all([0, 1, 2, 3, 4].map(read));
    return records.map((record) => record && [record.key.toString(), record.value?.toString() ?? null]);
  };
  const expected = [['a', '1'], ['b', '2'], ['c', null], ['d', ''], undefined];
  expect(await readAll((offset) => table.read(0, offset))).toEqual(expected);
  await first.close();
  await expect(table.read(0, 0)).rejects.toMatchObject({ code: 'closed' });
  const { table: reopened } = await openTable((await openTestHub(directory)).hub);
  expect(await readAll((offset) => reopened.read(0, offset))).toEqual(expected);
});

test('a failed write is refused and never applied', async () => {
  const faulty = new FaultyFileSystem();
  const { hub } = await openTestHub(temporaryDirectory(), { fileSystem: faulty.fileSystem });
  const { applied, write } = await openTable(hub);
  await write(0, { a: '1' });
  faulty.failFlushes = true;
  const results = await Promise.all([write(0, { b: '2' }), write(0, { c: '3' })]);
  expect(results).toMatchObject([{ refused: 'storage' }, { refused: 'storage' }]);
  faulty.failFlushes = false;
  expect(await write(0, { d: '4' })).toMatchObject({ refused: 'storage' });
  expect(await write(1, { e: '5' })).toBeUndefined();
  expect(applied.map(({ key }) => key)).toEqual(['a', 'e']);
});

test('a record that its reader does not understand does not keep the others from it', async () => {
  const { hub, log } = await openTestHub(temporaryDirectory());
  const applied: string[] = [];
  const table = await hub.stateTable({
    topic: '__test',
    apply: (_partition, key) => {
      if (key.toString() === 'bad') throw new Error('mine');
      applied.push(key.toString());
    },
  });
  const records = ['a', 'bad', 'b'].map((key) => ({ key: Buffer.from(key), value: null }));
  expect(await table.write(0, records)).toBeUndefined();
  expect(applied).toEqual(['a', 'b']);
  expect(log.events('error')).toEqual(['state-record-refused']);
});

test('a scan hands over every record of a partition in its order, stretch by stretch, the replaced ones too', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const { table, write } = await openTable(hub);
  for (const key of ['1', '2', null, '4']) await write(0, { key });
  const seen: string[] = [];
  const stretches: number[] = [];
  for (let next = 0; next < 4; stretches.push(next)) {
    next = await table.scan(0, next, 1, (key, value, offset) => seen.push(`${offset} ${key} ${value}`));
  }
  expect(seen).toEqual(['0 key 1', '1 key 2', '2 key null', '3 key 4']);
  expect(stretches).toEqual([1, 2, 3, 4]);
  expect(await table.scan(0, 4, 1, () => seen.push('more'))).toBe(4);
  expect(seen).toHaveLength(4);
  hub.close();
  await expect(table.scan(0, 0, 1, () => {})).rejects.toMatchObject({ code: 'closed' });
});

test('after the hub is closed a table serves nothing and its state is dropped', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const { table, states, write } = await openTable(hub);
  hub.close();
  expect(table.stateOf(3)).toBe('gone');
  expect(states.filter(([, state]) => state === 'gone')).toHaveLength(4);
  expect(await write(0, { a: '1' })).toMatchObject({ refused: 'not-leader' });
});

test('the partition of an id is the one of its key, and its leader coordinates it', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const { table } = await openTable(hub, '__consumer_offsets');
  expect(table.partitionOf('device-1')).toBe(hub.partitionFor(Buffer.from('device-1'), 4));
  expect(hub.cluster.coordinatorOf('group', 'device-1')).toBe(7);
  expect(hub.cluster.coordinatorOf('transaction', 'device-1')).toBe(-1);
  expect(hub.topics.get('__consumer_offsets')).toMatchObject({
    internal: true,
    config: { cleanupPolicy: 'compact' },
  });
});

test('the number of partitions is fixed when the topic is first made', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory, { topics: { statePartitions: 2 } });
  await openTable(first.hub);
  await first.close();
  const { hub } = await openTestHub(directory, { topics: { statePartitions: 8 } });
  expect((await openTable(hub)).table.partitions).toBe(2);
});

test('a restart reads what compaction has left, not all that was ever written', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  const live = await openTable(first.hub);
  const groups = Array.from({ length: 20 }, (_, group) => `offsets of group ${group}`);
  const commits = 100_000;
  const perWrite = 500;
  for (let at = 0; at < commits; at += perWrite) {
    const records = Array.from({ length: perWrite }, (_, index) => ({
      key: Buffer.from(groups[(at + index) % groups.length]!), // below the length
      value: Buffer.from(`${at + index}`.padEnd(80)),
    }));
    expect(await live.table.write(1, records)).toBeUndefined();
  }
  await live.write(1, { [groups[3]!]: null, done: '1' });
  await first.store.maintain();
  await first.close();

  const second = await openTestHub(directory);
  const reread = await openTable(second.hub);
  expect(reread.applied.length).toBeLessThan(commits / 10);
  // What was written to last is compacted now that it is closed.
  await second.store.maintain();
  await second.close();

  const third = await openTestHub(directory);
  const replayed = await openTable(third.hub);
  const last = (applied: readonly Applied[]) => [
    ...new Map(applied.map((each) => [each.key, each])).values(),
  ];
  const byOffset = (applied: readonly Applied[]) => last(applied).toSorted((a, b) => a.offset - b.offset);
  expect(replayed.applied).toEqual(byOffset(live.applied));
  expect(replayed.applied.length).toBe(groups.length + 1);
  expect(await replayed.write(1, { done: '2' })).toBeUndefined();
  expect(replayed.applied.at(-1)).toMatchObject({ key: 'done', value: '2', offset: commits + 2 });
  await third.close();
});
