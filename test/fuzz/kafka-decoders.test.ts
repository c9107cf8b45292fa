// Fuzz of the request decoders: Kafka's own request bytes with huge numbers in the place of any field, bits flipped, cut
// short, or made up. Each decodes or is refused with a typed error. What the bytes decode to is counted and stays
// within what the reader grants: 8 bytes for each of the request's, and a MiB for small ones.
// KAFKA_FUZZ_ROUNDS=100 makes it longer.

import { readdirSync, readFileSync } from 'node:fs';
import { fc } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { WireError } from '../../protocols/kafka/wire/errors.ts';
import type { Message } from '../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../protocols/kafka/wire/reader.ts';
import type { Fields } from '../../protocols/kafka/wire/schema.ts';
import { ALL_MESSAGES } from '../protocols/kafka/messages/all-messages.ts';

const ROUNDS = Number(process.env['KAFKA_FUZZ_ROUNDS'] ?? 1);
const GRANTED_BYTES_MIN = 1024 * 1024;
const GRANTED_PER_BYTE = 8;
const GOLDEN = new URL('../golden/kafka/', import.meta.url);

interface Vector {
  readonly message: string;
  readonly version: number;
  readonly fill: string;
  readonly hex: string;
}

// Many errors are made here, and nobody reads where each came from.
Error.stackTraceLimit = 0;

const requests = readdirSync(GOLDEN)
  .filter((name) => /^\d\d-.*\.jsonl$/.test(name))
  .flatMap((name) => readFileSync(new URL(name, GOLDEN), 'utf8').trim().split('\n'))
  .map((line): Vector => JSON.parse(line))
  .filter(({ message, fill }) => message.endsWith('Request') && fill === 'full')
  .map(({ message, version, hex }) => ({
    // Every schema is treated alike; their precise types matter to handlers, not here.
    message: (ALL_MESSAGES as Record<string, unknown>)[message] as Message<Fields>,
    version,
    bytes: Buffer.from(hex, 'hex'),
  }));

/** Decodes, and counts what was made of the bytes. */
function decode(message: Message<Fields>, version: number, bytes: Buffer): void {
  try {
    const value = message.read(new WireReader(bytes), version);
    const granted = Math.max(GRANTED_BYTES_MIN, bytes.length * GRANTED_PER_BYTE);
    expect(elementCount(value) * 8).toBeLessThanOrEqual(granted);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}

/** Of all arrays and structs, however deep. */
function elementCount(value: unknown): number {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return 0;
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.reduce((sum: number, item) => sum + elementCount(item), items.length);
}

test('a huge number in the place of any field', () => {
  const huge = ['7fffffff', 'ffffffff', '80000000', '7fff', 'ffff', 'ffffffff0f', 'ffffffff07', '00'];
  for (const { message, version, bytes } of requests) {
    for (const hex of huge) {
      const number = Buffer.from(hex, 'hex');
      for (let at = 0; at + number.length <= bytes.length; at++) {
        const damaged = Buffer.from(bytes);
        number.copy(damaged, at);
        decode(message, version, damaged);
      }
    }
  }
});

test('flipped bits, cuts, and bytes of no meaning', () => {
  const damage = fc.record({
    index: fc.nat(requests.length - 1),
    flips: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
    cut: fc.nat(),
    noise: fc.uint8Array({ maxLength: 200 }),
  });
  fc.assert(
    fc.property(damage, ({ index, flips, cut, noise }) => {
      const { message, version, bytes } = requests[index]!;
      const damaged = Buffer.from(bytes);
      for (const [at, bits] of flips) damaged[at % damaged.length]! ^= bits;
      decode(message, version, damaged);
      decode(message, version, damaged.subarray(0, cut % (damaged.length + 1)));
      decode(message, version, Buffer.concat([damaged.subarray(0, cut % damaged.length), noise]));
      decode(message, version, Buffer.from(noise));
    }),
    { numRuns: 1_500 * ROUNDS },
  );
});

test('a large request of the smallest elements is refused before they fill the memory', () => {
  const elements = 8 * 1024 * 1024;
  const bytes = Buffer.alloc(4 * elements);
  for (const { message, version } of requests.slice(0, 40)) {
    for (let at = 0; at < 64; at++) {
      bytes.fill(0, 0, 80);
      bytes.writeInt32BE(elements, at);
      const before = process.memoryUsage().heapUsed;
      decodeOnly(message, version, bytes);
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(GRANTED_PER_BYTE * bytes.length);
    }
  }
});

function decodeOnly(message: Message<Fields>, version: number, bytes: Buffer): void {
  try {
    message.read(new WireReader(bytes), version);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}
