// Room ahead in a segment's file: made behind the commits, never over a batch, cut before a successor and at the close,
// and nothing that anybody misses when it cannot be made.
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../storage/file-system.ts';
import { nextTurn } from '../../storage/gate.ts';
import { inspectBatches } from '../../storage/inspection-batches.ts';
import { planCut } from '../../storage/inspection-cut.ts';
import { DAMAGE, dumpFrames } from '../../storage/inspection-dump.ts';
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

const openOn = (
  files: FaultyFileSystem,
  roomAfterBytes = 1000,
  fileSystem: FileSystem = files.process(),
): Promise<StoreFixture> =>
  openStore({
    directory: '/data',
    fileSystem,
    index: new MemoryIndex(),
    roomAfterBytes,
    commitBesideBytes: 1,
    diskReserveBytes: 1,
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

  it('that hangs lets what waits for it write nothing into the files of the topic that has its name by then', async () => {
    const files = newFiles();
    const { store, clock } = await openOn(files, 1000);
    const log = await store.openPartition(PARTITION);
    await appendEach(log, 2);
    files.arm({ kind: 'write-hangs', after: 1 });
    await appendEach(log, 1);
    await turns(10);
    expect(files.isHanging).toBe(true);
    const { flushed } = append(log, [record('late'.repeat(1500))]);
    await turns(10);
    clock.advance(30_000);
    expect((await flushed)?.code).toBe('io');
    await store.deleteTopic(PARTITION.topic, PARTITION.topicId);
    const successor = { ...PARTITION, topicId: 'incarnation-2', logId: 2 };
    const again = await store.openPartition(successor);
    await appendEach(again, 10);
    files.releaseHanging();
    await turns(30);
    await store.closePartition(again);
    const reopened = await store.openPartition({ ...successor, leaderEpoch: 2 });
    expect(valuesOf(await readAll(reopened))).toEqual(Array.from({ length: 10 }, () => VALUE));
  });

  it('that hangs while a quiet log is to be closed for its age fails those who append meanwhile in their time', async () => {
    const files = newFiles();
    const { store, clock } = await openOn(files, 1000);
    const log = await store.openPartition({ ...PARTITION, config: logConfig({ segmentMs: 1000 }) });
    await appendEach(log, 2);
    files.arm({ kind: 'write-hangs', after: 1 });
    await appendEach(log, 1);
    await turns(10);
    expect(files.isHanging).toBe(true);
    clock.advance(2000);
    void store.maintain(); // never rejects
    await turns(20);
    const { flushed } = append(log, [record('waits')]);
    await turns(10);
    clock.advance(30_000);
    expect((await flushed)?.code).toBe('io');
    files.releaseHanging();
  });

  it.each(['closed', 'deleted'])(
    'that hangs lets a log that nobody appends to be %s all the same',
    async (how) => {
      const files = newFiles();
      const { store, clock } = await openOn(files, 1000);
      const log = await store.openPartition(PARTITION);
      await appendEach(log, 2);
      files.arm({ kind: 'write-hangs', after: 1 });
      await appendEach(log, 1);
      await turns(10);
      expect(files.isHanging).toBe(true);
      const ending =
        how === 'closed' ? store.closePartition(log) : store.deleteTopic(PARTITION.topic, PARTITION.topicId);
      await turns(20);
      clock.advance(30_000);
      await ending;
      files.releaseHanging();
    },
  );

  it('that is appended into while the file is dumped hides no batch, and is no damage', async () => {
    const { files, log } = await roomy();
    // As many bytes of it that two batches fit in.
    while (sizeOf(files) - batchesEnd(files) < 2000) {
      await appendEach(log, 1);
      await turns(20);
    }
    const all = { fromOffset: 0, toOffset: Number.POSITIVE_INFINITY };
    const offsets: bigint[] = [];
    const damage: string[] = [];
    for await (const frame of dumpFrames(files.process(), FIRST, all)) {
      // By now it has read to the end of the file.
      if (offsets.length === 0) await appendEach(log, 2);
      if (frame.kind === 'batch') offsets.push(frame.offset);
      if (frame.kind === 'damage') damage.push(frame.reason);
    }
    expect(damage.filter((reason) => reason !== DAMAGE.room)).toEqual([]);
    expect(offsets).toEqual(offsets.map((_, index) => BigInt(index)));
  });

  it('that is cut while the file is dumped ends the dump, and is no damage', async () => {
    const { files, fixture } = await roomy();
    const all = { fromOffset: 0, toOffset: Number.POSITIVE_INFINITY };
    const kinds: string[] = [];
    const fileSystem = files.process();
    const { stat } = fileSystem;
    fileSystem.stat = async (path) => {
      const status = await stat(path);
      // Between the size and the first read.
      if (kinds.length === 0) await fixture.store.close();
      kinds.push('stat');
      return status;
    };
    for await (const frame of dumpFrames(fileSystem, FIRST, all)) kinds.push(frame.kind);
    expect(kinds.filter((kind) => kind === 'batch').length).toBe(10);
    expect(kinds).not.toContain('damage');
  });

  it('that batches go beyond while the file is dumped ends the dump with the last that is whole', async () => {
    const { files, log } = await roomy();
    const all = { fromOffset: 0, toOffset: Number.POSITIVE_INFINITY };
    const kinds: string[] = [];
    for await (const frame of dumpFrames(files.process(), FIRST, all)) {
      if (kinds.length === 0) await append(log, [record(VALUE.repeat(50))]).flushed;
      kinds.push(frame.kind);
    }
    expect(kinds.filter((kind) => kind === 'batch').length).toBe(10);
    expect(kinds).not.toContain('damage');
  });

  it('is no finding, and not in the way of a cut by hand', async () => {
    const { files } = await roomy();
    files.kill();
    const end = batchesEnd(files);
    const parts: unknown[] = [];
    for await (const part of inspectBatches(files.process(), FIRST, sizeOf(files))) {
      if (part.kind === 'damage') parts.push([part.verdict, part.position, part.endsFile]);
    }
    expect(parts).toEqual([['room', end, true]]);
    expect(await planCut(files.process(), LOG, 10)).toMatchObject({ cutBytes: 0, shortened: undefined });
    const { cutBytes, shortened } = await planCut(files.process(), LOG, 9);
    expect(cutBytes).toBe(end - (shortened?.position ?? 0));
    expect(await codeOf(planCut(files.process(), LOG, 11))).toBe('offset-out-of-range');
  });

  it('is left alone while many records share a flush, and goes with the segment', async () => {
    const { files, fixture, log } = await roomy(20_000);
    log.setConfig(logConfig({ segmentBytes: 20_000, flushMessages: 5 }));
    const made = fixture.store.counters.roomMadeBytes;
    for (let number = 0; number < 20; number++) await append(log, [record(VALUE)]).written;
    expect(fixture.store.counters.roomMadeBytes).toBe(made);
    log.setConfig(logConfig({ segmentBytes: 20_000 }));
    await appendEach(log, 40);
    files.crash('nothing', Math.random);
    expect(sizeOf(files)).toBe(batchesEnd(files));
    const again = await (await openOn(files)).store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(70);
  });

  it('that cannot be cut when the log closes costs nothing that was acknowledged', async () => {
    const { files, fixture, log } = await roomy();
    log.setConfig(logConfig({ segmentBytes: 1 << 20, flushMessages: 100 }));
    expect(await append(log, [record('acknowledged')]).committed).toBeUndefined();
    files.arm({ kind: 'truncate-fails' });
    await fixture.store.closePartition(log);
    expect([log.failed?.code, fixture.store.counters.roomBytes]).toEqual(['sticky', 0]);
    const again = await fixture.store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect((await readAll(again)).length).toBe(11);
    expect(sizeOf(files)).toBe(batchesEnd(files));
  });

  it('of a log that nobody appends to is given back, and made again behind the next append', async () => {
    const { files, fixture, log } = await roomy();
    fixture.clock.advance(30_000);
    await fixture.store.maintain();
    expect(sizeOf(files)).toBeGreaterThan(batchesEnd(files));
    fixture.clock.advance(30_000);
    const maintained = fixture.store.maintain();
    const { flushed } = append(log, [record(VALUE)]);
    await maintained;
    expect(await flushed).toBeUndefined();
    await turns(20);
    expect(sizeOf(files)).toBeGreaterThan(batchesEnd(files));
    fixture.clock.advance(60_000);
    await fixture.store.maintain();
    expect([sizeOf(files), fixture.store.counters.roomBytes]).toEqual([batchesEnd(files), 0]);
    expect((await readAll(log)).length).toBe(11);
  });

  it('is made of two logs at once at most', async () => {
    const files = newFiles();
    let zeros = 0;
    let most = 0;
    const fileSystem = files.process();
    const { open } = fileSystem;
    fileSystem.open = async (...parameters) => {
      const file = await open(...parameters);
      const write = file.write.bind(file);
      file.write = async (bytes, at, length, position) => {
        const isZeros = bytes.subarray(at, at + length).every((byte) => byte === 0);
        if (isZeros) most = Math.max(most, ++zeros);
        await write(bytes, at, length, position);
        if (isZeros) zeros--;
      };
      return file;
    };
    const { store } = await openOn(files, 1000, fileSystem);
    const logs: PartitionLog[] = [];
    for (let partition = 0; partition < 4; partition++) {
      logs.push(await store.openPartition({ ...PARTITION, partition, logId: 10 + partition }));
    }
    for (const log of logs) await appendEach(log, 2);
    files.turns = () => 20;
    await Promise.all(logs.map((log) => append(log, [record(VALUE)]).flushed));
    await turns(50);
    expect(most).toBe(2);
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
    ['little of the disk is free', (files: FaultyFileSystem) => (files.capacityBytes = 1 << 30)],
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
