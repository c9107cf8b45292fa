// The reserve of the disk: appends are refused before the file system fails, the rest goes on, and it ends by itself.
import { describe, expect, it, vi } from 'vitest';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  type StoreFixture,
} from '../helpers/store-fixture.ts';

const RESERVE = 100_000;

interface Machine extends StoreFixture {
  readonly files: FaultyFileSystem;
  readonly partition: PartitionLog;
  readonly internal: PartitionLog;
  /** Calls of `freeBytes`. */
  readonly asked: () => number;
}

async function openMachine(freeBytes: number, options: Partial<LogStoreOptions> = {}): Promise<Machine> {
  const files = new FaultyFileSystem(['/']);
  files.capacityBytes = freeBytes;
  let asked = 0;
  const process = files.process();
  const fileSystem = {
    ...process,
    freeBytes: (path: string) => {
      asked++;
      return process.freeBytes(path);
    },
  };
  const index = new MemoryIndex();
  const fixture = await openStore({
    directory: '/data',
    fileSystem,
    index,
    diskReserveBytes: RESERVE,
    ...options,
  });
  const partition = await fixture.store.openPartition({
    ...PARTITION,
    config: logConfig({ segmentBytes: 10_000 }),
  });
  partition.onCommitted = (offset) => partition.setHighWatermark(offset);
  const internal = await fixture.store.openPartition({
    ...PARTITION,
    partition: 1,
    logId: 2,
    internal: true,
  });
  return { ...fixture, files, partition, internal, asked: () => asked };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let each = 0; each < count; each++) await turn();
}

/** A second later the file system has been asked. */
async function nextCheck({ clock }: Machine): Promise<void> {
  await turns(5);
  clock.advance(1000);
  await turns(5);
}

/** Appends until it is refused; returns with what. */
async function fill(log: PartitionLog, valueBytes = 1000): Promise<string | undefined> {
  for (let each = 0; each < 10_000; each++) {
    let flushed: Promise<unknown> | undefined;
    const code = await codeOf(() => {
      flushed = append(log, [record('x'.repeat(valueBytes))]).flushed;
    });
    if (code !== undefined) return code;
    const error = await flushed;
    if (error !== undefined) return `not written: ${String(error)}`;
  }
  return undefined;
}

describe('the reserve', () => {
  it('stops appends before the file system fails, and before anything is encoded', async () => {
    const machine = await openMachine(200_000);
    const { partition, files, log } = machine;
    expect(await fill(partition)).toBe('disk-full');
    const filling = vi.fn();
    expect(await codeOf(() => partition.append({}, filling))).toBe('disk-full');
    expect(await codeOf(() => partition.join(filling))).toBe('disk-full');
    expect(filling).not.toHaveBeenCalled();
    const free = files.capacityBytes - files.usedBytes;
    expect(free).toBeGreaterThanOrEqual(RESERVE - 2000);
    expect(free).toBeLessThan(RESERVE + 2000);
    expect(partition.failed).toBeUndefined();
    expect(log.named('disk-space-short').length).toBe(1);
  });

  it('leaves reading, deleting and closing alone', async () => {
    const machine = await openMachine(200_000);
    const { partition, store } = machine;
    await fill(partition);
    expect((await readAll(partition)).length).toBe(partition.flushedOffset);
    await partition.deleteRecords(partition.flushedOffset - 10);
    expect(partition.logStartOffset).toBe(partition.flushedOffset - 10);
    await store.close();
  });

  it('ends by itself when there is room, with no append to notice it, and says so once', async () => {
    const machine = await openMachine(200_000);
    const { partition, files, log, store } = machine;
    await fill(partition);
    await nextCheck(machine);
    expect(await codeOf(() => append(partition, [record('x')]))).toBe('disk-full');
    files.capacityBytes += 50_000;
    await nextCheck(machine);
    expect(store.isDiskShort).toBe(false);
    expect(await append(partition, [record('x')]).flushed).toBeUndefined();
    expect(log.named('disk-space-back').length).toBe(1);
    expect(log.named('disk-space-short').length).toBe(1);
  });

  it('ends when records are deleted', async () => {
    const machine = await openMachine(200_000);
    const { partition } = machine;
    expect(await fill(partition)).toBe('disk-full');
    await partition.deleteRecords(partition.flushedOffset - 1);
    await nextCheck(machine);
    expect(await append(partition, [record('x')]).flushed).toBeUndefined();
  });

  it('does not end for a few bytes', async () => {
    const machine = await openMachine(200_000);
    await fill(machine.partition);
    machine.files.capacityBytes += 2000;
    await nextCheck(machine);
    expect(machine.store.isDiskShort).toBe(true);
  });

  it('is open to internal logs, but for a quarter', async () => {
    const machine = await openMachine(200_000);
    const { partition, internal, files } = machine;
    await fill(partition);
    expect(await fill(internal)).toBe('disk-full');
    const free = files.capacityBytes - files.usedBytes;
    expect(free).toBeGreaterThanOrEqual(RESERVE / 4 - 2000);
    expect(free).toBeLessThan(RESERVE / 4 + 2000);
    expect(internal.failed).toBeUndefined();
  });

  it('notices within a second what others write', async () => {
    const machine = await openMachine(1_000_000);
    const { partition, files } = machine;
    await append(partition, [record('x')]).flushed;
    files.capacityBytes = files.usedBytes + RESERVE / 2;
    await nextCheck(machine);
    expect(await codeOf(() => append(partition, [record('x')]))).toBe('disk-full');
  });

  it('counts at the start what an earlier run left', async () => {
    const machine = await openMachine(RESERVE / 2);
    expect(await codeOf(() => append(machine.partition, [record('x')]))).toBe('disk-full');
  });
});

describe('asking the file system', () => {
  it('takes a few calls, however many the appends, and none when there are none', async () => {
    const machine = await openMachine(10_000_000);
    const before = machine.asked();
    for (let each = 0; each < 1000; each++) await append(machine.partition, [record('x')]).flushed;
    expect(machine.asked() - before).toBe(0);
    await nextCheck(machine);
    expect(machine.asked() - before).toBe(1);
    for (let each = 0; each < 10; each++) await nextCheck(machine);
    expect(machine.asked() - before).toBe(1);
    await fill(machine.partition, 10_000);
    expect(machine.asked() - before).toBeLessThan(40);
  });

  it('is not done when there is no reserve', async () => {
    const machine = await openMachine(50_000, { diskReserveBytes: 0 });
    expect(await fill(machine.partition)).toContain('ENOSPC');
    expect(machine.asked()).toBe(0);
  });

  it('may fail: then nothing is refused, and it is said once', async () => {
    const files = new FaultyFileSystem(['/']);
    const fileSystem = { ...files.process(), freeBytes: () => Promise.reject(new Error('ENOSYS')) };
    const { store, log, clock } = await openStore({
      directory: '/data',
      fileSystem,
      index: new MemoryIndex(),
      diskReserveBytes: RESERVE,
    });
    const partition = await store.openPartition(PARTITION);
    for (let each = 0; each < 3; each++) {
      await append(partition, [record('x')]).flushed;
      clock.advance(1000);
      await turns(3);
    }
    expect(log.named('disk-space-unknown').length).toBe(1);
  });
});
