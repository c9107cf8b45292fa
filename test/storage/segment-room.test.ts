// Room ahead in a segment's file: made behind the commits, never over a batch, cut before a successor and at the close,
// and nothing that anybody misses when it cannot be made.
import { describe, expect, it } from 'vitest';
import { nextTurn } from '../../storage/gate.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
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

const LOG = '/data/topics/events/0';
const FIRST = `${LOG}/00000001-00000000000000000000.log`;
const VALUE = 'x'.repeat(300);

function newFiles(): FaultyFileSystem {
  const files = new FaultyFileSystem(['/']);
  files.overwritesInPlace = true;
  return files;
}

const openOn = (files: FaultyFileSystem, roomAfterBytes = 1000): Promise<StoreFixture> =>
  openStore({
    directory: '/data',
    fileSystem: files.process(),
    index: new MemoryIndex(),
    roomAfterBytes,
  });

const sizeOf = (files: FaultyFileSystem, path = FIRST): number => files.bytesOf(path).length;

/** Behind the last byte that is not zero: where the last batch ends, for its value is none. */
const batchesEnd = (files: FaultyFileSystem, path = FIRST): number =>
  files.bytesOf(path).findLastIndex((byte) => byte !== 0) + 1;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

/** Appends one by one, each when the one before is on disk. */
async function appendEach(log: PartitionLog, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    expect(await append(log, [record(VALUE)]).flushed).toBeUndefined();
  }
}

interface Roomy {
  readonly files: FaultyFileSystem;
  readonly fixture: StoreFixture;
  readonly log: PartitionLog;
}

/** A log of ten records, with room ahead. */
async function roomy(segmentBytes = 1 << 20): Promise<Roomy> {
  const files = newFiles();
  const fixture = await openOn(files);
  const log = await fixture.store.openPartition({ ...PARTITION, config: logConfig({ segmentBytes }) });
  await appendEach(log, 10);
  await turns(20);
  expect(sizeOf(files)).toBeGreaterThan(batchesEnd(files));
  return { files, fixture, log };
}

