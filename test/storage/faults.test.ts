// Writes and flushes that fail, fall short or hang: what the waiters are told, and what happens to the log.
import { execFileSync } from 'node:child_process';
import { closeSync, open as openFile, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FileSystem, nodeFileSystem } from '../../storage/file-system.ts';
import { type Fault, FaultyFileSystem } from '../helpers/faulty-file-system.ts';
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
  valuesOf,
  withDirectory,
} from '../helpers/store-fixture.ts';

async function openMachine(): Promise<StoreFixture & { readonly files: FaultyFileSystem }> {
  const files = new FaultyFileSystem(['/']);
  const options = { directory: '/data', fileSystem: files.process(), index: new MemoryIndex() };
  return { ...(await openStore(options)), files };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let each = 0; each < count; each++) await turn();
}

describe('a write or flush that fails', () => {
  it.each<[string, Fault, string]>([
    ['a failed write', { kind: 'write-fails', code: 'EIO', afterBytes: 0 }, 'io'],
    ['a short write', { kind: 'write-fails', code: 'EIO', afterBytes: 50 }, 'io'],
    ['a full disk', { kind: 'write-fails', code: 'ENOSPC', afterBytes: 120 }, 'disk-full'],
    ['a failed flush', { kind: 'datasync-fails' }, 'io'],
    ['a failed flush of its own', { kind: 'datasync-fails' }, 'io'],
  ])(
    '%s is told to every waiter, and the log takes no appends until it is reopened',
    async (what, fault, code) => {
      const { store, files, log } = await openMachine();
      const isApart = what === 'a failed flush of its own';
      files.hasSynchronousFiles = !isApart;
      const partition = await store.openPartition(PARTITION);
      const other = await store.openPartition({ ...PARTITION, partition: 1, logId: 2 });
      await append(partition, [record('kept')]).flushed;
      files.arm(fault);
      const inFlight = append(partition, [record('lost')]);
      await turn();
      const waiting = append(partition, [record('lost too')]);
      expect((await inFlight.flushed)?.code).toBe(code);
      expect((await waiting.flushed)?.code).toBe(code);
      expect((await waiting.written)?.code).toBe(code);
      expect((await inFlight.written)?.code).toBe(isApart ? undefined : code);

      expect(await codeOf(() => append(partition, [record('refused')]))).toBe('sticky');
      expect(await codeOf(() => partition.join(() => {}))).toBe('sticky');
      expect(partition.flushedOffset).toBe(1);
      expect(valuesOf(await readAll(partition))).toEqual(['kept']);
      expect(await append(other, [record('unharmed')]).flushed).toBeUndefined();
      expect(store.counters.unflushedBytes).toBe(0);
      expect(log.named('log.failed').length).toBe(1);

      await turns(5);
      await store.closePartition(partition);
      const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
      expect(valuesOf(await readAll(again))).toEqual(['kept']);
      expect(append(again, [record('anew')]).baseOffset).toBe(1);
      await store.close();
    },
  );

  it.each<[string, Fault[]]>([
    ['', [{ kind: 'datasync-fails' }]],
    [', even if it cannot be taken back at once', [{ kind: 'datasync-fails' }, { kind: 'truncate-fails' }]],
  ])('a flush that failed is not made good by a later one%s', async (_what, faults) => {
    const { store, files } = await openMachine();
    const partition = await store.openPartition(PARTITION);
    await append(partition, [record('kept')]).flushed;
    files.arm(...faults);
    await append(partition, [record('lost')]).flushed;
    await turns(5);
    await store.closePartition(partition);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    await append(again, [record('second')]).flushed;
    files.crash('nothing', Math.random);
    const fixture = await openStore({
      directory: '/data',
      fileSystem: files.process(),
      index: new MemoryIndex(),
    });
    const after = await fixture.store.openPartition({ ...PARTITION, leaderEpoch: 3 });
    expect(valuesOf(await readAll(after))).toEqual(['kept', 'second']);
  });
});

