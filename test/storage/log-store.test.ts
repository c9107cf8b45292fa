// The store as a whole, on a real disk: its lock, its identity, topics as incarnations, its index lost or damaged.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { nodeFileSystem } from '../../storage/file-system.ts';
import { openLevelIndex } from '../../storage/index-database.ts';
import {
  append,
  codeOf,
  logConfig,
  openStore,
  PARTITION,
  readAll,
  record,
  valuesOf,
  withDirectory,
} from '../helpers/store-fixture.ts';

const HOLDER = join(import.meta.dirname, '../helpers/store-holder.mjs');

/** Another process that opens the store; and what it said. */
async function holder(directory: string): Promise<{ child: ChildProcess; said: string }> {
  expect(inject('buildError')).toBe('');
  const child = spawn(process.execPath, [HOLDER, directory], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [said] = await once(child.stdout!, 'data');
  return { child, said: String(said).trim() };
}

describe('the data directory', () => {
  it('is made, and knows its node again', () =>
    withDirectory(async (parent) => {
      const directory = join(parent, 'data');
      const first = await openStore({ directory });
      await first.store.close();
      expect(JSON.parse(await readFile(join(directory, 'node.json'), 'utf8'))).toEqual({
        formatVersion: 1,
        clusterId: 'uuid-1',
        nodeId: 1,
        diskId: 'uuid-2',
        cleanStop: true,
        checksum: expect.stringMatching(/^[0-9a-f]{8}$/),
      });
      const second = await openStore({ directory });
      expect(second.store.identity).toEqual({ ...first.store.identity, previousStopWasClean: true });
      await second.store.close();
      expect(await codeOf(openStore({ directory, nodeId: 2 }))).toBe('data-directory');
    }));

  it('that is a file, lies under one, or has no parent is refused by a sentence', () =>
    withDirectory(async (parent) => {
      await writeFile(join(parent, 'file'), 'x');
      const refusal = (directory: string): Promise<unknown> =>
        openStore({ directory }).catch((error) => error);
      expect(await refusal(join(parent, 'file'))).toMatchObject({
        code: 'data-directory',
        message: /is a file/,
      });
      expect(await refusal(join(parent, 'file/data'))).toMatchObject({
        code: 'data-directory',
        message: /a part of its path is a file/,
      });
      expect(await refusal(join(parent, 'none/data'))).toMatchObject({
        code: 'data-directory',
        message: /parent directory does not exist/,
      });
    }));

  it('that is not writable is refused by a sentence', () =>
    withDirectory(async (directory) => {
      const denied = Object.assign(new Error('permission denied'), { code: 'EACCES' });
      const fileSystem = { ...nodeFileSystem, checkWritable: () => Promise.reject(denied) };
      await expect(openStore({ directory, fileSystem })).rejects.toMatchObject({
        code: 'data-directory',
        message: /is not writable/,
      });
    }));

  it('whose node.json cannot be read is refused, not given another identity', () =>
    withDirectory(async (directory) => {
      await writeFile(join(directory, 'node.json'), '{"clusterId":');
      expect(await codeOf(openStore({ directory }))).toBe('format');
    }));

  it('is locked against this process and others, and free again after kill -9', () =>
    withDirectory(async (parent) => {
      const directory = join(parent, 'data');
      const { child, said } = await holder(directory);
      try {
        expect(said).toBe('open');
        expect(await codeOf(openStore({ directory }))).toBe('locked');
      } finally {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      const { store } = await openStore({ directory });
      expect(store.identity.previousStopWasClean).toBe(false);
      const log = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
      expect(valuesOf(await readAll(log))).toEqual(['held']);
      expect(await codeOf(openStore({ directory }))).toBe('locked');
      const another = await holder(directory);
      expect(another.said).toBe('locked');
      await once(another.child, 'exit');
      await store.close();
    }));
});

describe('partitions', () => {
  it('are apart from each other', () =>
    withDirectory(async (directory) => {
      const { store } = await openStore({ directory });
      const logs = await Promise.all(
        [0, 1, 2, 3, 4].map((partition) =>
          store.openPartition({ ...PARTITION, partition, logId: partition + 1 }),
        ),
      );
      const flushed = logs.map((log, index) => append(log, [record(`p${index}`)]).flushed);
      expect(await Promise.all(flushed)).toEqual(Array(5).fill(undefined));
      for (const [index, log] of logs.entries()) expect(valuesOf(await readAll(log))).toEqual([`p${index}`]);
      await store.close();
      expect((await readdir(join(directory, 'topics/events'))).sort()).toEqual([
        '0',
        '1',
        '2',
        '3',
        '4',
        'topic.json',
      ]);
    }));

  it('know their highest epoch on disk, and 0 when they are not there', () =>
    withDirectory(async (directory) => {
      const { store } = await openStore({ directory });
      expect(await store.diskLeaderEpoch('events', PARTITION.topicId, 0)).toBe(0);
      const log = await store.openPartition({ ...PARTITION, leaderEpoch: 7 });
      await append(log, [record('x')]).flushed;
      expect(await store.diskLeaderEpoch('events', PARTITION.topicId, 0)).toBe(7);
      expect(await store.diskLeaderEpoch('events', PARTITION.topicId, 1)).toBe(0);
      expect(await store.diskLeaderEpoch('events', 'another', 0)).toBe(0);
      await store.close();
      expect(await codeOf(store.openPartition(PARTITION))).toBe('closed');
    }));
});

describe('a topic', () => {
  const again = { ...PARTITION, topicId: 'incarnation-2', logId: 2 };

  it('deleted and made again is another topic', () =>
    withDirectory(async (directory) => {
      const { store } = await openStore({ directory });
      const log = await store.openPartition(PARTITION);
      const { flushed } = append(log, [record('old')]);
      await store.deleteTopic('events', PARTITION.topicId);
      expect(await flushed).toBeUndefined();
      expect(await codeOf(() => append(log, [record('x')]))).toBe('deleted');
      const second = await store.openPartition(again);
      expect([second.logStartOffset, second.logEndOffset]).toEqual([0, 0]);
      await append(second, [record('new')]).flushed;
      expect(valuesOf(await readAll(second))).toEqual(['new']);
      await store.deleteTopic('events', PARTITION.topicId);
      expect(valuesOf(await readAll(second))).toEqual(['new']);
      await store.close();
      expect(await readdir(join(directory, 'deleted'))).toEqual([]);
    }));

  it('whose removal was interrupted is removed at the next start', () =>
    withDirectory(async (directory) => {
      await mkdir(join(directory, 'deleted/some-id/0'), { recursive: true });
      await writeFile(join(directory, 'deleted/some-id/0/x.log'), 'x');
      const { store } = await openStore({ directory });
      await store.close();
      expect(await readdir(join(directory, 'deleted'))).toEqual([]);
    }));

  it('of another id under the same name is set aside and told, not read and not removed', () =>
    withDirectory(async (directory) => {
      const { store, log } = await openStore({ directory });
      await append(await store.openPartition(PARTITION), [record('old')]).flushed;
      await store.close();
      const next = await openStore({ directory });
      const second = await next.store.openPartition(again);
      expect(second.logEndOffset).toBe(0);
      expect(next.log.named('topic.set-aside').length).toBe(1);
      expect(log.named('topic.set-aside').length).toBe(0);
      await next.store.close();
      const aside = join(directory, 'set-aside', PARTITION.topicId, '0');
      expect(await readdir(aside)).toContain('00000001-00000000000000000000.log');
    }));

  it.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['is damaged', '{"topicId":'],
  ])('whose topic.json %s keeps its records, and is told', (_what, text) =>
    withDirectory(async (directory) => {
      const { store } = await openStore({ directory });
      await append(await store.openPartition(PARTITION), [record('kept')]).flushed;
      await store.close();
      const path = join(directory, 'topics/events/topic.json');
      await (text === undefined ? rm(path) : writeFile(path, text));
      for (const told of [1, 0]) {
        const next = await openStore({ directory });
        expect(await next.store.diskLeaderEpoch('events', PARTITION.topicId, 0)).toBe(2 - told);
        const partition = await next.store.openPartition({ ...PARTITION, leaderEpoch: 3 - told });
        expect(valuesOf(await readAll(partition))).toEqual(['kept']);
        expect(next.log.named('topic.id-made-anew').length).toBe(told);
        await next.store.close();
      }
    }),
  );
});

