// What an opening finds and what it makes of it: torn and zero-filled tails, checkpoints, damage, other versions.
import { describe, expect, it } from 'vitest';
import { batchByteLengthAt, batchChecksum, viewOf } from '../../storage/frame.ts';
import { CUT_ZEROS_MAX } from '../../storage/limits.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { jsonFileOf } from '../../storage/small-file.ts';
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

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const LOG = '/data/topics/events/0';
const FIRST = `${LOG}/00000001-00000000000000000000.log`;
const CHECKPOINT = `${LOG}/recovery-checkpoint.json`;
const MANIFEST = `${LOG}/manifest.json`;

class Machine {
  readonly files = new FaultyFileSystem(['/']);
  index = new MemoryIndex();
  #epoch = 0;

  async open(segmentBytes = 1 << 20): Promise<StoreFixture & { readonly partition: PartitionLog }> {
    const fixture = await openStore({
      directory: '/data',
      fileSystem: this.files.process(),
      index: this.index,
      tailCacheBytes: 0,
    });
    this.#epoch++;
    const partition = await fixture.store.openPartition({
      ...PARTITION,
      leaderEpoch: this.#epoch,
      config: logConfig({ segmentBytes }),
    });
    return { ...fixture, partition };
  }

  /** Six flushed batches a0 … a5, then the process is gone. */
  async killedAfterSix(segmentBytes?: number): Promise<void> {
    const { partition } = await this.open(segmentBytes);
    for (let index = 0; index < 6; index++) await append(partition, [record(`a${index}`)]).flushed;
    this.files.kill();
  }

  async stoppedAfterSix(segmentBytes?: number): Promise<void> {
    const { partition, store } = await this.open(segmentBytes);
    for (let index = 0; index < 6; index++) await append(partition, [record(`a${index}`)]).flushed;
    partition.setHighWatermark(partition.flushedOffset);
    await store.close();
  }

  change(path: string, change: (bytes: Buffer) => Buffer): void {
    this.files.overwrite(path, change(Buffer.from(this.files.bytesOf(path))));
  }
}

const batchLength = (bytes: Buffer): number => batchByteLengthAt(viewOf(bytes), 0);
const ALL = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5'];

/** After `stoppedAfterSix(300)`. Returns its path. */
function damageSecondSegment(machine: Machine): string {
  const path = `${LOG}/00000001-00000000000000000002.log`;
  machine.change(path, (bytes) => {
    bytes[bytes.length - 1]! ^= 1;
    return bytes;
  });
  return path;
}

/** Where the last byte is that is not zero. */
const lastByteOf = (bytes: Buffer): number => bytes.findLastIndex((byte) => byte !== 0);