describe('a flush that hangs', () => {
  it('fails the log when the time is up, whatever comes back later', async () => {
    const { store, files, clock } = await openMachine();
    const partition = await store.openPartition(PARTITION);
    await append(partition, [record('kept')]).flushed;
    files.arm({ kind: 'datasync-hangs' });
    const { flushed } = append(partition, [record('stuck')]);
    while (files.isArmed) await turn();
    clock.advance(29_999);
    expect(partition.failed).toBeUndefined();
    clock.advance(1);
    expect((await flushed)?.message).toContain('was not done in 30000 ms');
    expect(partition.failed?.code).toBe('sticky');
    expect(valuesOf(await readAll(partition))).toEqual(['kept']);

    await store.closePartition(partition);
    expect(await codeOf(store.openPartition({ ...PARTITION, leaderEpoch: 2 }))).toBe('sticky');
    files.releaseHanging();
    await turns(5);
    expect(partition.flushedOffset).toBe(1);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(valuesOf(await readAll(again))).toEqual(['kept']);
  });

  it.each(['open', 'closed'])(
    'leaves alone the files of the topic that was made in the place of its own (%s)',
    async (state) => {
      const { store, files, clock } = await openMachine();
      const partition = await store.openPartition(PARTITION);
      files.arm({ kind: 'datasync-hangs' });
      const { flushed } = append(partition, [record('stuck')]);
      while (files.isArmed) await turn();
      clock.advance(30_000);
      expect(await flushed).toBeDefined();
      if (state === 'closed') await store.closePartition(partition);
      await store.deleteTopic(PARTITION.topic, PARTITION.topicId);
      const successor = { ...PARTITION, topicId: 'incarnation-2', logId: 2 };
      const again = await store.openPartition(successor);
      expect(await append(again, [record('acknowledged')]).flushed).toBeUndefined();
      files.releaseHanging();
      await turns(10);
      await store.closePartition(again);
      const reopened = await store.openPartition({ ...successor, leaderEpoch: 2 });
      expect(valuesOf(await readAll(reopened))).toEqual(['acknowledged']);
    },
  );

  it('does not fail a log whose every flush is in time, however long it runs', async () => {
    const { store, clock } = await openMachine();
    const partition = await store.openPartition(PARTITION);
    for (let index = 0; index < 10; index++) {
      const { flushed } = append(partition, [record('x')]);
      await turn();
      clock.advance(20_000);
      expect(await flushed).toBeUndefined();
    }
    expect(partition.failed).toBeUndefined();
  });

  it('writes nothing more once it comes back', async () => {
    const { store, files, clock } = await openMachine();
    const partition = await store.openPartition({ ...PARTITION, config: logConfig({ segmentBytes: 200 }) });
    await append(partition, [record('kept')]).flushed;
    files.arm({ kind: 'datasync-hangs' });
    // The old segment is flushed before the next one begins: there it hangs.
    const { flushed } = append(partition, [record('next segment')]);
    while (files.isArmed) await turn();
    clock.advance(30_000);
    expect(await flushed).toBeDefined();
    const segments = (): string[] => files.paths().filter((path) => path.endsWith('.log'));
    const before = segments();
    files.releaseHanging();
    await turns(10);
    expect(segments()).toEqual(before);
  });
});

describe('flushes that hang in the system', () => {
  it('leave the other partitions at work while one of its threads is free', async () => {
    await withDirectory(async (directory) => {
      const pipe = join(directory, 'pipe');
      execFileSync('mkfifo', [pipe]);
      // Opening a pipe that nobody writes to holds a thread of libuv, as a flush to a disk that is gone does.
      const hang = () =>
        new Promise<void>((resolve) => {
          openFile(pipe, 'r', (_error, descriptor) => {
            closeSync(descriptor);
            resolve();
          });
        });
      let hanging = 0;
      const fileSystem: FileSystem = {
        ...nodeFileSystem,
        open: async (path, mode) => {
          const file = await nodeFileSystem.open(path, mode);
          if (!/hung\/\d+\/.*\.log$/.test(path)) return file;
          const datasync = () => {
            hanging++;
            return hang();
          };
          return {
            read: (...args) => file.read(...args),
            write: (...args) => file.write(...args),
            truncate: (size) => file.truncate(size),
            close: () => file.close(),
            datasync,
          };
        },
      };
      const options = { directory: join(directory, 'data'), fileSystem, tailCacheBytes: 0 };
      const { store, clock } = await openStore(options);
      const hung = await Promise.all(
        [0, 1, 2].map((partition) =>
          store.openPartition({ ...PARTITION, topic: 'hung', topicId: 'hung', partition, logId: partition }),
        ),
      );
      const well = await store.openPartition({ ...PARTITION, logId: 3 });
      const stuck = hung.map((log) => append(log, [record('stuck')]).flushed);
      while (hanging < 3) await turn();
      expect(await append(well, [record('a')]).flushed).toBeUndefined();
      clock.advance(30_000);
      expect((await Promise.all(stuck)).map((error) => error?.code)).toEqual(['io', 'io', 'io']);
      expect(hung.map((log) => log.failed?.code)).toEqual(['sticky', 'sticky', 'sticky']);
      expect(await append(well, [record('b')]).flushed).toBeUndefined();
      expect(valuesOf(await readAll(well))).toEqual(['a', 'b']);
      expect(well.failed).toBeUndefined();
      closeSync(openSync(pipe, 'r+'));
      await store.close();
    });
  });
});

