// producer-state.snapshot is what FORMAT.md says: the example on that page is written and read byte by byte.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unpackr } from 'msgpackr';
import { expect, it } from 'vitest';
import { ProducerBudget } from '../../storage/producer-budget.ts';
import { producerImage, readProducerSnapshot } from '../../storage/producer-snapshot.ts';
import { ProducerStates } from '../../storage/producer-states.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';

const page = readFileSync(join(import.meta.dirname, '../../storage/FORMAT.md'), 'utf8');
const example = exampleBehind('### producer-state.snapshot');

function exampleBehind(title: string): Buffer {
  const [, hex = ''] = /```hex\n([\s\S]*?)```/.exec(page.slice(page.indexOf(title))) ?? [];
  return Buffer.from(hex.replace(/;.*/g, '').replace(/\s/g, ''), 'hex');
}

const batch = { baseSequence: 42, recordCount: 3, baseOffset: 7, maxTimestampMs: 1_764_000_000_005 };

function noStates(): ProducerStates {
  // Of the store's counters the budget has the one.
  const counters = { evictedProducers: 0 } as never;
  return new ProducerStates('t-0', new ProducerBudget({ producersMax: 10, expirationMs: 1000, counters }));
}

async function read(bytes: Buffer) {
  const files = new FaultyFileSystem(['/', '/log']);
  files.overwrite('/log/producer-state.snapshot', bytes);
  return readProducerSnapshot(files.process(), '/log');
}

it('the example is written', () => {
  const states = noStates();
  const own = { producerId: 1000, epoch: 3, isTransactional: true, isControl: false, coordinatorEpoch: -1 };
  states.replay({ ...batch, ...own }, 1_764_000_000_006);
  expect(producerImage(states, 2, 10).bytes.toString('hex')).toBe(example.toString('hex'));
});

it('the example is read, by us and by any MessagePack library', async () => {
  const snapshot = await read(example);
  expect(snapshot).toEqual({
    ...{ leaderEpoch: 2, logEndOffset: 10 },
    producers: [
      {
        ...{ producerId: 1000, epoch: 3, usedAtMs: 1_764_000_000_006, lastSequence: 44, covered: 3 },
        ...{ transactionStart: 7, coordinatorEpoch: -1, controlOffset: -1, batches: [batch] },
      },
    ],
  });
  const states = noStates();
  states.restore(snapshot?.producers ?? [], 0);
  expect(producerImage(states, 2, 10).bytes.equals(example)).toBe(true);
  const unpacked = new Unpackr({ int64AsType: 'number' }).unpack(example.subarray(4));
  expect(unpacked).toEqual([
    ...[2, 2, 10],
    [[1000, 3, 1_764_000_000_006, 44, 3, 7, -1, -1, [[42, 3, 7, 1_764_000_000_005]]]],
  ]);
});

it('a changed bit, a missing end or one byte more is no snapshot', async () => {
  for (let bit = 0; bit < example.length * 8; bit++) {
    const changed = Buffer.from(example);
    changed[bit >> 3]! ^= 1 << (bit & 7); // within
    expect(await read(changed)).toBeUndefined();
  }
  for (let length = 0; length < example.length; length++) {
    expect(await read(example.subarray(0, length))).toBeUndefined();
  }
  expect(await read(Buffer.concat([example, Buffer.of(0)]))).toBeUndefined();
});