describe('a torn tail', () => {
  it.each([
    ['cut in the middle of a batch', (bytes: Buffer) => bytes.subarray(0, bytes.length - 5)],
    ['with only a part of a frame', (bytes: Buffer) => bytes.subarray(0, 5 * batchLength(bytes) + 30)],
    [
      'whose last batch has a wrong byte',
      (bytes: Buffer) => {
        bytes[bytes.length - 1]! ^= 1;
        return bytes;
      },
    ],
    [
      'whose last batch is zeros but for its first bytes, with room behind it',
      (bytes: Buffer) =>
        Buffer.concat([bytes.fill(0, 5 * batchLength(bytes) + 12), Buffer.alloc(CUT_ZEROS_MAX + 70_000)]),
      CUT_ZEROS_MAX,
    ],
  ])('%s is cut there, kept aside and told', async (_what, change, zerosKept = 0) => {
    const machine = new Machine();
    await machine.killedAfterSix();
    const before = machine.files.bytesOf(FIRST);
    const kept = 5 * batchLength(before);
    machine.change(FIRST, change);
    const all = machine.files.bytesOf(FIRST).subarray(kept);
    const torn = zerosKept === 0 ? all : all.subarray(0, lastByteOf(all) + 1 + zerosKept);
    const { partition, log, store } = await machine.open();
    expect(valuesOf(await readAll(partition))).toEqual(ALL.slice(0, 5));
    expect(partition.failed).toBeUndefined();
    expect(machine.files.bytesOf(FIRST).length).toBe(kept);
    expect(machine.files.bytesOf(`${FIRST}.${kept}.cut`).equals(torn)).toBe(true);
    expect(log.named('log.tail-cut')).toMatchObject([
      { level: 'warn', fields: { position: kept, logEndOffset: 5 } },
    ]);
    expect(store.counters.cutBytes).toBe(torn.length);
  });

  it('is kept aside durably', async () => {
    const machine = new Machine();
    await machine.killedAfterSix();
    machine.change(FIRST, (bytes) => bytes.subarray(0, bytes.length - 5));
    const torn = machine.files.bytesOf(FIRST).subarray(5 * batchLength(machine.files.bytesOf(FIRST)));
    await machine.open();
    machine.files.crash('nothing', Math.random);
    const [kept = ''] = machine.files.paths().filter((path) => path.endsWith('.cut'));
    expect(machine.files.bytesOf(kept).equals(torn)).toBe(true);
  });

  it.each([0, 1])(
    'of zeros behind the last batch, or in its place, is room: cut and not kept',
    async (lost) => {
      const machine = new Machine();
      await machine.killedAfterSix();
      const end = (6 - lost) * batchLength(machine.files.bytesOf(FIRST));
      machine.change(FIRST, (bytes) => Buffer.concat([bytes.subarray(0, end), Buffer.alloc(3_000_000)]));
      const { partition, log, store } = await machine.open();
      expect(valuesOf(await readAll(partition))).toEqual(ALL.slice(0, 6 - lost));
      expect(machine.files.bytesOf(FIRST).length).toBe(end);
      expect([store.counters.cutBytes, log.named('log.tail-cut')]).toEqual([0, []]);
      expect(machine.files.paths().filter((path) => path.endsWith('.cut'))).toEqual([]);
    },
  );

  it('of zeros where batches were on disk once is no room: it is told', async () => {
    const machine = new Machine();
    await machine.killedAfterSix();
    const bytes = machine.files.bytesOf(FIRST);
    const proven = { segmentBase: 0, bytePosition: bytes.length, logEndOffset: 6 };
    machine.files.overwrite(CHECKPOINT, Buffer.from(JSON.stringify(proven)));
    machine.change(FIRST, (all) => Buffer.concat([all.fill(0, 5 * batchLength(all)), Buffer.alloc(70_000)]));
    const { partition, log } = await machine.open();
    expect(valuesOf(await readAll(partition))).toEqual(ALL.slice(0, 5));
    expect(log.named('log.tail-cut').length).toBe(1);
  });

  it('that is all of the newest segment makes it vanish, and its offsets are given again', async () => {
    const machine = new Machine();
    await machine.killedAfterSix();
    const again = await machine.open();
    await append(again.partition, [record('b6')]).flushed;
    machine.files.kill();
    const second = `${LOG}/00000002-00000000000000000006.log`;
    machine.change(second, (bytes) => bytes.subarray(0, 40));
    const { partition } = await machine.open();
    expect(machine.files.paths()).not.toContain(second);
    expect(append(partition, [record('c6')]).baseOffset).toBe(6);
    await append(partition, [record('c7')]).flushed;
    expect(valuesOf(await readAll(partition))).toEqual([...ALL, 'c6', 'c7']);
  });

  it('is cut even when no copy of it can be kept', async () => {
    const machine = new Machine();
    await machine.killedAfterSix();
    machine.change(FIRST, (bytes) => bytes.subarray(0, bytes.length - 5));
    machine.files.arm({ kind: 'read-fails' });
    // The first read fails the opening; a disk that is well again opens.
    expect(await codeOf(machine.open())).toBe('io');
    expect((await machine.open()).partition.logEndOffset).toBe(5);
  });
});

