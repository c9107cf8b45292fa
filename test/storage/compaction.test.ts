// Compaction of one log: what stays, what goes, when, and what readers see of it.
import { describe, expect, it } from 'vitest';
import { CompactedDisk, LOG_DIRECTORY } from './compaction-fixture.ts';

const HOUR_MS = 3_600_000;

/** A log whose closed segments hold what was written before; the newest holds `last`, which is not compacted. */
async function written(disk: CompactedDisk, ...batches: string[]): Promise<void> {
  await disk.open();
  for (const batch of batches) await disk.write(batch);
  await disk.reopen();
  await disk.write('last=1');
}

describe('compaction', () => {
  it('keeps the latest record of each key, with its offset and its batch', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1 b=1', 'a=2 c=1', 'b=2', 'a=3');
    await disk.compact();
    expect(await disk.left()).toBe('3:c=1 4:b=2 5:a=3 6:last=1');
    expect(await disk.batches()).toBe('2-3×1 4-4×1 5-5×1 6-6×1');
  });

  it('answers from every offset with the next record there is', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1 b=1', 'a=2 c=1', 'b=2', 'a=3');
    await disk.compact();
    for (const offset of [0, 1, 2, 3]) expect(await disk.left(offset)).toBe('3:c=1 4:b=2 5:a=3 6:last=1');
    expect(await disk.left(4)).toBe('4:b=2 5:a=3 6:last=1');
    await disk.reopen();
    expect(await disk.left(0)).toBe('3:c=1 4:b=2 5:a=3 6:last=1');
  });

  it('leaves null, empty and other keys apart, and drops records without one', async () => {
    const disk = new CompactedDisk();
    await written(disk, '=x a=1', 'a= b=', '=y');
    await disk.compact();
    expect(await disk.left()).toBe('2:a= 3:b= 5:last=1');
  });

  it('leaves an empty batch at the end of a segment, so that its end and its epoch can be told', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1', 'last=0');
    await disk.compact();
    await disk.write('a=2');
    await disk.reopen();
    await disk.write('a=3');
    await disk.reopen();
    await disk.write('b=1');
    await disk.compact();
    expect(await disk.batches()).toBe('1-1×0 2-2×1 3-3×0 4-4×1 5-5×1');
    expect(disk.log.endOfEpoch(1)).toEqual({ leaderEpoch: 1, endOffset: 2 });
    expect(disk.log.endOfEpoch(2)).toEqual({ leaderEpoch: 2, endOffset: 4 });
    await disk.compact();
    expect(await disk.batches()).toBe('1-1×0 2-2×1 3-3×0 4-4×1 5-5×1');
  });

  it('keeps a tombstone until its time after the first round that covered it', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1', 'b=1', 'a');
    await disk.compact();
    expect(await disk.left()).toBe('1:b=1 2:a 3:last=1');
    disk.fixture.clock.advance(HOUR_MS - 1);
    await disk.compact();
    expect(await disk.left()).toBe('1:b=1 2:a 3:last=1');
    disk.fixture.clock.advance(1);
    await disk.compact();
    expect(await disk.left()).toBe('1:b=1 3:last=1');
  });

  it('lets a key come back after its tombstone', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1', 'a', 'a=2');
    await disk.compact();
    expect(await disk.left()).toBe('2:a=2 3:last=1');
  });

  it('counts the time of tombstones from the round, over openings, and starts it anew when that is forgotten', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1', 'a');
    await disk.compact();
    await disk.reopen();
    disk.fixture.clock.advance(HOUR_MS);
    await disk.compact();
    expect(await disk.left()).toBe('2:last=1');

    const forgetful = new CompactedDisk();
    await written(forgetful, 'a=1', 'a');
    await forgetful.compact();
    await forgetful.fixture.store.close();
    forgetful.files.overwrite(`${LOG_DIRECTORY}/compaction-checkpoint.json`, Buffer.from('{'));
    await forgetful.open();
    forgetful.fixture.clock.advance(HOUR_MS);
    await forgetful.compact();
    expect(await forgetful.left()).toBe('1:a 2:last=1');
    forgetful.fixture.clock.advance(HOUR_MS);
    await forgetful.compact();
    expect(await forgetful.left()).toBe('2:last=1');
  });

  it('keeps control batches, and the newest batch of each producer, empty if need be', async () => {
    const disk = new CompactedDisk();
    await disk.open();
    const producer = { producerId: 7, producerEpoch: 0, recordCount: 1 };
    await disk.write('a=1', { ...producer, baseSequence: 0 });
    await disk.write('a=2', { ...producer, baseSequence: 1 });
    await disk.write('t=1', { ...producer, baseSequence: 2, transactional: true });
    await disk.endTransaction(7, 'commit');
    await disk.write('a=3 t=2 end=2');
    await disk.reopen();
    await disk.write('last=1');
    await disk.compact();
    expect(await disk.batches()).toBe('2-2×0 3-3×1 4-6×3 7-7×1');
    await disk.reopen();
    // The sequence goes on, and what was sent again is known.
    await disk.write('b=1', { ...producer, baseSequence: 3 });
    expect(await disk.left()).toContain('8:b=1');
  });

  it('never goes past the first offset of an open transaction, nor past the high watermark', async () => {
    const disk = new CompactedDisk();
    await disk.open({ segmentBytes: 1 });
    const producer = { producerId: 7, producerEpoch: 0, recordCount: 1 };
    await disk.write('a=1');
    await disk.write('a=2');
    await disk.write('a=3', { ...producer, baseSequence: 0, transactional: true });
    await disk.write('a=4');
    await disk.write('a=5');
    await disk.compact();
    expect(await disk.left()).toBe('1:a=2 2:a=3 3:a=4 4:a=5');
    await disk.endTransaction(7, 'commit');
    await disk.write('a=6');
    await disk.compact();
    expect(await disk.left()).toBe('4:a=5 5:commit 6:a=6');
  });

  it('drops what was aborted at once, and takes nothing for replaced by it', async () => {
    const disk = new CompactedDisk();
    await disk.open();
    const producer = { producerId: 7, producerEpoch: 0, recordCount: 1, transactional: true };
    await disk.write('a=1 b=1');
    await disk.write('a=2', { ...producer, baseSequence: 0 });
    await disk.endTransaction(7, 'abort');
    await disk.write('b=2');
    await disk.reopen();
    await disk.write('last=1');
    await disk.compact();
    expect(await disk.left()).toBe('0:a=1 3:abort 4:b=2 5:last=1');
  });

  it('waits until enough is uncompacted', async () => {
    const disk = new CompactedDisk();
    await disk.open({ minCleanableDirtyRatio: 0.5, segmentBytes: 1 });
    for (const batch of ['a=1', 'b=1', 'c=1', 'd=1', 'a=2']) await disk.write(batch);
    await disk.compact();
    expect(disk.fixture.store.counters.compactions).toBe(1);
    for (const batch of ['a=3', 'a=4', 'a=5']) await disk.write(batch);
    await disk.compact();
    expect(disk.fixture.store.counters.compactions).toBe(1);
    for (const batch of ['a=6', 'a=7']) await disk.write(batch);
    await disk.compact();
    expect(await disk.left()).toBe('1:b=1 2:c=1 3:d=1 8:a=6 9:a=7');
  });

  it('leaves records alone for the least lag, and waits no longer than the largest', async () => {
    const disk = new CompactedDisk();
    await disk.open({ minCompactionLagMs: HOUR_MS, segmentBytes: 1, maxCompactionLagMs: 2 * HOUR_MS });
    await disk.write('a=1');
    await disk.write('a=2');
    disk.fixture.clock.advance(HOUR_MS);
    await disk.write('a=3');
    await disk.write('a=4');
    await disk.compact();
    expect(await disk.left()).toBe('1:a=2 2:a=3 3:a=4');
    disk.log.setConfig({ ...disk.log.config, minCompactionLagMs: 0, minCleanableDirtyRatio: 1 });
    await disk.compact();
    expect(await disk.left()).toBe('1:a=2 2:a=3 3:a=4');
    disk.fixture.clock.advance(HOUR_MS + 1);
    await disk.compact();
    disk.fixture.clock.advance(HOUR_MS);
    await disk.compact();
    expect(await disk.left()).toBe('3:a=4');
  });

  it('merges small neighbours of one epoch, not those of two', async () => {
    const disk = new CompactedDisk();
    await disk.open({ segmentBytes: 1 });
    for (const batch of ['a=1', 'b=1', 'c=1']) await disk.write(batch);
    await disk.reopen({ segmentBytes: 1 });
    for (const batch of ['d=1', 'e=1', 'f=1', 'g=1']) await disk.write(batch);
    disk.log.setConfig({ ...disk.log.config, segmentBytes: 1000 });
    await disk.compact();
    expect(disk.names().map((name) => name.replace(/0+(\d)/g, '$1'))).toEqual([
      '1-0.log',
      '2-3.log',
      '2-6.log',
    ]);
    expect(await disk.left()).toBe('0:a=1 1:b=1 2:c=1 3:d=1 4:e=1 5:f=1 6:g=1');
  });

  it('needs several passes when the keys do not fit its memory, and gets there', async () => {
    const disk = new CompactedDisk({ compactionMapBytes: 1 });
    await disk.open({ segmentBytes: 1000 });
    const keys = Array.from({ length: 60 }, (_, index) => `k${index}`);
    for (const round of [1, 2]) {
      for (const key of keys) await disk.write(`${key}=${round}`);
    }
    await disk.write(keys.map((key) => `${key}=3`).join(' '));
    await disk.reopen();
    await disk.write('last=1');
    await disk.compact();
    const expected = keys.map((key, index) => `${120 + index}:${key}=3`);
    expect(await disk.left()).toBe([...expected, '180:last=1'].join(' '));
    expect(disk.fixture.log.named('compaction.pass').length).toBeGreaterThan(5);
  });

  it('finds records by time among empty batches', async () => {
    const disk = new CompactedDisk();
    await written(disk, 'a=1', 'a=2 b=1', 'a=3');
    await disk.compact();
    const timestampMs = disk.fixture.clock.now();
    expect(await disk.log.offsetForTime(0, 10)).toMatchObject({ offset: 2, timestampMs });
    expect(await disk.log.offsetOfMaxTimestamp(10)).toMatchObject({ offset: 2, timestampMs });
    expect(await disk.log.offsetForTime(timestampMs + 1, 10)).toBeUndefined();
  });
});

