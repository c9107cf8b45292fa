// Who is closed when connections hold too much together.

import { expect, test } from 'vitest';
import { ConnectionMemory } from '../../../protocols/kafka/connection-memory.ts';

const MEBIBYTE = 1 << 20;

function memoryOf(bytesMax: number, names: string) {
  const memory = new ConnectionMemory(() => bytesMax);
  const relieved: string[] = [];
  const holders = new Map([...names].map((name) => [name, { relieve: () => relieved.push(name) }]));
  const set = (name: string, bytes: number): void => memory.set(holders.get(name)!, bytes);
  return { memory, relieved, set };
}

test('the one that has held longest goes first, and no more of them than needed', () => {
  const { memory, relieved, set } = memoryOf(4 * MEBIBYTE, 'abcd');
  for (const name of 'abcd') set(name, MEBIBYTE);
  expect(relieved).toEqual([]);
  set('d', 3 * MEBIBYTE);
  expect(relieved).toEqual(['a', 'b']);
  expect(memory.byteLength).toBe(4 * MEBIBYTE);
});

test('who gets rid of some is not the one that has held longest', () => {
  const { relieved, set } = memoryOf(4 * MEBIBYTE, 'abc');
  set('a', 2 * MEBIBYTE);
  set('b', MEBIBYTE);
  set('a', MEBIBYTE);
  set('c', 3 * MEBIBYTE);
  expect(relieved).toEqual(['b']);
});

test('small amounts do not count, and closed connections hold nothing', () => {
  const { memory, relieved, set } = memoryOf(MEBIBYTE, 'abcdefgh');
  for (const name of 'abcdefgh') set(name, MEBIBYTE / 4);
  set('a', MEBIBYTE);
  set('a', 0);
  expect([memory.byteLength, relieved]).toEqual([0, []]);
});

test('one that is too large alone goes alone', () => {
  const { memory, relieved, set } = memoryOf(MEBIBYTE, 'a');
  set('a', 2 * MEBIBYTE);
  expect([memory.byteLength, relieved]).toEqual([0, ['a']]);
});