describe('room ahead', () => {
  it('is made from a size on, of a quarter of that, and is used up', async () => {
    const files = newFiles();
    const { store } = await openOn(files, 3000);
    const log = await store.openPartition(PARTITION);
    await appendEach(log, 5);
    await turns(20);
    expect([sizeOf(files), store.counters.roomBytes]).toEqual([batchesEnd(files), 0]);
    await appendEach(log, 10);
    await turns(20);
    const size = sizeOf(files);
    const { roomBytes } = store.counters;
    expect(roomBytes).toBe(size - batchesEnd(files));
    expect(roomBytes).toBeGreaterThan(batchesEnd(files) / 8);
    expect(roomBytes).toBeLessThan(batchesEnd(files));
    await append(log, [record(VALUE)]).flushed;
    expect(sizeOf(files)).toBe(size);
    expect(store.counters.roomBytes).toBeLessThan(roomBytes);
    expect((await readAll(log)).length).toBe(16);
  });

  it('never comes over a batch, whatever order the disk takes', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const random = seededRandom(seed);
      const files = newFiles();
      files.turns = () => 1 + Math.floor(random() * 8);
      const { store } = await openOn(files, 500);
      const log = await store.openPartition(PARTITION);
      const values: string[] = [];
      const commits: Promise<unknown>[] = [];
      for (let number = 0; number < 60; number++) {
        const value = `${number}.${'y'.repeat(Math.floor(random() * 900))}`;
        values.push(value);
        commits.push(append(log, [record(value)]).flushed);
        if (random() < 0.7) await turns(Math.floor(random() * 12));
      }
      expect((await Promise.all(commits)).filter((error) => error !== undefined)).toEqual([]);
      expect(store.counters.roomMadeBytes).toBeGreaterThan(0);
      files.crash('nothing', random);
      const again = await (await openOn(files)).store.openPartition({ ...PARTITION, leaderEpoch: 2 });
      expect(valuesOf(await readAll(again))).toEqual(values);
    }
  });

  it('is gone, durably, before the next segment has a name', async () => {
    const { files, fixture, log } = await roomy(5000);
    await appendEach(log, 10);
    expect(files.paths().filter((path) => path.endsWith('.log')).length).toBe(2);
    files.crash('nothing', Math.random);
    expect(sizeOf(files)).toBe(batchesEnd(files));
    expect(sizeOf(files)).toBeLessThanOrEqual(5000);
    const again = await (await openOn(files)).store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(20);
    expect(fixture.log.named('log.no-room-ahead')).toEqual([]);
  });

  it('is gone when the log has closed, and the next opening reads nothing', async () => {
    const { files, fixture } = await roomy();
    await fixture.store.close();
    expect([sizeOf(files), fixture.store.counters.roomBytes]).toEqual([batchesEnd(files), 0]);
    files.bytesRead = 0;
    const { store } = await openOn(files);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(store.counters.recoveredBytes).toBe(0);
    expect((await readAll(again)).length).toBe(10);
  });

  it('is gone when all below the end is deleted, and the file with it', async () => {
    const { files, fixture, log } = await roomy();
    log.setHighWatermark(10);
    await log.deleteRecords(10);
    expect(files.paths().filter((path) => path.endsWith('.log'))).toEqual([]);
    expect(fixture.store.counters.roomBytes).toBe(0);
    await appendEach(log, 3);
    expect((await readAll(log)).length).toBe(3);
  });

  it('is gone when the log is deleted meanwhile', async () => {
    const { files, fixture, log } = await roomy();
    append(log, [record(VALUE.repeat(20))]);
    await fixture.store.deleteTopic(PARTITION.topic, PARTITION.topicId);
    await turns(30);
    expect(files.paths().filter((path) => path.endsWith('.log'))).toEqual([]);
    expect(fixture.store.counters.roomBytes).toBe(0);
  });

  it('that a killed process left is cut, and is no torn batch', async () => {
    const { files } = await roomy();
    files.kill();
    const { store, log } = await openOn(files);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(10);
    expect(sizeOf(files)).toBe(batchesEnd(files));
    expect([store.counters.cutBytes, log.named('log.tail-cut')]).toEqual([0, []]);
  });

  it('is cut with what nobody was told of when a flush fails', async () => {
    const { files, fixture, log } = await roomy();
    files.arm({ kind: 'datasync-fails' });
    expect((await append(log, [record('lost')]).flushed)?.code).toBe('io');
    await turns(20);
    expect(sizeOf(files)).toBe(batchesEnd(files));
    await fixture.store.closePartition(log);
    const again = await fixture.store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(10);
    expect(fixture.store.counters.roomBytes).toBe(0);
  });

  it('is not waited for by a commit that does not go where it is being made', async () => {
    const files = newFiles();
    const { store } = await openOn(files, 1000);
    const log = await store.openPartition(PARTITION);
    await appendEach(log, 2);
    files.arm({ kind: 'write-hangs', after: 1 });
    await appendEach(log, 1);
    await turns(10);
    expect(files.isHanging).toBe(true);
    expect(await append(log, [record('small')]).flushed).toBeUndefined();
    files.releaseHanging();
    await turns(10);
    await appendEach(log, 20);
    expect((await readAll(log)).length).toBe(24);
  });

  it('that hangs lets the log neither close for long nor be opened again', async () => {
    const files = newFiles();
    const { store, clock } = await openOn(files, 1000);
    const log = await store.openPartition(PARTITION);
    await appendEach(log, 2);
    files.arm({ kind: 'write-hangs', after: 1 });
    await appendEach(log, 1);
    await turns(10);
    const { flushed } = append(log, [record(VALUE.repeat(20))]);
    await turns(10);
    clock.advance(30_000);
    expect((await flushed)?.code).toBe('io');
    await store.closePartition(log);
    expect(await codeOf(store.openPartition({ ...PARTITION, leaderEpoch: 2 }))).toBe('sticky');
    files.releaseHanging();
    await turns(20);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(3);
  });

  it('that cannot be made is told once, and appends go on', async () => {
    const files = newFiles();
    const { store, log: logged } = await openOn(files, 1000);
    const log = await store.openPartition(PARTITION);
    await appendEach(log, 2);
    files.arm({ kind: 'write-fails', code: 'EIO', afterBytes: 10, after: 1 });
    await appendEach(log, 20);
    expect(logged.named('log.no-room-ahead').length).toBe(1);
    await store.close();
    expect(sizeOf(files)).toBe(batchesEnd(files));
    const again = await (await openOn(files)).store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(22);
  });

  it.each([
    [
      'the file system does not overwrite in place',
      (files: FaultyFileSystem) => (files.overwritesInPlace = false),
    ],
    ['no write is its flush', (files: FaultyFileSystem) => (files.hasSynchronousFiles = false)],
  ])('is not made where %s', async (_where, change) => {
    const files = newFiles();
    change(files);
    const { store } = await openOn(files);
    const log = await store.openPartition(PARTITION);
    await appendEach(log, 20);
    await turns(20);
    expect([sizeOf(files), store.counters.roomMadeBytes]).toEqual([batchesEnd(files), 0]);
  });
});
