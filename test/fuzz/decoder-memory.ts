// A program of its own, because the collector is quick in a small heap: weighs what large requests decode to, and says for
// each `{ request, requestBytes, heldBytes, isServed }`, one JSON object a line. Started with --expose-gc and --single-threaded, and told
// how many bytes each byte of a request may take: what takes more is weighed again.

import { WireError } from '../../protocols/kafka/wire/errors.ts';
import type { Message } from '../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../protocols/kafka/wire/reader.ts';
import type { Fields } from '../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../protocols/kafka/wire/writer.ts';
import { goldenRequests } from './golden-requests.ts';

const ATTEMPTS = 4;
const HELD_PER_BYTE = Number(process.argv[2]);
const ELEMENTS = 1_500;
/** Where a message may have the length of its first array. */
const LENGTH_PLACES = [4];
const SMALLEST_BYTES = 96 * 1024;

Error.stackTraceLimit = 0;
const collectGarbage = globalThis.gc;
if (collectGarbage === undefined) throw new Error('start it with --expose-gc');

/** Holds what is weighed while it is weighed. */
const kept: unknown[] = [];

function weigh(request: string, message: Message<Fields>, version: number, bytes: Buffer): void {
  // The first time compiles.
  const isServed = decode(message, version, bytes) !== undefined;
  let heldBytes = Number.POSITIVE_INFINITY;
  // What the engine does for itself meanwhile is in the scale too: the least of some weighings is what is held.
  for (let attempt = 0; attempt < ATTEMPTS && heldBytes > HELD_PER_BYTE * bytes.length; attempt++)
    heldBytes = Math.min(heldBytes, weighOnce(message, version, bytes));
  process.stdout.write(`${JSON.stringify({ request, requestBytes: bytes.length, heldBytes, isServed })}\n`);
}

function weighOnce(message: Message<Fields>, version: number, bytes: Buffer): number {
  collectGarbage?.();
  const before = process.memoryUsage();
  kept.push(decode(message, version, bytes));
  collectGarbage?.();
  const after = process.memoryUsage();
  kept.pop();
  return after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
}

/** Undefined when it is refused. */
function decode(message: Message<Fields>, version: number, bytes: Buffer): unknown {
  try {
    return message.read(new WireReader(bytes), version);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return undefined;
  }
}

/** The last version of each message. */
const requests = goldenRequests();
const weighed = requests.filter(
  ({ message, version }) => !requests.some((other) => other.message === message && other.version > version),
);

for (const { message, version, bytes } of weighed) {
  const value: Readonly<Record<string, unknown>> = message.read(new WireReader(bytes), version);
  for (const [name, list] of Object.entries(value)) {
    if (!Array.isArray(list) || list.length === 0) continue;
    const writer = new WireWriter();
    const many = { ...value, [name]: Array.from({ length: ELEMENTS }, () => list[0]) };
    message.write(writer, version, many);
    weigh(`${message.name} ${version}: ${name} × ${ELEMENTS}`, message, version, Buffer.from(writer.take()));
  }
  for (const at of LENGTH_PLACES) {
    const zeros = Buffer.alloc(SMALLEST_BYTES);
    zeros.writeInt32BE(SMALLEST_BYTES / 4, at);
    weigh(`${message.name} ${version}: a length at ${at}, then zeros`, message, version, zeros);
  }
}
