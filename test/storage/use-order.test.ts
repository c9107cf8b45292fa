// Things in the order of their use, and the bounds of the caches that evict by it.
import { expect, test } from 'vitest';
import { AbortedRunCache } from '../../storage/aborted-run-cache.ts';
import { Gate } from '../../storage/gate.ts';
import { IndexCache } from '../../storage/index-cache.ts';
import { Segment } from '../../storage/segment.ts';
import { IndexRun } from '../../storage/segment-index.ts';
import { AbortedRun } from '../../storage/segment-transactions.ts';
import { type Linked, UseOrder } from '../../storage/use-order.ts';

interface Named extends Linked<Named> {
  readonly name: string;
}

function orderOf(names: string): { order: UseOrder<Named>; items: Map<string, Named> } {
  const order = new UseOrder<Named>();
  const items = new Map<string, Named>();
  for (const name of names) {
    const item = { name, older: undefined, newer: undefined };
    items.set(name, item);
    order.add(item);
  }
  return { order, items };
}

const namesOf = (order: UseOrder<Named>): string => Array.from(order, ({ name }) => name).join('');

test.each([
  ['the oldest', 'a', 'bcda', 'bcd'],
  ['one between', 'b', 'acdb', 'acd'],
  ['the newest', 'd', 'abcd', 'abc'],
])('%s is used, and then removed', (_, name, used, removed) => {
  const { order, items } = orderOf('abcd');
  order.touch(items.get(name)!);
  expect(namesOf(order)).toBe(used);
  order.remove(items.get(name)!);
  expect(namesOf(order)).toBe(removed);
  expect([order.oldest?.name, order.newest?.name]).toEqual([removed[0], removed.at(-1)]);
});

test('all may go while they are looked at, and come back', () => {
  const { order, items } = orderOf('abc');
  for (const item of order) order.remove(item);
  expect([order.oldest, order.newest]).toEqual([undefined, undefined]);
  order.add(items.get('b')!);
  expect(namesOf(order)).toBe('b');
  order.clear();
  expect(namesOf(order)).toBe('');
});

const ROW_BYTES = 16;
/** Of the row and of what an entry takes besides. */
const ENTRY_BYTES = ROW_BYTES + 256;
const segment = new Segment('/nowhere', 1, 0);

function indexCacheOf(rows: number): IndexCache {
  const cache = new IndexCache(rows * ENTRY_BYTES);
  for (let row = 0; row < 3 * rows; row++) putRow(cache, row);
  return cache;
}

function putRow(cache: IndexCache, row: number): void {
  cache.put(segment, new IndexRun(10 * row, Buffer.alloc(ROW_BYTES), 1), 10 * row, cache.version);
}

/** Which of so many rows are there. */
function rowsIn(cache: IndexCache, count: number): number[] {
  const rows = Array.from({ length: count }, (_, row) => row);
  return rows.filter((row) => cache.floor(segment, 10 * row) !== undefined);
}

test('index rows stay within their bytes; those looked at lately stay', () => {
  const cache = indexCacheOf(3);
  expect(rowsIn(cache, 9)).toEqual([6, 7, 8]);
  cache.floor(segment, 60);
  putRow(cache, 9);
  expect(rowsIn(cache, 10)).toEqual([6, 8, 9]);
  cache.drop(segment);
  expect(rowsIn(cache, 10)).toEqual([]);
  putRow(cache, 1);
  expect(rowsIn(cache, 10)).toEqual([1]);
});

test('rows of aborted transactions stay within their bytes; those looked at lately stay', () => {
  const cache = new AbortedRunCache(2 * ENTRY_BYTES);
  const put = (row: number): void => cache.put(segment, row, new AbortedRun(Buffer.alloc(ROW_BYTES), 0));
  const rows = (): number[] => [0, 1, 2, 3].filter((row) => cache.get(segment, row) !== undefined);
  put(0);
  put(1);
  cache.get(segment, 0);
  put(2);
  expect(rows()).toEqual([0, 2]);
  put(3);
  expect(rows()).toEqual([2, 3]);
});

test('a gate lets through in the order of asking, whatever the number that waits', async () => {
  const gate = new Gate(2);
  const passed: number[] = [];
  let inside = 0;
  const pass = (number: number): Promise<void> =>
    gate.pass(async () => {
      inside++;
      expect(inside).toBeLessThanOrEqual(2);
      passed.push(number);
      await Promise.resolve();
      inside--;
    });
  const numbers = Array.from({ length: 1000 }, (_, index) => index);
  await Promise.all(numbers.map(pass));
  await pass(1000);
  expect(passed).toEqual([...numbers, 1000]);
});
