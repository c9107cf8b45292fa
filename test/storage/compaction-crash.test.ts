// A crash at every step of a compaction, and failures at each of its operations: what is left reads right, its end does
// not move back, and the next compaction ends as if nothing had been.
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../storage/file-system.ts';
import { OpenFiles } from '../../storage/open-files.ts';
import { removeLeftovers } from '../../storage/segment-swap.ts';
import { type Fault, FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import { CompactedDisk } from './compaction-fixture.ts';

const HOUR_MS = 3_600_000;
/** Operations of the file system that a compaction of the log below does not exceed. */
const STEPS_MAX = 400;

interface Scene {
  readonly name: string;
  /** Whether the newest file is among those that are compacted. */
  readonly newest: boolean;
  /** Merged files, or one by one. */
  readonly segmentBytes: number;
}

const SCENES: readonly Scene[] = [
  { name: 'into one file, a newer one behind', newest: false, segmentBytes: 1 << 20 },
  { name: 'one by one, a newer one behind', newest: false, segmentBytes: 1 },
  { name: 'into one file, the newest too', newest: true, segmentBytes: 1 << 20 },
  { name: 'one by one, the newest too', newest: true, segmentBytes: 1 },
];

/**
 * Two epochs, tombstones of which some have expired, one file a batch. The latest of each key: a=5, c gone, d=1, e=1,
 * and f gone.
 */
async function prepared({ newest, segmentBytes }: Scene): Promise<CompactedDisk> {
  const disk = new CompactedDisk({ tailCacheBytes: 0 });
  await disk.open({ segmentBytes: 1 });
  for (const batch of ['a=1 b=1', 'c=1', 'a=2 f=1', 'c', 'a=3']) await disk.write(batch);
  await disk.compact();
  await disk.reopen({ segmentBytes: 1 });
  for (const batch of ['d=1 a=4', 'b', 'e=1', 'f a=5']) await disk.write(batch);
  await disk.reopen({ segmentBytes: 1 });
  if (!newest) await disk.write('last=1');
  disk.log.setConfig({ ...disk.log.config, segmentBytes });
  disk.fixture.clock.advance(HOUR_MS);
  return disk;
}

/** Of each key the value of its latest record; tombstones are as good as nothing. */
async function latest(disk: CompactedDisk): Promise<string> {
  const values = new Map<string, string>();
  for (const record of (await disk.left(0)).split(' ')) {
    const [, key = '', value] = /^\d+:(\w+)(?:=(\w+))?$/.exec(record) ?? [];
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }
  return [...values].sort().join(' ');
}

describe('a compaction that a crash interrupts', () => {
  for (const scene of SCENES) {
    it(`reads right after any step: ${scene.name}`, async () => {
      const whole = await prepared(scene);
      const expected = await latest(whole);
      const end = whole.log.logEndOffset;
      await whole.compact();
      const expectedBatches = await whole.batches();
      expect(await latest(whole)).toBe(expected);

      let finished = false;
      for (let step = 1; !finished; step += 4) {
        expect(step).toBeLessThan(STEPS_MAX);
        const disk = await prepared(scene);
        finished = await stoppedAfter(disk, step);
        await disk.open({ segmentBytes: scene.segmentBytes });
        expect(disk.fixture.log.events.filter(({ level }) => level === 'error')).toEqual([]);
        expect(disk.log.logEndOffset).toBe(end);
        expect(await latest(disk)).toBe(expected);
        expect(disk.names('.cleaned')).toEqual([]);
        if (step % 3 !== 0) continue;
        disk.fixture.clock.advance(HOUR_MS);
        await disk.compact();
        expect(await latest(disk)).toBe(expected);
        await disk.reopen({ segmentBytes: scene.segmentBytes });
        expect(disk.log.logEndOffset).toBe(end);
        expect(await latest(disk)).toBe(expected);
        if (!scene.newest) expect(await disk.batches()).toBe(expectedBatches);
      }
    }, 30_000);
  }

  it('has each change of names on disk before the next one', async () => {
    const disk = await prepared(SCENES[0]!); // there are four
    const changes = namesChanged(disk);
    await disk.compact();
    const text = changes.join(' ');
    expect(text).toContain('rename flush unlink flush unlink flush unlink flush');
    expect(text).not.toMatch(/(rename|unlink) (rename|unlink)/);
  });

  it('leaves no checkpoint of where batches were: one may look right and tell of an end that is too low', async () => {
    const disk = new CompactedDisk({ checkpointBytes: 1 });
    await disk.open({ segmentBytes: 1 << 20 });
    await disk.write('a=1');
    // All batches have one size: the compacted file ends where the checkpoint says that it ended after the first.
    await disk.settle();
    for (const batch of ['a=2', 'a=3']) await disk.write(batch);
    disk.files.crash('everything', seededRandom(1));
    await disk.open();
    expect(disk.log.logEndOffset).toBe(3);
    await disk.compact();
    expect(await disk.batches()).toBe('2-2×1');
    disk.files.crash('nothing', seededRandom(1));
    await disk.open();
    expect(disk.log.logEndOffset).toBe(3);
    expect(await disk.left()).toBe('2:a=3');
  });
});

describe('the checkpoint of recovery', () => {
  it('names no file that was compacted, though a newer one is there', async () => {
    const disk = new CompactedDisk({ checkpointBytes: 1 });
    await disk.open({ segmentBytes: 1 << 20 });
    for (const batch of ['a=1', 'a=2', 'a=3']) await disk.write(batch);
    await disk.settle();
    disk.files.crash('everything', seededRandom(1));
    const reopened = new CompactedDisk({ checkpointBytes: 1 << 20 }, disk);
    await reopened.open();
    await reopened.write('b=1');
    expect(reopened.checkpoint()).toMatchObject({ segmentBase: 0 });
    await reopened.compact();
    expect(await reopened.batches()).toBe('2-2×1 3-3×1');
    expect(reopened.checkpoint()).toMatchObject({ segmentBase: 3, bytePosition: 0, logEndOffset: 3 });
    reopened.files.crash('nothing', seededRandom(1));
    await reopened.open();
    expect(await reopened.left()).toBe('2:a=3 3:b=1');
  });
});

/** Renames and removals of segments, and flushes of directories, as they come. */
function namesChanged(disk: CompactedDisk): string[] {
  const changes: string[] = [];
  const { process } = disk;
  for (const [name, as] of [
    ['rename', 'rename'],
    ['unlink', 'unlink'],
    ['syncDirectory', 'flush'],
  ] as const) {
    const real = process[name].bind(process) as (path: string, to?: string) => Promise<void>; // the three of them
    process[name] = (path: string, to?: string) => {
      if (as === 'flush' || /\.log$/.test(to ?? path)) changes.push(as);
      return real(path, to);
    };
  }
  return changes;
}

/** Compacts and stops the machine after so many operations; whether the compaction was over by then. */
async function stoppedAfter(disk: CompactedDisk, steps: number): Promise<boolean> {
  let operations = 0;
  let stop: (() => void) | undefined;
  const stopped = new Promise<boolean>((resolve) => {
    stop = () => resolve(false);
  });
  disk.files.turns = () => {
    if (++operations === steps) {
      disk.files.crash('anything', seededRandom(steps));
      stop?.();
    }
    return 1;
  };
  const finished = await Promise.race([disk.compact().then(() => true), stopped]);
  disk.files.turns = () => 1;
  if (finished) disk.files.crash('anything', seededRandom(steps));
  return finished;
}

describe('a compaction in which an operation fails', () => {
  const cleaned = /\.cleaned$/;
  const faults: readonly (Fault & { readonly title: string })[] = [
    { title: 'the disk is full', kind: 'write-fails', code: 'ENOSPC', afterBytes: 10, files: cleaned },
    { title: 'the file cannot be made', kind: 'open-fails', code: 'EACCES', files: cleaned },
    { title: 'its flush fails', kind: 'datasync-fails', files: cleaned },
    { title: 'it cannot be renamed', kind: 'rename-fails', files: cleaned },
    { title: 'the directory cannot be flushed', kind: 'directory-sync-fails', files: /./ },
    { title: 'a replaced file cannot be removed', kind: 'unlink-fails', files: /\.log$/ },
    { title: 'a segment cannot be read', kind: 'read-fails', files: /\.log$/ },
    {
      title: 'its checkpoint cannot be written',
      kind: 'write-fails',
      code: 'EIO',
      afterBytes: 3,
      files: /compaction/,
    },
  ];
  for (const { title, ...fault } of faults) {
    it(`leaves a log that reads right, and is tried again later: ${title}`, async () => {
      for (const scene of [SCENES[0]!, SCENES[2]!]) {
        for (const after of [0, 2]) {
          const disk = await prepared(scene);
          const expected = await latest(disk);
          const end = disk.log.logEndOffset;
          disk.files.arm({ ...(fault as Fault), after }); // without its title it is one
          await disk.compact();
          const struck = !disk.files.isArmed;
          disk.files.arm();
          expect(disk.fixture.log.named('compaction.failed').length).toBe(struck ? 1 : 0);
          expect(await latest(disk)).toBe(expected);
          expect(disk.log.failed).toBeUndefined();
          const { compactions } = disk.fixture.store.counters;
          await disk.compact();
          if (struck) expect(disk.fixture.store.counters.compactions).toBe(compactions);
          disk.fixture.clock.advance(HOUR_MS);
          await disk.compact();
          expect(await latest(disk)).toBe(expected);
          expect(disk.names('.cleaned')).toEqual([]);
          disk.files.crash('nothing', seededRandom(1));
          await disk.open();
          expect(disk.log.logEndOffset).toBe(end);
          expect(await latest(disk)).toBe(expected);
        }
      }
    });
  }

  it('tells of damage, and leaves the log alone until it is opened again', async () => {
    const disk = await prepared(SCENES[0]!); // there are four
    const path = disk.files.paths().find((each) => each.endsWith('.log'))!;
    const bytes = disk.files.bytesOf(path);
    bytes[100]! ^= 1;
    disk.files.overwrite(path, bytes);
    await disk.compact();
    expect(disk.fixture.log.named('compaction.damaged').length).toBe(1);
    disk.fixture.clock.advance(24 * HOUR_MS);
    await disk.compact();
    expect(disk.fixture.log.named('compaction.damaged').length).toBe(1);
    expect(disk.names('.cleaned')).toEqual([]);
  });
});

describe('what compaction replaced and removes', () => {
  it('does not stay open for a reader who looked for it until it was gone', async () => {
    const disk = new FaultyFileSystem(['/']);
    const process = disk.process();
    let open = 0;
    const fileSystem: FileSystem = {
      ...process,
      open: async (path, mode) => {
        const file = await process.open(path, mode);
        open++;
        return {
          read: (...of) => file.read(...of),
          write: (...of) => file.write(...of),
          truncate: (length) => file.truncate(length),
          datasync: () => file.datasync(),
          close: () => {
            open--;
            return file.close();
          },
        };
      },
      unlink: async (path) => {
        await files.with(path, async () => {});
        return process.unlink(path);
      },
    };
    const files = new OpenFiles(fileSystem, 10);
    await files.create('/0.log');
    files.drop('/0.log');
    const leftovers = ['/0.log'];
    await removeLeftovers({ fileSystem, files }, '/', leftovers);
    expect([leftovers, disk.paths()]).toEqual([[], []]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(open).toBe(0);
  });
});