describe('the index', () => {
  async function filled(directory: string): Promise<void> {
    const { store } = await openStore({ directory, indexIntervalBytes: 300 });
    const log = await store.openPartition({ ...PARTITION, config: logConfig({ segmentBytes: 20_000 }) });
    for (let index = 0; index < 300; index++) {
      const { flushed } = append(log, [record(`v${index}`.padEnd(100), 1000 + index)]);
      if (index % 50 === 49) await flushed;
    }
    await store.close();
  }

  async function expectWhole(directory: string): Promise<void> {
    const { store } = await openStore({ directory, indexIntervalBytes: 300, tailCacheBytes: 0 });
    const log = await store.openPartition({
      ...PARTITION,
      leaderEpoch: 2,
      config: logConfig({ segmentBytes: 20_000 }),
    });
    for (const offset of [0, 7, 150, 299]) {
      expect(valuesOf(await readAll(log, offset, 1, offset + 1))).toEqual([`v${offset}`.padEnd(100)]);
      expect(await log.offsetForTime(1000 + offset, 300)).toMatchObject({
        offset,
        timestampMs: 1000 + offset,
      });
    }
    expect(await log.offsetForTime(1300, 300)).toBeUndefined();
    expect(await log.offsetOfMaxTimestamp(300)).toMatchObject({ offset: 299 });
    expect(await log.offsetOfMaxTimestamp(123)).toMatchObject({ offset: 122 });
    await store.close();
  }

  it('is used', () =>
    withDirectory(async (directory) => {
      await filled(directory);
      await expectWhole(directory);
    }));

  it('that was deleted is made anew', () =>
    withDirectory(async (directory) => {
      await filled(directory);
      await rm(join(directory, 'index'), { recursive: true });
      await expectWhole(directory);
      await expectWhole(directory);
    }));

  it('whose files are damaged is emptied and made anew', () =>
    withDirectory(async (directory) => {
      await filled(directory);
      for (const name of await readdir(join(directory, 'index'))) {
        if (/^(MANIFEST|CURRENT)/.test(name)) await writeFile(join(directory, 'index', name), 'nonsense');
      }
      await expectWhole(directory);
    }));

  it.each([/^MANIFEST/, /^CURRENT/, /^LOG/, /log$/])(
    'in which a directory lies in the place of %s is emptied and made anew',
    (pattern) =>
      withDirectory(async (directory) => {
        await filled(directory);
        for (const name of await readdir(join(directory, 'index'))) {
          if (!pattern.test(name)) continue;
          await rm(join(directory, 'index', name));
          await mkdir(join(directory, 'index', name, 'inside'), { recursive: true });
        }
        await expectWhole(directory);
      }),
  );

  it('in whose place a file lies is made anew', () =>
    withDirectory(async (directory) => {
      await filled(directory);
      await rm(join(directory, 'index'), { recursive: true });
      await writeFile(join(directory, 'index'), 'nonsense');
      await expectWhole(directory);
    }));

  it('whose entries lead nowhere is dropped and made anew', () =>
    withDirectory(async (directory) => {
      await filled(directory);
      const index = await openLevelIndex(join(directory, 'index'), () => {});
      const all = [Buffer.alloc(21), Buffer.alloc(21, 255)] as const;
      for (;;) {
        const row = await index.floor(...all);
        if (row === undefined) break;
        // Every row of offsets gets positions that are off by one.
        if (row.key[0] !== 1) {
          await index.clear(row.key, row.key);
          continue;
        }
        const value = Buffer.from(row.value);
        for (let at = 7; at < value.length; at += 16) value[at] = (value[at]! + 1) & 255;
        await index.put([{ key: Buffer.concat([Buffer.from([0]), row.key.subarray(1)]), value }]);
        await index.clear(row.key, row.key);
        if ((await index.floor(Buffer.alloc(21, 1), all[1])) === undefined) break;
      }
      for (;;) {
        const row = await index.floor(all[0], Buffer.alloc(21, 1));
        if (row === undefined || row.key[0] !== 0) break;
        await index.put([{ key: Buffer.concat([Buffer.from([1]), row.key.subarray(1)]), value: row.value }]);
        await index.clear(row.key, row.key);
      }
      await index.close();
      await expectWhole(directory);
      await expectWhole(directory);
    }));

  /** Where LevelDB is to write next in the directory there is a device that takes nothing. */
  async function withoutRoom(directory: string, device: string): Promise<() => Promise<void>> {
    const names = Array.from({ length: 50 }, (_, index) => `MANIFEST-${`${index}`.padStart(6, '0')}`);
    const links = names.map((name) => join(directory, name)).filter((path) => !existsSync(path));
    for (const path of links) await symlink(device, path);
    return async () => {
      for (const path of links) await rm(path, { force: true });
    };
  }

  const filesOf = async (directory: string) => {
    const names = (await readdir(directory)).filter((name) => !name.startsWith('LOG')).sort();
    return Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'latin1')]));
  };

  it.skipIf(!existsSync('/dev/full') || !existsSync('/proc/version')).each([
    ['is full', '/dev/full', 'disk-full', /index.*No space left/i],
    ['fails', '/proc/version', 'io', /index.*(?:error|denied|permitted).*has been left as it is/],
  ] as const)(
    'on a disk that %s is left as it is, and the start refused (needs %s)',
    (_what, device, code, message) =>
      withDirectory(async (directory) => {
        await filled(directory);
        const before = await filesOf(join(directory, 'index'));
        const takeAway = await withoutRoom(join(directory, 'index'), device);
        await expect(openStore({ directory })).rejects.toMatchObject({ code, message });
        await takeAway();
        expect(await filesOf(join(directory, 'index'))).toEqual(expect.arrayContaining(before));
        await expectWhole(directory);
      }),
  );
});
