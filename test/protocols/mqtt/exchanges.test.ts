// Packet identifiers on their way to a client, against a Map, which keeps the order of first sending by itself.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AWAIT, type Awaiting, Exchanges } from '../../../protocols/mqtt/exchanges.ts';

const NAMES = { 1: 'puback', 2: 'pubrec', 3: 'pubcomp' } as const;

const listed = (model: ReadonlyMap<number, Awaiting>) =>
  [...model].map(([packetId, awaited]) => [packetId, NAMES[awaited]]);

/** An identifier of those on their way, or any. */
const picked = (model: ReadonlyMap<number, Awaiting>, number: number) =>
  [...model.keys()][number % (model.size + 1)] ?? number;

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('take' as const), number: fc.nat(65_535) }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('delete' as const), number: fc.nat(65_535) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('proceed' as const), number: fc.nat(65_535) }) },
);

it('are what a Map would say they are, in its order, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 65_535 }), fc.array(step, { maxLength: 300 }), (last, steps) => {
      const exchanges = new Exchanges();
      const model = new Map<number, Awaiting>();
      exchanges.restore([], last);
      for (const { act, number } of steps) {
        const packetId = picked(model, number);
        if (act === 'take') {
          model.set(exchanges.take(AWAIT.PUBREC), AWAIT.PUBREC);
        } else if (act === 'delete') {
          exchanges.delete(packetId);
          model.delete(packetId);
        } else if (model.has(packetId)) {
          exchanges.set(packetId, AWAIT.PUBCOMP);
          model.set(packetId, AWAIT.PUBCOMP);
        }
        expect(exchanges.size).toBe(model.size);
        expect(exchanges.get(packetId)).toBe(model.get(packetId));
      }
      expect(exchanges.awaited()).toEqual(listed(model));
    }),
  );
});

it('never take an identifier that is on its way, when they have gone once round', () => {
  const exchanges = new Exchanges();
  const stuck = exchanges.take(AWAIT.PUBACK);
  for (let count = 0; count < 65_534; count++) exchanges.delete(exchanges.take(AWAIT.PUBACK));
  const next = exchanges.take(AWAIT.PUBACK);
  expect([stuck, next]).toEqual([1, 2]);
  expect(exchanges.awaited().map(([packetId]) => packetId)).toEqual([1, 2]);
});

it('may be as many as there are identifiers but one', () => {
  const exchanges = new Exchanges();
  const taken = new Set<number>();
  for (let count = 0; count < 65_534; count++) taken.add(exchanges.take(AWAIT.PUBACK));
  expect(taken.size).toBe(65_534);
  for (const packetId of taken) exchanges.delete(packetId);
  expect(exchanges.size).toBe(0);
  expect(exchanges.take(AWAIT.PUBACK)).toBe(65_535);
});
