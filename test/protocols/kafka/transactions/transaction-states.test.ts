// The transaction as a value: what may follow what, epochs and ids, and the bytes it is stored as.

import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { completed, end, toldIdentity } from '../../../../protocols/kafka/transactions/end.ts';
import { fenced, initialize } from '../../../../protocols/kafka/transactions/initialize.ts';
import {
  decodeKey,
  decodeValue,
  encodeTransaction,
} from '../../../../protocols/kafka/transactions/state-records.ts';
import {
  added,
  assertLegal,
  type ClientVersion,
  claimFault,
  type Outcome,
  PREDECESSORS,
  type Transaction,
  type TransactionState,
} from '../../../../protocols/kafka/transactions/transaction.ts';

const FRESH = 77;
const place = { topic: 't', partition: 3 };

function begun(changes: Partial<Transaction> = {}): Transaction {
  const request = { transactionalId: 'x', timeoutMs: 1000, expected: undefined };
  const decision = initialize(undefined, request, 5, 10);
  if (decision.kind !== 'next') throw new Error(decision.kind);
  return { ...decision.next, ...changes };
}

function initialized(current: Transaction, producerId = -1, producerEpoch = -1, freshId?: number) {
  const expected = producerId < 0 ? undefined : { producerId, producerEpoch };
  return initialize(current, { transactionalId: 'x', timeoutMs: 1000, expected }, freshId, 20);
}

function ended(
  current: Transaction,
  outcome: Outcome,
  clientVersion: ClientVersion,
  epoch = current.producerEpoch,
) {
  const { producerId } = current;
  return end(current, { producerId, producerEpoch: epoch, outcome, clientVersion }, FRESH, 30);
}

const nextOf = (decision: { readonly kind: string; readonly next?: Transaction }): Transaction => {
  if (decision.next === undefined) throw new Error(decision.kind);
  return decision.next;
};

describe('states', () => {
  const states = Object.keys(PREDECESSORS) as TransactionState[]; // its keys are the states

  test.each(states)('%s follows its legal predecessors and nothing else', (state) => {
    const after = begun({ state });
    for (const before of [undefined, ...states]) {
      const enter = () => assertLegal(before === undefined ? undefined : begun({ state: before }), after);
      if (PREDECESSORS[state].includes(before)) expect(enter).not.toThrow();
      else expect(enter).toThrow(/→/);
    }
  });

  test.each(states)('whatever %s is asked leads to a legal state or a code', (state) => {
    const current = begun({ state, partitions: new Map([['t', new Set([1])]]) });
    const decisions = [
      initialized(current, -1, -1, FRESH),
      initialized(current, 5, 0, FRESH),
      ...(['commit', 'abort'] as const).flatMap((outcome) =>
        ([0, 2] as const).flatMap((version) => [
          ended(current, outcome, version),
          ended(current, outcome, version, -1),
        ]),
      ),
    ];
    for (const decision of decisions) {
      if ('next' in decision) expect(() => assertLegal(current, decision.next)).not.toThrow();
      else expect(['refuse', 'done', 'nothing']).toContain(decision.kind);
    }
  });
});

