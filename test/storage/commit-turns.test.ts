// A commit begins when the one before is done: what is under way is the later one then.
import { expect, it } from 'vitest';
import { nextTurn } from '../../storage/gate.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
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