describe('a segment without a byte', () => {
  it('does not say where the log ended: the one before it may have been cut', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open(200);
    await append(partition, [record('kept')]).flushed;
    // The small files are written meanwhile.
    for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
    // One group, two new segments: the second one gets its name and nothing else, and the first one is cut again.
    machine.files.arm({ kind: 'directory-sync-fails', files: /./, after: 1 });
    const lost = [append(partition, [record('lost')]), append(partition, [record('lost too')])];
    expect((await lost[1]!.flushed)?.code).toBe('io');
    await store.close();
    const again = await machine.open();
    expect(again.partition.logEndOffset).toBe(1);
    await append(again.partition, [record('anew')]).flushed;
    expect(valuesOf(await readAll(again.partition))).toEqual(['kept', 'anew']);
  });
});

describe('a process that was killed', () => {
  it('leaves all it wrote, and a crash after the opening does not take it', async () => {
    const machine = new Machine();
    const { partition } = await machine.open();
    await append(partition, [record('a')]).flushed;
    machine.files.arm({ kind: 'datasync-hangs' });
    append(partition, [record('b')]);
    while (!machine.files.isHanging) await turn();
    machine.files.kill();
    expect((await machine.open()).partition.flushedOffset).toBe(2);
    machine.files.crash('nothing', Math.random);
    expect(valuesOf(await readAll((await machine.open()).partition))).toEqual(['a', 'b']);
  });
});

describe('a process that was killed when a flush had failed', () => {
  it.each(['datasync-fails', 'truncate-fails'] as const)(
    'leaves bytes that a later flush does not write: they are written again (%s)',
    async (kind) => {
      const machine = new Machine();
      const { partition } = await machine.open();
      await append(partition, [record('a')]).flushed;
      machine.files.arm({ kind: 'datasync-fails' }, { kind });
      expect((await append(partition, [record('b')]).flushed)?.code).toBe('io');
      machine.files.kill();
      const seen = valuesOf(await readAll((await machine.open()).partition));
      machine.files.crash('nothing', Math.random);
      expect(valuesOf(await readAll((await machine.open()).partition))).toEqual(seen);
    },
  );
});

describe('a clean stop', () => {
  it('leaves nothing to read, however long the log', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix(300);
    machine.files.bytesRead = 0;
    const { partition, store } = await machine.open();
    expect(partition.logEndOffset).toBe(6);
    expect(machine.files.bytesRead).toBeLessThan(2000);
    expect(store.counters).toMatchObject({ recoveredBytes: 0, cutBytes: 0 });
    expect(valuesOf(await readAll(partition))).toEqual(ALL);
  });

  it.each(['nothing', 'everything', 'anything'] as const)(
    'behind which the power fails loses nothing, of what was not flushed %s kept',
    async (keep) => {
      const machine = new Machine();
      await machine.stoppedAfterSix(300);
      machine.files.crash(keep, Math.random);
      const { partition, store } = await machine.open();
      expect([partition.failed, store.counters.cutBytes]).toEqual([undefined, 0]);
      expect(valuesOf(await readAll(partition))).toEqual(ALL);
    },
  );

  it('is told from another one', async () => {
    const machine = new Machine();
    const first = await machine.open();
    expect(first.store.identity).toMatchObject({
      previousStopWasClean: true,
      nodeId: 1,
      clusterId: 'uuid-1',
    });
    machine.files.kill();
    const second = await machine.open();
    expect(second.store.identity).toEqual({ ...first.store.identity, previousStopWasClean: false });
    await second.store.close();
    expect((await machine.open()).store.identity.previousStopWasClean).toBe(true);
  });
});