describe('epochs', () => {
  test('a new id begins at 0, and each producer after gets the next', () => {
    expect(begun()).toMatchObject({ producerId: 5, producerEpoch: 0, state: 'empty', startedAtMs: -1 });
    expect(nextOf(initialized(begun()))).toMatchObject({
      producerId: 5,
      producerEpoch: 1,
      lastProducerEpoch: -1,
    });
  });

  test('who goes on gets another epoch, once however often it asks (KIP-360)', () => {
    const after = nextOf(initialized(begun(), 5, 0));
    expect(after).toMatchObject({ producerEpoch: 1, lastProducerEpoch: 0 });
    expect(nextOf(initialized(after, 5, 0))).toMatchObject({ producerEpoch: 1, lastProducerEpoch: 0 });
    expect(initialized(nextOf(initialized(after, 5, 1)), 5, 0)).toMatchObject({
      errorCode: ERROR_CODES.PRODUCER_FENCED,
    });
    expect(initialized(after, 6, 0)).toMatchObject({ errorCode: ERROR_CODES.PRODUCER_FENCED });
  });

  test('the last epoch gives another id, which who asks again gets too', () => {
    const last = begun({ producerEpoch: 32_766 });
    expect(initialized(last)).toEqual({ kind: 'allocate' });
    const after = nextOf(initialized(last, 5, 32_766, FRESH));
    expect(after).toMatchObject({ producerId: FRESH, producerEpoch: 0, previousProducerId: 5 });
    expect(nextOf(initialized(after, 5, 32_766))).toMatchObject({ producerId: FRESH, producerEpoch: 0 });
    expect(initialized(after, 5, 3)).toMatchObject({ errorCode: ERROR_CODES.PRODUCER_FENCED });
  });

  test('a fence takes an epoch beyond the last; the next producer has another id', () => {
    const open = added(begun({ producerEpoch: 32_766 }), [place], [], 2, 1);
    const after = completed(fenced(open, 2), 3);
    expect(after).toMatchObject({ producerId: 5, producerEpoch: 32_767, state: 'complete-abort' });
    expect(initialized(after)).toEqual({ kind: 'allocate' });
    expect(nextOf(initialized(after, 5, 32_766, FRESH))).toMatchObject({
      producerId: FRESH,
      producerEpoch: 0,
    });
  });

  test("the epoch beyond the last is nobody's: who asks for the end again is not told it, and who claims it has not got it", () => {
    const open = added(begun({ producerEpoch: 32_766 }), [place], [], 2, 1);
    const after = completed(fenced(open, 2), 3);
    const refused = { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
    expect(ended(after, 'abort', 2, 32_766)).toEqual(refused);
    for (const version of [0, 2] as const) expect(ended(after, 'abort', version, 32_767)).toEqual(refused);
    expect(claimFault(after, { producerId: 5, producerEpoch: 32_767 })).toBe(ERROR_CODES.PRODUCER_FENCED);
    expect(claimFault(open, { producerId: 5, producerEpoch: 32_766 })).toBe(ERROR_CODES.NONE);
  });

  test('each end of a client of KIP-890 takes one, and the last gives another id', () => {
    const prepared = nextOf(ended(added(begun(), [place], ['g'], 2, 1), 'commit', 2));
    expect(prepared).toMatchObject({ state: 'prepare-commit', producerEpoch: 1, lastProducerEpoch: 0 });
    expect(completed(prepared, 5)).toMatchObject({
      state: 'complete-commit',
      producerEpoch: 1,
      startedAtMs: 1,
    });
    expect(completed(prepared, 5).partitions.size + completed(prepared, 5).groups.size).toBe(0);
    const last = nextOf(ended(added(begun({ producerEpoch: 32_766 }), [place], [], 2, 1), 'abort', 2));
    expect(last).toMatchObject({ producerId: 5, producerEpoch: 32_767, nextProducerId: FRESH });
    expect(toldIdentity(last)).toEqual({ producerId: FRESH, producerEpoch: 0 });
    const after = completed(last, 6);
    expect(after).toMatchObject({
      producerId: FRESH,
      producerEpoch: 0,
      previousProducerId: 5,
      nextProducerId: -1,
    });
    const retry = { producerId: 5, producerEpoch: 32_766, outcome: 'abort', clientVersion: 2 } as const;
    expect(end(after, retry, undefined, 7)).toEqual({ kind: 'done' });
  });

  test('an older client keeps its epoch', () => {
    const prepared = nextOf(ended(added(begun(), [place], [], 0, 1), 'commit', 0));
    expect(prepared).toMatchObject({ producerEpoch: 0, state: 'prepare-commit' });
  });
});

test('what is stored is read again, and noise is nothing', () => {
  const transaction = {
    ...added(
      begun({ lastProducerEpoch: 4, previousProducerId: 8, nextProducerId: 9 }),
      [place],
      ['g', ''],
      2,
      12,
    ),
    updatedAtMs: 13,
  };
  const { key, value } = encodeTransaction('x', transaction)!;
  expect(decodeKey(key)).toBe('x');
  expect(decodeValue('x', value!)).toEqual(transaction);
  expect(encodeTransaction('x', null)?.value).toBeNull();
  for (let cut = 0; cut < value!.length; cut++)
    expect(decodeValue('x', value!.subarray(0, cut))).toBeUndefined();
  expect(decodeKey(Buffer.from([0, 9, 0, 1, 65]))).toBeUndefined();
});
