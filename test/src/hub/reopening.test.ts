// A disk that is full and has room again: what is refused, with what, and that everything comes back by itself with
// nothing lost that was promised.
import { describe, expect, test } from 'vitest';
import type { LocalHub } from '../../../src/hub/hub.ts';
import type { HubPartition } from '../../../src/hub/partition.ts';
import { type Fault, FaultyFileSystem } from '../../helpers/faulty-file-system.ts';
import { TestClock } from '../../helpers/store-fixture.ts';
import {
  append,
  createPartition,
  createTopic,
  openTestHub,
  readTexts,
  type TestHub,
  temporaryDirectory,
  textsOf,
} from './hub-fixture.ts';

const MIB = 1024 * 1024;
const TEXT = 'x'.repeat(10_000);

interface Machine extends TestHub {
  readonly files: FaultyFileSystem;
  readonly clock: TestClock;
}

async function openMachine(
  options: { readonly diskReserveBytes?: number; readonly capacityBytes?: number } = {},
): Promise<Machine> {
  const directory = temporaryDirectory();
  const files = new FaultyFileSystem([directory]);
  files.capacityBytes = options.capacityBytes ?? Number.POSITIVE_INFINITY;
  const clock = new TestClock();
  return {
    ...(await openTestHub(directory, { fileSystem: files.process(), clock, ...options })),
    files,
    clock,
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets the clock run until something is so. */
async function until({ clock }: Machine, isSo: () => boolean): Promise<void> {
  for (let each = 0; !isSo(); each++) {
    if (each % 100 === 99) clock.advance(1000);
    await turn();
  }
}

/** Appends until that is refused; returns how many were acknowledged, and the refusal. */
async function fill(partition: HubPartition): Promise<{ readonly count: number; readonly refused: string }> {
  for (let count = 0; ; count++) {
    const result = await append(partition, `${count} ${TEXT}`);
    if (result.refused !== undefined) return { count, refused: result.refused };
  }
}

const numbersOf = (texts: readonly string[]) => texts.map((text) => Number.parseInt(text, 10));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

async function openTable(hub: LocalHub) {
  const applied = new Map<string, string>();
  const table = await hub.stateTable({
    topic: '__test',
    apply: (_partition, key, value) => applied.set(key.toString(), String(value)),
    onState: () => {},
  });
  const write = (key: string, value: string) =>
    table.write(0, [{ key: Buffer.from(key), value: Buffer.from(value) }]);
  return { table, applied, write };
}

describe('with a reserve', () => {
  test('appends are refused as disk-full and nothing fails; consumers may go on committing', async () => {
    const machine = await openMachine({ diskReserveBytes: MIB, capacityBytes: 2 * MIB });
    const { hub, files } = machine;
    const { applied, write } = await openTable(hub);
    const partition = await createPartition(hub, 't');
    const { count, refused } = await fill(partition);
    expect([refused, partition.log?.failed]).toEqual(['disk-full', undefined]);
    expect(await write('group', 'offset')).toBeUndefined();
    expect(applied.get('group')).toBe('offset');
    expect(numbersOf(await readTexts(hub, partition))).toEqual(upTo(count));
    expect(hub.faults()).toEqual(['appends are refused: less is free on the disk than its reserve']);
    expect(await hub.topics.ensure('new')).toMatchObject({ error: 'limit' });
    expect(hub.topics.get('new')).toBeUndefined();

    files.capacityBytes += MIB;
    await until(machine, () => hub.faults().length === 0);
    expect(await append(partition, 'again')).toMatchObject({ baseOffset: count });
    expect(partition.leaderEpoch).toBe(0);
  });

  test('deleting a topic makes room', async () => {
    const machine = await openMachine({ diskReserveBytes: MIB, capacityBytes: 3 * MIB });
    const { hub } = machine;
    const partition = await createPartition(hub, 't');
    const other = await createPartition(hub, 'other');
    const { refused } = await fill(partition);
    expect(refused).toBe('disk-full');
    expect(await append(other, 'refused')).toMatchObject({ refused: 'disk-full' });
    expect(await hub.topics.delete('t')).toBeUndefined();
    await until(machine, () => hub.faults().length === 0);
    expect(await append(other, 'taken')).toMatchObject({ baseOffset: 0 });
  });
});

describe('without a reserve', () => {
  test('a partition that met a full disk opens again under the next leader epoch, whole', async () => {
    const machine = await openMachine();
    const { hub, files, log } = machine;
    const partition = await createPartition(hub, 't');
    files.capacityBytes = files.usedBytes + MIB;
    const { count, refused } = await fill(partition);
    expect(refused).toBe('disk-full');
    expect(await append(partition, 'refused')).toMatchObject({ refused: 'disk-full' });
    expect(numbersOf(await readTexts(hub, partition))).toEqual(upTo(count));

    // Not for as little as this.
    files.capacityBytes += MIB;
    for (let each = 0; each < 3; each++) {
      machine.clock.advance(1000);
      await turn();
    }
    expect(partition.leaderEpoch).toBe(0);
    files.capacityBytes += 16 * MIB;
    await until(machine, () => partition.leaderEpoch === 1);
    expect(await append(partition, `${count}`)).toMatchObject({ baseOffset: count });
    expect(numbersOf(await readTexts(hub, partition))).toEqual(upTo(count + 1));
    expect(hub.faults()).toEqual([]);
    expect(log.events('info').filter((event) => event === 'partition-reopened')).toHaveLength(1);
  });

  test('followers go on where they are, and see no torn batch', async () => {
    const machine = await openMachine();
    const { hub, files } = machine;
    const partition = await createPartition(hub, 't');
    const seen: string[] = [];
    hub.follow(partition, {
      fromOffset: 0,
      onRange: (range) => {
        seen.push(...textsOf(hub, range));
        range.release?.();
      },
    });
    files.capacityBytes = files.usedBytes + MIB;
    const { count } = await fill(partition);
    await until(machine, () => seen.length === count);
    files.capacityBytes += 16 * MIB;
    await until(machine, () => partition.leaderEpoch === 1);
    await append(partition, `${count}`);
    await until(machine, () => seen.length > count);
    expect(numbersOf(seen)).toEqual(upTo(count + 1));
  });

  test('a state table survives it, with all that was written and nothing else', async () => {
    const machine = await openMachine();
    const { hub, files } = machine;
    const { table, applied, write } = await openTable(hub);
    expect(await write('before', '1')).toBeUndefined();
    files.capacityBytes = files.usedBytes;
    expect(await write('lost', '1')).toMatchObject({ refused: 'disk-full' });
    expect(await write('refused', '1')).toMatchObject({ refused: 'disk-full' });
    files.capacityBytes += 16 * MIB;
    const { partitions } = hub.topics.get('__test')!;
    await until(machine, () => partitions[0]!.leaderEpoch === 1);
    expect(table.stateOf(0)).toBe('serving');
    expect(await write('after', '1')).toBeUndefined();
    expect([...applied.keys()]).toEqual(['before', 'after']);
    expect(partitions.slice(1).map(({ leaderEpoch }) => leaderEpoch)).toEqual([0, 0, 0]);
  });

  test('all partitions of all topics come back', async () => {
    const machine = await openMachine();
    const { hub, files } = machine;
    const topics = [await createTopic(hub, 'a', 3), await createTopic(hub, 'b', 2)];
    const partitions = topics.flatMap((topic) => topic.partitions);
    files.capacityBytes = files.usedBytes;
    for (const partition of partitions) {
      expect(await append(partition, 'lost')).toMatchObject({ refused: 'disk-full' });
    }
    files.capacityBytes += 16 * MIB;
    await until(machine, () => hub.faults().length === 0);
    for (const partition of partitions) expect(await append(partition, 'x')).toMatchObject({ baseOffset: 0 });
    expect(partitions.map(({ leaderEpoch }) => leaderEpoch)).toEqual([1, 1, 1, 1, 1]);
  });

  test('a topic that is deleted meanwhile does not come back', async () => {
    const machine = await openMachine();
    const { hub, files } = machine;
    const partition = await createPartition(hub, 't');
    files.capacityBytes = files.usedBytes;
    await append(partition, 'lost');
    expect(await hub.topics.delete('t')).toBeUndefined();
    files.capacityBytes += 16 * MIB;
    for (let each = 0; each < 300; each++) {
      if (each % 100 === 0) machine.clock.advance(1000);
      await turn();
    }
    expect(partition.deleted).toBe(true);
    expect(files.paths().filter((path) => path.includes('/topics/'))).toEqual([]);
    await createPartition(hub, 't');
  });

  test('a partition that does not open is tried again, less and less often', async () => {
    const machine = await openMachine();
    const { hub, files, log } = machine;
    const partition = await createPartition(hub, 't');
    await append(partition, 'kept');
    files.arm({ kind: 'write-fails', code: 'ENOSPC', afterBytes: 10 });
    await append(partition, 'lost');
    files.arm({ kind: 'open-fails', code: 'EIO', files: /\.log$/ });
    await until(machine, () => log.events('error').includes('partition-not-opened'));
    expect(hub.faults()).toHaveLength(1);
    expect(await append(partition, 'refused')).toMatchObject({ refused: 'not-leader' });
    await until(machine, () => hub.faults().length === 0);
    expect(partition.leaderEpoch).toBe(2);
    expect(await readTexts(hub, partition)).toEqual(['kept']);
  });
});

describe('any other failure', () => {
  test.each<[string, Fault]>([
    ['a failed write', { kind: 'write-fails', code: 'EIO', afterBytes: 10 }],
    ['a failed flush', { kind: 'datasync-fails' }],
  ])('%s stays until somebody asks for it', async (_what, fault) => {
    const machine = await openMachine();
    const { hub, files, clock } = machine;
    const partition = await createPartition(hub, 't');
    await append(partition, 'kept');
    files.arm(fault);
    await append(partition, 'lost');
    for (let each = 0; each < 300; each++) {
      if (each % 100 === 0) clock.advance(10_000);
      await turn();
    }
    expect(await append(partition, 'refused')).toMatchObject({ refused: 'storage' });
    expect(hub.faults()).toHaveLength(1);
    expect(await hub.reopen(partition)).toBe(true);
    expect(await append(partition, 'taken')).toMatchObject({ baseOffset: 1 });
    expect(await readTexts(hub, partition)).toEqual(['kept', 'taken']);
    expect([hub.faults(), partition.leaderEpoch]).toEqual([[], 1]);
  });

  test('a partition that is well is left alone', async () => {
    const { hub } = await openMachine();
    const partition = await createPartition(hub, 't');
    expect(await hub.reopen(partition)).toBe(true);
    expect(partition.leaderEpoch).toBe(0);
  });
});