describe('a checkpoint', () => {
  const checkpoint = (fields: unknown) => () => Buffer.from(JSON.stringify(fields));

  it.each([
    ['ahead of the log', checkpoint({ segmentBase: 0, bytePosition: 1e6, logEndOffset: 5000 })],
    ['for another segment', checkpoint({ segmentBase: 4, bytePosition: 10, logEndOffset: 4 })],
    ['with other fields', checkpoint({ segmentBase: '0', bytePosition: 10, logEndOffset: 4 })],
    ['that is an array', checkpoint([1, 2, 3])],
    ['that is empty', () => Buffer.alloc(0)],
    ['that is no JSON', () => Buffer.from('{"segmentBase":0,"byte')],
    ['of zeros', () => Buffer.alloc(60)],
  ])('%s is ignored', async (_what, change) => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    machine.change(CHECKPOINT, change);
    const { partition, store } = await machine.open();
    expect(partition.failed).toBeUndefined();
    expect(valuesOf(await readAll(partition))).toEqual(ALL);
    expect(store.counters.recoveredBytes).toBe(machine.files.bytesOf(FIRST).length);
  });

  it.each([
    ['in the middle of a batch', { segmentBase: 0, bytePosition: 300, logEndOffset: 2 }],
    ['at another offset than the one it names', { segmentBase: 0, bytePosition: 0, logEndOffset: 3 }],
    [
      'at the beginning, and names an offset behind it,',
      { segmentBase: 0, bytePosition: -1, logEndOffset: 3 },
    ],
  ])('that lies %s does not cut what is behind it', async (_what, fields) => {
    const machine = new Machine();
    await machine.killedAfterSix();
    const bytes = machine.files.bytesOf(FIRST);
    const position = fields.bytePosition === 0 ? batchLength(bytes) : fields.bytePosition;
    const bytePosition = Math.max(position, 0);
    expect(bytePosition).toBeLessThan(bytes.length);
    machine.files.overwrite(CHECKPOINT, checkpoint({ ...fields, bytePosition })());
    const { partition, store } = await machine.open();
    expect(valuesOf(await readAll(partition))).toEqual(ALL);
    expect(store.counters.cutBytes).toBe(0);
  });

  it('behind which everything is torn is where the log ends', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    machine.change(FIRST, (bytes) => Buffer.concat([bytes, Buffer.alloc(50, 1)]));
    const { partition, store } = await machine.open();
    expect(valuesOf(await readAll(partition))).toEqual(ALL);
    expect([partition.failed, store.counters.cutBytes]).toEqual([undefined, 50]);
  });

  it('is written when enough has been flushed, and the opening scans from there only', async () => {
    const machine = new Machine();
    const fixture = await openStore({
      directory: '/data',
      fileSystem: machine.files.process(),
      index: machine.index,
      checkpointBytes: 10_000,
    });
    const partition = await fixture.store.openPartition(PARTITION);
    while (!machine.files.paths().includes(CHECKPOINT)) {
      await append(partition, [record('x'.repeat(1000))]).flushed;
    }
    await append(partition, [record('last')]).flushed;
    machine.files.kill();
    const { bytePosition } = JSON.parse(machine.files.bytesOf(CHECKPOINT).toString());
    expect(bytePosition).toBeGreaterThan(10_000);
    const again = await machine.open();
    expect(again.store.counters.recoveredBytes).toBe(machine.files.bytesOf(FIRST).length - bytePosition);
    expect(again.partition.logEndOffset).toBe(partition.logEndOffset);
  });
});

