// The MetaStore: revisions, conditions, counters, watches, and writes of unknown outcome.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type MetaChange,
  type MetaDatabase,
  type MetaStore,
  metaStoreOver,
  openMetaDatabase,
  openMetaStore,
} from '../../storage/meta-store.ts';

let directory: string;
let store: MetaStore;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'polylog-meta-'));
  store = await openMetaStore(directory);
});

afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

async function reopen(): Promise<void> {
  await store.close();
  store = await openMetaStore(directory);
}

test('a put is read back with the revision of its transaction, after a restart too', async () => {
  expect(await store.transact({ put: [{ key: 'topic/a', value: { n: null } }] })).toEqual({
    outcome: 'applied',
    revision: 1,
  });
  expect(await store.transact({ put: [{ key: 'topic/b', value: [2] }] })).toMatchObject({ revision: 2 });
  await reopen();
  expect(await store.get('topic/a')).toEqual({ key: 'topic/a', value: { n: null }, revision: 1 });
  expect(await store.revision()).toBe(2);
  expect(await store.get('topic/c')).toBeUndefined();
});

test('list returns the entries of a prefix in the order of their keys', async () => {
  const put = ['topic/b', 'topic', 'topic/a~', 'topics/x', 'topic/a'].map((key) => ({ key, value: key }));
  await store.transact({ put });
  expect((await store.list('topic/')).map((entry) => entry.key)).toEqual(['topic/a', 'topic/a~', 'topic/b']);
});

test('a transaction whose conditions hold applies as a whole', async () => {
  await store.transact({ put: [{ key: 'a', value: 1 }] });
  const result = await store.transact({
    if: [
      { key: 'a', revision: 1 },
      { key: 'b', absent: true },
    ],
    put: [{ key: 'b', value: 2 }],
    delete: ['a'],
  });
  expect(result).toEqual({ outcome: 'applied', revision: 2 });
  expect(await store.get('a')).toBeUndefined();
  expect((await store.get('b'))?.value).toBe(2);
});

test.each([
  [{ key: 'a', revision: 7 }],
  [{ key: 'a', absent: true } as const],
  [{ key: 'gone', revision: 1 }],
])('a transaction is refused and changes nothing when %o does not hold', async (condition) => {
  await store.transact({ put: [{ key: 'a', value: 1 }] });
  const result = await store.transact({ if: [condition], put: [{ key: 'c', value: 3 }], delete: ['a'] });
  expect(result).toEqual({ outcome: 'refused', key: condition.key });
  expect(await store.get('c')).toBeUndefined();
  expect((await store.get('a'))?.revision).toBe(1);
  expect(await store.revision()).toBe(1);
});

test('of concurrent transactions on one revision exactly one applies', async () => {
  await store.transact({ put: [{ key: 'a', value: 0 }] });
  const attempts = [1, 2, 3, 4].map((value) =>
    store.transact({ if: [{ key: 'a', revision: 1 }], put: [{ key: 'a', value }] }),
  );
  const outcomes = (await Promise.all(attempts)).map((result) => result.outcome);
  expect(outcomes).toEqual(['applied', 'refused', 'refused', 'refused']);
  expect((await store.get('a'))?.value).toBe(1);
});

test('allocated blocks never overlap, concurrently and across restarts', async () => {
  const first = await Promise.all([
    store.allocate('ids', 1000),
    store.allocate('ids', 10),
    store.allocate('other', 5),
  ]);
  await reopen();
  expect([...first, await store.allocate('ids', 1)]).toEqual([0, 1000, 0, 1010]);
});

test('a watch sees the changes after its revision, transaction by transaction, deletions too', async () => {
  await store.transact({ put: [{ key: 'topic/a', value: 1 }] });
  await store.transact({ put: [{ key: 'other', value: 1 }] });
  const seen: (readonly MetaChange[])[] = [];
  const watch = store.watch('topic/', 0, (changes) => seen.push(changes));
  await store.transact({ put: [{ key: 'topic/b', value: 2 }], delete: ['topic/a'] });
  if (watch !== 'compacted') watch.close();
  await store.transact({ put: [{ key: 'topic/c', value: 3 }] });
  expect(seen).toEqual([
    [{ key: 'topic/a', value: 1, revision: 1 }],
    [
      { key: 'topic/b', value: 2, revision: 3 },
      { key: 'topic/a', value: undefined, revision: 3 },
    ],
  ]);
});

test('a watch from before what is remembered says so', async () => {
  await store.transact({ put: [{ key: 'a', value: 1 }] });
  await reopen();
  expect(store.watch('', 0, () => undefined)).toBe('compacted');
  expect(store.watch('', 1, () => undefined)).not.toBe('compacted');
});

test('a second opening of the directory is locked out', async () => {
  await expect(openMetaStore(directory)).rejects.toMatchObject({ code: 'locked' });
});

test('a failed write is unknown, allocates nothing and leaves the revisions right', async () => {
  await store.close();
  const database = await openMetaDatabase(directory);
  let failures = 0;
  const write: MetaDatabase['write'] = (operations) =>
    failures-- > 0 ? Promise.reject(new Error('no')) : database.write(operations);
  const faulty = { ...database, write };
  store = await metaStoreOver(faulty);
  failures = 2;
  const result = await store.transact({ put: [{ key: 'a', value: 1 }] });
  expect(result).toMatchObject({ outcome: 'unknown', cause: { code: 'io' } });
  await expect(store.allocate('ids', 10)).rejects.toMatchObject({ code: 'io' });
  expect(await store.allocate('ids', 10)).toBe(0);
  expect(await store.revision()).toBe(1);
});

test('after close a transaction has no effect and says that it does not know', async () => {
  await store.close();
  expect(await store.transact({ put: [{ key: 'a', value: 1 }] })).toMatchObject({ outcome: 'unknown' });
  await expect(store.get('a')).rejects.toMatchObject({ code: 'closed' });
});
