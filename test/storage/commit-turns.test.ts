// Commits of one log: one begins when the one before is done, or beside it when enough waits.
import { describe, expect, it } from 'vitest';
import { nextTurn } from '../../storage/gate.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
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
  valuesOf,
} from '../helpers/store-fixture.ts';

it('a log is not opened again while the flush of such a commit hangs', async () => {
  const files = new FaultyFileSystem(['/']);
  const { store, clock } = await openStore({
    directory: '/data',
    fileSystem: files.process(),
    index: new MemoryIndex(),
  });
  const log = await store.openPartition(PARTITION);
  await append(log, [record('a')]).flushed;
  files.arm({ kind: 'datasync-hangs', after: 1 });
  const one = append(log, [record('b')]);
  await nextTurn();
  const two = append(log, [record('c')]);
  expect(await one.flushed).toBeUndefined();
  while (files.isArmed) await nextTurn();
  clock.advance(30_000);
  expect((await two.flushed)?.code).toBe('io');
  await store.closePartition(log);
  expect(await codeOf(store.openPartition({ ...PARTITION, leaderEpoch: 2 }))).toBe('sticky');
  files.releaseHanging();
  for (let i = 0; i < 20; i++) await nextTurn();
  const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
  expect(valuesOf(await readAll(again))).toEqual(['a', 'b']);
});

const FIRST = '/data/topics/events/0/00000001-00000000000000000000.log';

const openOn = (files: FaultyFileSystem, commitBesideBytes = 1): Promise<StoreFixture> =>
  openStore({
    directory: '/data',
    fileSystem: files.process(),
    index: new MemoryIndex(),
    commitBesideBytes,
  });

/** A log with `a` in it, whose commit of `b` hangs in its flush. */
async function hanging(
  segmentBytes = 1 << 20,
  commitBesideBytes = 1,
): Promise<{
  readonly files: FaultyFileSystem;
  readonly fixture: StoreFixture;
  readonly log: PartitionLog;
  readonly flushed: Promise<unknown>;
}> {
  const files = new FaultyFileSystem(['/']);
  const fixture = await openOn(files, commitBesideBytes);
  const log = await fixture.store.openPartition({ ...PARTITION, config: logConfig({ segmentBytes }) });
  await append(log, [record('a')]).flushed;
  files.arm({ kind: 'datasync-hangs' });
  const { flushed } = append(log, [record('b')]);
  while (!files.isHanging) await nextTurn();
  return { files, fixture, log, flushed };
}

async function turns(count: number): Promise<void> {
  for (let each = 0; each < count; each++) await nextTurn();
}

async function isWritten(files: FaultyFileSystem, text: string): Promise<void> {
  while (!files.bytesOf(FIRST).includes(text)) await nextTurn();
  await turns(5);
}

async function reopened({ store }: StoreFixture, log: PartitionLog): Promise<(string | null)[]> {
  await store.closePartition(log);
  return valuesOf(await readAll(await store.openPartition({ ...PARTITION, leaderEpoch: 2 })));
}