describe('a checkpoint behind which the first batch is torn', () => {
  const TORN_BYTES = 50;

  /** Several runs of the index, a checkpoint behind them, and a torn batch behind that. */
  async function tornBehindCheckpoint(): Promise<{ readonly machine: Machine; readonly position: number }> {
    const machine = new Machine();
    const { store } = await openStore({
      directory: '/data',
      fileSystem: machine.files.process(),
      index: machine.index,
      checkpointBytes: 400_000,
      indexIntervalBytes: 1,
    });
    const partition = await store.openPartition(PARTITION);
    const appendOne = (): Promise<unknown> => append(partition, [record('x'.repeat(1000))]).flushed;
    while (!machine.files.paths().includes(CHECKPOINT)) await appendOne();
    await appendOne();
    machine.files.kill();
    const { bytePosition } = JSON.parse(machine.files.bytesOf(CHECKPOINT).toString());
    machine.change(FIRST, (bytes) => bytes.subarray(0, bytePosition + TORN_BYTES));
    return { machine, position: bytePosition };
  }

  it('is found right by what lies before it from the last index entry on, and only what is behind is written', async () => {
    const { machine, position } = await tornBehindCheckpoint();
    const before = Buffer.from(machine.files.bytesOf(FIRST));
    machine.files.bytesRead = 0;
    const { partition, store } = await machine.open();
    expect(machine.files.bytesRead).toBeLessThan(position / 2);
    expect(store.counters).toMatchObject({ recoveredBytes: 0, cutBytes: TORN_BYTES });
    expect(machine.files.bytesOf(FIRST).equals(before.subarray(0, position))).toBe(true);
    expect(partition.failed).toBeUndefined();
    expect((await readAll(partition)).length).toBe(partition.logEndOffset);
  });

  it('is found right by a scan of the whole file without an index, and nothing is written again', async () => {
    const { machine, position } = await tornBehindCheckpoint();
    machine.index = new MemoryIndex();
    const { partition, store } = await machine.open();
    expect(store.counters).toMatchObject({ recoveredBytes: 0, cutBytes: TORN_BYTES });
    expect(machine.files.bytesOf(FIRST).length).toBe(position);
    expect((await readAll(partition)).length).toBe(partition.logEndOffset);
  });

  it('does not hide damage before it', async () => {
    const { machine, position } = await tornBehindCheckpoint();
    machine.change(FIRST, (bytes) => {
      bytes[position - 2500]! ^= 1;
      return bytes;
    });
    const { partition, store } = await machine.open();
    expect([partition.failed?.code, store.counters.cutBytes]).toEqual(['corrupt', 0]);
  });
});

describe('damage', () => {
  it('before the proven end is not a torn tail: the log is read up to it and takes no appends', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    machine.change(CHECKPOINT, () => Buffer.alloc(0));
    machine.change(FIRST, (bytes) => {
      bytes[2 * batchLength(bytes) + 100]! ^= 0x10;
      return bytes;
    });
    const size = machine.files.bytesOf(FIRST).length;
    const { partition, log, store } = await machine.open();
    expect(partition.failed?.code).toBe('corrupt');
    expect(await codeOf(() => append(partition, [record('x')]))).toBe('corrupt');
    expect(valuesOf(await readAll(partition))).toEqual(['a0', 'a1']);
    expect(log.named('log.damaged')).toMatchObject([{ level: 'error', fields: { offset: 2 } }]);
    const other = await store.openPartition({ ...PARTITION, partition: 1, logId: 2 });
    expect(await append(other, [record('fine')]).flushed).toBeUndefined();
    await store.close();
    expect(machine.files.bytesOf(FIRST).length).toBe(size);
    expect((await machine.open()).partition.failed?.code).toBe('corrupt');
  });

  it('in a closed segment is an error of the read that meets it, and of no other', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix(300);
    damageSecondSegment(machine);
    const { partition, log } = await machine.open();
    expect(valuesOf(await readAll(partition, 0, 1 << 16, 2))).toEqual(['a0', 'a1']);
    expect(await codeOf(partition.read(3, 1000, 6))).toBe('corrupt');
    expect(partition.failed?.code).toBe('corrupt');
    expect(await codeOf(() => append(partition, [record('x')]))).toBe('corrupt');
    expect(valuesOf(await readAll(partition, 4))).toEqual(['a4', 'a5']);
    expect(log.named('log.damaged').length).toBe(1);
  });

  it('that readers met stays no longer than its segment: records are deleted, and appends come back', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix(300);
    const damaged = damageSecondSegment(machine);
    const { partition } = await machine.open();
    let told = 0;
    partition.onFailed = () => told++;
    expect(await codeOf(partition.read(3, 1000, 6))).toBe('corrupt');
    expect(await codeOf(partition.read(3, 1000, 6))).toBe('corrupt');
    expect([partition.failed?.code, told]).toEqual(['corrupt', 1]);
    expect(await partition.deleteRecords(2)).toBe(2);
    expect(await codeOf(() => append(partition, [record('x')]))).toBe('corrupt');
    expect(await partition.deleteRecords(4)).toBe(4);
    expect(machine.files.paths()).not.toContain(damaged);
    expect(partition.failed).toBeUndefined();
    expect(await append(partition, [record('a6')]).flushed).toBeUndefined();
    expect(valuesOf(await readAll(partition, 4))).toEqual(['a4', 'a5', 'a6']);
  });

  it('of any single byte is found, or changes nothing', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix(400);
    const segments = machine.files.paths().filter((path) => path.endsWith('.log'));
    const originals = segments.map((path) => Buffer.from(machine.files.bytesOf(path)));
    for (const [which, path] of segments.entries()) {
      const original = originals[which]!;
      for (let at = 0; at < original.length; at++) {
        for (const [each, bytes] of originals.entries()) machine.files.overwrite(segments[each]!, bytes);
        machine.change(path, (bytes) => {
          bytes[at]! ^= 1 << (at % 8);
          return bytes;
        });
        const { partition } = await machine.open();
        let read: (string | null)[] = [];
        const code = await codeOf(
          readAll(partition, 0, 1, partition.logEndOffset).then((records) => {
            read = valuesOf(records);
          }),
        );
        expect(code, `byte ${at} of ${path}`).toBe('corrupt');
        expect(read).toEqual([]);
        machine.files.kill();
      }
    }
  });
});