describe('a write that hangs', () => {
  it('is the last one, whatever else the group had', async () => {
    const { store, files, clock } = await openMachine();
    const partition = await store.openPartition(PARTITION);
    await append(partition, [record('kept')]).flushed;
    const path = '/data/topics/events/0/00000001-00000000000000000000.log';
    const before = files.bytesOf(path).length;
    files.arm({ kind: 'write-hangs' });
    // Each in a chunk of its own, so that the group takes two writes.
    append(partition, [record('x'.repeat(20_000))]);
    const { flushed } = append(partition, [record('y'.repeat(40_000))]);
    while (files.isArmed) await turn();
    clock.advance(30_000);
    expect((await flushed)?.code).toBe('io');
    files.releaseHanging();
    await turns(10);
    expect(files.bytesOf(path).length - before).toBeLessThan(21_000);
    await store.closePartition(partition);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(valuesOf(await readAll(again))).toEqual(['kept']);
  });
});

describe('a read that fails', () => {
  it('is an error, never an empty success, and passes', async () => {
    const files = new FaultyFileSystem(['/']);
    const { store } = await openStore({
      directory: '/data',
      fileSystem: files.process(),
      index: new MemoryIndex(),
      tailCacheBytes: 0,
    });
    const partition = await store.openPartition(PARTITION);
    await append(partition, [record('a')]).flushed;
    await append(partition, [record('b')]).flushed;
    files.arm({ kind: 'read-fails' });
    expect(await codeOf(partition.read(0, 1, 2))).toBe('io');
    expect(partition.failed).toBeUndefined();
    expect(valuesOf(await readAll(partition))).toEqual(['a', 'b']);
  });
});

describe('an owner that throws', () => {
  it('does not harm the log', async () => {
    const { store, log } = await openMachine();
    const partition = await store.openPartition(PARTITION);
    partition.onCommitted = () => {
      throw new Error('owner');
    };
    expect(await append(partition, [record('x')]).flushed).toBeUndefined();
    expect(partition.flushedOffset).toBe(1);
    expect(log.named('log.commit-listener-failed').length).toBe(1);
  });
});

describe('a fault of the program', () => {
  it('at the end of a commit makes the log refuse appends, and no other log, and tells all who wait', async () => {
    const { store } = await openMachine();
    const partition = await store.openPartition(PARTITION);
    const other = await store.openPartition({ ...PARTITION, partition: 1, logId: 2 });
    const whole = { ...Object.getOwnPropertyDescriptor(store.counters, 'flushes') };
    partition.onFailed = () => {
      throw new Error('as faulty');
    };
    Object.defineProperty(store.counters, 'flushes', {
      configurable: true,
      get: () => {
        throw new Error('a fault');
      },
    });
    const appended = append(partition, [record('a')]);
    await turn();
    const waiting = append(partition, [record('b')]);
    expect((await appended.flushed)?.code).toBe('io');
    expect((await waiting.committed)?.code).toBe('io');
    Object.defineProperty(store.counters, 'flushes', whole);
    expect(await codeOf(() => append(partition, [record('c')]))).toBe('sticky');
    expect(await append(other, [record('d')]).flushed).toBeUndefined();
    await store.close();
  });
});

describe('a file whose successor cannot be made', () => {
  it('is cut again, and the index says nothing of what was cut', async () => {
    const files = new FaultyFileSystem(['/']);
    const index = new MemoryIndex();
    const { store } = await openStore({ directory: '/data', fileSystem: files.process(), index });
    const config = logConfig({ segmentBytes: 300 });
    const partition = await store.openPartition({ ...PARTITION, config });
    await append(partition, [record('kept')]).flushed;
    await turns(50);
    files.arm({ kind: 'open-fails', code: 'EIO' });
    const lost = [append(partition, [record('lost')]), append(partition, [record('lost too')])];
    for (const { flushed } of lost) expect((await flushed)?.code).toBe('io');
    await store.close();
    expect(files.isArmed).toBe(false);
    expect(files.paths().filter((path) => path.endsWith('.log')).length).toBe(1);
    expect(await index.floor(Buffer.from([4]), Buffer.from([7]))).toBeUndefined();
    const again = await openStore({ directory: '/data', fileSystem: files.process(), index });
    const reopened = await again.store.openPartition({ ...PARTITION, leaderEpoch: 2, config });
    expect(valuesOf(await readAll(reopened))).toEqual(['kept']);
    await again.store.close();
  });
});
