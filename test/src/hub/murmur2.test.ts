// The key hash against the vectors of Kafka's own partitioner.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { murmur2, partitionOfKey } from '../../../src/hub/murmur2.ts';

interface Vector {
  readonly key: string;
  readonly murmur2: number;
  readonly of3: number;
  readonly of12: number;
}

const GOLDEN_URL = new URL('../../golden/default-partitioner.jsonl', import.meta.url);
const VECTORS = readFileSync(GOLDEN_URL, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector); // the file is ours, its shape is the interface above

test.each(VECTORS)('murmur2 of $key is what Kafka computes', (vector) => {
  const key = Buffer.from(vector.key, 'utf8');
  expect(murmur2(key)).toBe(vector.murmur2);
  expect(partitionOfKey(key, 3)).toBe(vector.of3);
  expect(partitionOfKey(key, 12)).toBe(vector.of12);
});