describe('files whose names contradict each other', () => {
  it.each([
    [
      'one of an older epoch behind the second',
      '00000000-00000000000000000004.log',
      4,
      ['a0', 'a1', 'a2', 'a3'],
    ],
    ['two that begin at one offset', '00000002-00000000000000000002.log', 2, ['a0', 'a1']],
    ['two that begin at the start', '00000002-00000000000000000000.log', 0, []],
  ])('leave a log that is read up to them and is not changed: %s', async (_what, name, endOffset, values) => {
    const machine = new Machine();
    await machine.stoppedAfterSix(300);
    machine.files.overwrite(`${LOG}/${name}`, Buffer.from(machine.files.bytesOf(FIRST)));
    if (endOffset === 4) await machine.files.process().unlink(`${LOG}/00000001-00000000000000000004.log`);
    await machine.open().then(
      ({ store }) => store.close(),
      () => {},
    );
    const names = (): string[] =>
      machine.files.paths().filter((path) => path.startsWith(LOG) && path.endsWith('.log'));
    const before = names();
    const { partition, log, store } = await machine.open();
    expect(partition.failed).toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('contradicts'),
    });
    expect(partition.logEndOffset).toBe(endOffset);
    expect(valuesOf(await readAll(partition))).toEqual(values);
    expect(await codeOf(() => append(partition, [record('x')]))).toBe('corrupt');
    expect(log.named('log.damaged').length).toBe(1);
    const other = await store.openPartition({ ...PARTITION, partition: 1, logId: 2 });
    expect(await append(other, [record('fine')]).flushed).toBeUndefined();
    await store.closePartition(other);
    await store.close();
    expect(names()).toEqual(before);
  });
});

describe('damage of what was not checkpointed', () => {
  it('of any single byte ends the log before it, or changes nothing', async () => {
    const machine = new Machine();
    await machine.killedAfterSix();
    const original = Buffer.from(machine.files.bytesOf(FIRST));
    const length = batchLength(original);
    for (let at = 0; at < original.length; at++) {
      const bytes = Buffer.from(original);
      bytes[at]! ^= 1 << (at % 8);
      machine.files.overwrite(FIRST, bytes);
      const { partition } = await machine.open();
      const whole = Math.floor(at / length);
      expect(valuesOf(await readAll(partition)), `byte ${at}`).toEqual(ALL.slice(0, whole));
      machine.files.kill();
    }
  });
});

