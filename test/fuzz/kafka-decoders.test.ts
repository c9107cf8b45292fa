// Fuzz of the request decoders: Kafka's own request bytes with huge numbers in the place of any field, bits flipped, cut
// short, or made up. Each decodes or is refused with a typed error. What a request decodes to is weighed with the garbage
// collector's help (decoder-memory.ts) and takes four times its bytes at most; small ones may take 64 KiB. How many
// elements it may have at all is bounded too: 8 bytes for each of the request's, and a MiB for small ones.
// KAFKA_FUZZ_ROUNDS=100 makes it longer.

import { join } from 'node:path';
import { fc } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WireError } from '../../protocols/kafka/wire/errors.ts';
import type { Message } from '../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../protocols/kafka/wire/reader.ts';
import type { Fields } from '../../protocols/kafka/wire/schema.ts';
import { run } from '../helpers/child.ts';
import { goldenRequests } from './golden-requests.ts';

const ROUNDS = Number(process.env['KAFKA_FUZZ_ROUNDS'] ?? 1);
const GRANTED_BYTES_MIN = 1024 * 1024;
const GRANTED_PER_BYTE = 8;
/** Seconds on a machine that has nothing else to do. */
const TIMEOUT_MS = 120_000;
/** Of memory, for each byte of a request; and what any request may take. */
const HELD_PER_BYTE = 4;
const HELD_BYTES_MIN = 64 * 1024;
/** What the collector's own books are off by. */
const SCALE_BYTES = 64 * 1024;

// Many errors are made here, and nobody reads where each came from; those of the next file of this worker are read.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

const requests = goldenRequests();

/** Decodes, and counts what was made of the bytes. */
function decode(message: Message<Fields>, version: number, bytes: Buffer): void {
  try {
    const value = message.read(new WireReader(bytes), version);
    const granted = Math.max(GRANTED_BYTES_MIN, bytes.length * GRANTED_PER_BYTE);
    // No expectation: it would take longer than what it is about, some hundred thousand times.
    const made = elementCount(value) * 8;
    if (made > granted)
      throw new Error(`${message.name} ${version}: ${made} bytes of elements from ${bytes.toString('hex')}`);
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

test('a huge number in the place of any field', { timeout: TIMEOUT_MS }, () => {
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

interface Weighed {
  readonly request: string;
  readonly requestBytes: number;
  readonly heldBytes: number;
  readonly isServed: boolean;
}

test('what a large request decodes to takes four times its bytes at most', {
  timeout: TIMEOUT_MS,
}, async () => {
  const program = join(import.meta.dirname, 'decoder-memory.ts');
  const output = await run(
    process.execPath,
    // Single-threaded: what helper threads sweep and compile later on a busy machine would be in the scale.
    ['--expose-gc', '--single-threaded', '--import', 'tsx', program, `${HELD_PER_BYTE}`],
    {
      timeoutMs: TIMEOUT_MS,
    },
  );
  const lines = `${output}`.trim().split('\n');
  const weighed = lines.map((line): Weighed => JSON.parse(line));
  const tooHeavy = weighed.filter(
    ({ requestBytes, heldBytes }) =>
      heldBytes > Math.max(HELD_BYTES_MIN, HELD_PER_BYTE * requestBytes) + SCALE_BYTES,
  );
  expect(tooHeavy).toEqual([]);
  // Most are served, the others refused: neither alone would show anything.
  expect(weighed.filter(({ isServed }) => isServed).length).toBeGreaterThan(30);
  expect(weighed.some(({ isServed }) => !isServed)).toBe(true);
});