describe('a commit beside another one', () => {
  it('is written meanwhile, and nobody hears of it before the other one is done', async () => {
    const { files, log, flushed } = await hanging();
    const told: string[] = [];
    log.onCommitted = (offset) => told.push(`committed ${offset}`);
    const second = append(log, [record('second')]);
    await isWritten(files, 'second');
    const waiting = [
      flushed.then(() => told.push('first')),
      second.written.then(() => told.push('second written')),
      second.flushed.then(() => told.push('second')),
      log.flush().then(() => told.push('all')),
    ];
    await turns(5);
    expect([told, log.flushedOffset]).toEqual([[], 1]);
    files.releaseHanging();
    await Promise.all(waiting);
    expect(told).toEqual(['committed 2', 'first', 'second written', 'committed 3', 'second', 'all']);
    expect(valuesOf(await readAll(log))).toEqual(['a', 'b', 'second']);
  });

  it('has the file open by itself, so that each hears of what has failed of its own', async () => {
    const files = new FaultyFileSystem(['/']);
    const fileSystem = files.process();
    const writers: number[] = [];
    let openings = 0;
    const { store } = await openStore({
      directory: '/data',
      index: new MemoryIndex(),
      commitBesideBytes: 1,
      fileSystem: {
        ...fileSystem,
        async open(path, mode, synchronous) {
          const file = await fileSystem.open(path, mode, synchronous);
          if (path !== FIRST) return file;
          const opening = openings++;
          const write: typeof file.write = (...range) => {
            writers.push(opening);
            return file.write(...range);
          };
          return { ...file, write };
        },
      },
    });
    const log = await store.openPartition(PARTITION);
    await append(log, [record('a')]).flushed;
    files.arm({ kind: 'datasync-hangs' });
    const first = append(log, [record('b')]);
    while (!files.isHanging) await nextTurn();
    const second = append(log, [record('second')]);
    await isWritten(files, 'second');
    files.releaseHanging();
    await Promise.all([first.flushed, second.flushed]);
    await append(log, [record('c')]).flushed;
    expect(writers).toEqual([0, 0, 1, 0]);
    await store.close();
  });

  it('begins only when enough waits for it', async () => {
    const { files, log } = await hanging(1 << 20, 10_000);
    append(log, [record('small')]);
    await turns(20);
    expect(files.bytesOf(FIRST).includes('small')).toBe(false);
    const { flushed } = append(log, [record('large'.repeat(3000))]);
    await isWritten(files, 'large');
    files.releaseHanging();
    expect(await flushed).toBeUndefined();
    expect(log.flushedOffset).toBe(4);
  });

  it('does not begin where a write is not its flush', async () => {
    const files = new FaultyFileSystem(['/']);
    files.hasSynchronousFiles = false;
    const { store } = await openOn(files);
    const log = await store.openPartition(PARTITION);
    await append(log, [record('a')]).flushed;
    files.arm({ kind: 'datasync-hangs' });
    append(log, [record('b')]);
    while (!files.isHanging) await nextTurn();
    const { flushed } = append(log, [record('second')]);
    await turns(20);
    expect(files.bytesOf(FIRST).includes('second')).toBe(false);
    files.releaseHanging();
    expect(await flushed).toBeUndefined();
  });

  it('waits for the other one before it begins another file', async () => {
    const { files, log, flushed } = await hanging(300);
    const second = append(log, [record('x'.repeat(200))]);
    await turns(20);
    expect(files.paths().filter((path) => path.endsWith('.log'))).toEqual([FIRST]);
    files.releaseHanging();
    expect([await flushed, await second.flushed]).toEqual([undefined, undefined]);
    expect(files.paths().filter((path) => path.endsWith('.log')).length).toBe(2);
  });

  it('fails with the other one, and is cut with it', async () => {
    const { files, fixture, log, flushed } = await hanging();
    const second = append(log, [record('second')]);
    await isWritten(files, 'second');
    files.arm({ kind: 'datasync-fails' });
    files.releaseHanging();
    expect([await flushed, await second.flushed]).toMatchObject([{ code: 'io' }, { code: 'io' }]);
    expect(log.flushedOffset).toBe(1);
    await turns(10);
    expect(await reopened(fixture, log)).toEqual(['a']);
  });

  it('that fails takes the other one with it, and is cut when that has come back', async () => {
    const { files, fixture, log, flushed } = await hanging();
    files.arm({ kind: 'datasync-fails' });
    const second = append(log, [record('second')]);
    expect([await flushed, await second.flushed]).toMatchObject([{ code: 'io' }, { code: 'io' }]);
    await turns(10);
    expect(files.bytesOf(FIRST).includes('second')).toBe(true);
    await fixture.store.closePartition(log);
    expect(await codeOf(fixture.store.openPartition({ ...PARTITION, leaderEpoch: 2 }))).toBe('sticky');
    files.releaseHanging();
    await turns(10);
    expect(await reopened(fixture, log)).toEqual(['a']);
  });

  it('that is on disk is cut when the machine stops before the other one is', async () => {
    const { files, log } = await hanging();
    append(log, [record('second')]);
    await isWritten(files, 'second');
    files.crash('nothing', Math.random);
    expect(files.bytesOf(FIRST).includes('second')).toBe(true);
    const { store } = await openOn(files);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(valuesOf(await readAll(again))).toEqual(['a']);
    expect([again.failed, store.counters.cutBytes > 0]).toEqual([undefined, true]);
  });

  it('is what a repeated batch waits for that it holds, and no later one', async () => {
    const { files, log } = await hanging();
    const batch = (baseSequence: number) => ({
      ...{ producerId: 7, producerEpoch: 0, baseSequence, recordCount: 1 },
    });
    append(log, [record('second')], batch(0));
    await isWritten(files, 'second');
    const later = append(log, [record('third')], batch(1));
    const repeated = append(log, [record('second')], batch(0));
    expect(repeated.repeats?.baseOffset).toBe(2);
    expect(repeated.committed).not.toBe(later.committed);
    files.releaseHanging();
    expect(await repeated.committed).toBeUndefined();
    expect(log.flushedOffset).toBe(3);
    expect(await later.committed).toBeUndefined();
  });
});