describe('compaction beside others', () => {
  it('gives way to deleteRecords, and goes on from the new start', async () => {
    const disk = new CompactedDisk();
    await disk.open({ segmentBytes: 1 });
    for (const batch of ['a=1', 'b=1', 'a=2', 'b=2', 'c=1']) await disk.write(batch);
    const compacting = disk.compact();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await disk.log.deleteRecords(3)).toBe(3);
    await compacting;
    await disk.compact();
    expect(await disk.left()).toBe('3:b=2 4:c=1');
    expect(disk.fixture.log.events.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([]);
    await disk.reopen();
    expect(await disk.left()).toBe('3:b=2 4:c=1');
  });

  it('ends when its log is closed or deleted, and leaves nothing', async () => {
    for (const end of ['close', 'delete'] as const) {
      const disk = new CompactedDisk();
      await disk.open({ segmentBytes: 1 });
      for (const batch of ['a=1', 'b=1', 'a=2', 'b=2', 'c=1']) await disk.write(batch);
      const compacting = disk.compact();
      await new Promise((resolve) => setImmediate(resolve));
      const { store } = disk.fixture;
      await (end === 'close' ? store.closePartition(disk.log) : store.deleteTopic('events', 'incarnation-1'));
      await compacting;
      expect(disk.names('.cleaned')).toEqual([]);
      expect(disk.fixture.log.events.filter(({ level }) => level === 'warn' || level === 'error')).toEqual(
        [],
      );
      await store.close();
    }
  });

  it('lets readers go on who were in the middle of what it replaces', async () => {
    const disk = new CompactedDisk({ tailCacheBytes: 0 });
    await disk.open({ segmentBytes: 200 });
    for (let round = 0; round < 40; round++) await disk.write(`a=${round} b=${round}`);
    const compacting = disk.compact();
    const seen: string[] = [];
    let isOver = false;
    void compacting.then(() => {
      isOver = true;
    });
    while (!isOver) seen.push((await disk.left(0)).split(' ').slice(-2).join(' '));
    expect(seen.length).toBeGreaterThan(3);
    expect(new Set(seen)).toEqual(new Set(['78:a=39 79:b=39']));
    expect(disk.log.failed).toBeUndefined();
  });

  it('leaves the reserve of the disk alone', async () => {
    const disk = new CompactedDisk({ diskReserveBytes: 10_000 });
    disk.files.capacityBytes = 11_500;
    await disk.open({ segmentBytes: 400 });
    for (const batch of ['a=1 b=1', 'a=2 c=1', 'a=3', 'a=4', 'a=5']) await disk.write(batch);
    disk.log.setConfig({ ...disk.log.config, segmentBytes: 100_000 });
    disk.files.capacityBytes = disk.files.usedBytes + 10_100;
    await disk.compact();
    expect(disk.fixture.log.named('compaction.failed').length).toBe(1);
    expect(await disk.left()).toContain('0:a=1');
    disk.files.capacityBytes = 1 << 20;
    disk.fixture.clock.advance(HOUR_MS);
    await disk.compact();
    expect(await disk.left()).not.toContain('0:a=1');
  });
});