describe('versions', () => {
  it('newer than this one are refused with a sentence, in a batch', async () => {
    const machine = new Machine();
    await machine.killedAfterSix();
    machine.change(FIRST, (bytes) => {
      const view = viewOf(bytes);
      bytes[17] = 9;
      view.setUint32(18, batchChecksum(bytes, view, 0, batchLength(bytes)));
      return bytes;
    });
    await expect(machine.open()).rejects.toMatchObject({ code: 'format', message: /newer format/ });
  });

  it.each([MANIFEST, '/data/node.json', '/data/topics/events/topic.json'])('and in %s', async (path) => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    machine.change(path, (bytes) => {
      const { checksum: _, ...fields } = JSON.parse(bytes.toString());
      return Buffer.from(jsonFileOf({ ...fields, formatVersion: 2 }));
    });
    await expect(machine.open()).rejects.toMatchObject({ code: 'format', message: /format 2/ });
  });
});

describe('a manifest', () => {
  it.each([
    ['that is missing', undefined],
    ['that is empty', Buffer.alloc(0)],
    ['that is no manifest', Buffer.from('[]')],
  ])('%s is made anew', async (_what, bytes) => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    if (bytes === undefined) await machine.files.process().unlink(MANIFEST);
    else machine.change(MANIFEST, () => bytes);
    const { partition, store } = await machine.open();
    expect(valuesOf(await readAll(partition))).toEqual(ALL);
    await store.close();
    expect(JSON.parse(machine.files.bytesOf(MANIFEST).toString())).toMatchObject({
      formatVersion: 1,
      leaderEpoch: 2,
      highWatermark: 6,
      logStartOffset: 0,
    });
  });

  it('that knows of more records than there are is told of', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    machine.change(CHECKPOINT, () => Buffer.alloc(0));
    machine.change(FIRST, (bytes) => bytes.subarray(0, 4 * batchLength(bytes)));
    const { partition, log } = await machine.open();
    expect(partition.logEndOffset).toBe(4);
    expect(log.named('log.records-missing')).toMatchObject([{ level: 'error' }]);
  });
});

describe('segments', () => {
  it('hold one leader epoch each; the first append of an opening makes its file', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    const names = (): string[] =>
      machine.files
        .paths()
        .filter((path) => path.endsWith('.log'))
        .map((path) => path.slice(LOG.length + 1));
    await (await machine.open()).store.close();
    expect(names()).toEqual(['00000001-00000000000000000000.log']);
    const { partition, store } = await machine.open();
    await append(partition, [record('b')]).flushed;
    expect(names()).toEqual(['00000001-00000000000000000000.log', '00000003-00000000000000000006.log']);
    expect(partition.endOfEpoch(0)).toBeUndefined();
    expect(partition.endOfEpoch(1)).toEqual({ leaderEpoch: 1, endOffset: 6 });
    expect(partition.endOfEpoch(2)).toEqual({ leaderEpoch: 1, endOffset: 6 });
    expect(partition.endOfEpoch(3)).toEqual({ leaderEpoch: 3, endOffset: 7 });
    await store.close();
    expect(JSON.parse(machine.files.bytesOf(`${LOG}/leader-epochs.json`).toString())).toEqual([
      [1, 0],
      [3, 6],
    ]);
    expect(await store.diskLeaderEpoch('events', PARTITION.topicId, 0)).toBe(3);
  });

  it('of a higher epoch than the opening claims fence it', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    const { store } = await openStore({
      directory: '/data',
      fileSystem: machine.files.process(),
      index: machine.index,
    });
    expect(await codeOf(store.openPartition({ ...PARTITION, leaderEpoch: 0 }))).toBe('fenced-epoch');
  });

  it('end where the next one begins, whatever a crash brought back behind that', async () => {
    const machine = new Machine();
    await machine.stoppedAfterSix();
    const again = await machine.open();
    await append(again.partition, [record('b6')]).flushed;
    await again.store.close();
    const second = machine.files.bytesOf(`${LOG}/00000002-00000000000000000006.log`);
    machine.change(FIRST, (bytes) => Buffer.concat([bytes, second, second]));
    const { partition } = await machine.open();
    expect(valuesOf(await readAll(partition, 0, 1 << 20))).toEqual([...ALL, 'b6']);
    expect(valuesOf(await readAll(partition, 0, 1))).toEqual([...ALL, 'b6']);
  });
});
