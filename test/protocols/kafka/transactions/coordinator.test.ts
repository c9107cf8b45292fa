// The coordinator asked directly: what no request brings about, or not at will.

import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { TransactionCoordinator } from '../../../../protocols/kafka/transactions/coordinator.ts';
import { openTestKafka } from '../kafka-fixture.ts';

const SETTINGS = {
  ...{ timeoutMaxMs: 900_000, idExpirationMs: 900_000, abortCheckMs: 900_000, expirationCheckMs: 900_000 },
  ...{ idsMax: 2, idsPerClientMax: 2, partitionsMax: 5, heldBytesMax: 1e6, concurrentWaitMs: 1 },
};
const NO_OFFSETS = { topic: 'none', endTransaction: () => Promise.resolve(ERROR_CODES.NONE) };

test('a name that no record can have is refused, and neither stays nor keeps others from going on', async () => {
  const { hub } = await openTestKafka();
  const coordinator = await TransactionCoordinator.open(hub, SETTINGS, NO_OFFSETS);
  const init = (transactionalId: string) =>
    coordinator.initProducerId({ transactionalId, timeoutMs: 1000, expected: undefined }, 'client');
  // Three bytes each: bytes that are no UTF-8 become so long.
  const long = '\u{fffd}'.repeat(20_000);
  for (let attempt = 0; attempt < 3; attempt++)
    expect((await init(long)).errorCode).toBe(ERROR_CODES.INVALID_REQUEST);
  const { producerId, producerEpoch } = await init('x');
  const claim = { transactionalId: 'x', producerId, producerEpoch };
  const add = (group: string) => coordinator.add(claim, [{ topic: 't', partition: 0 }], 0, [group]);
  expect(await add(long)).toBe(ERROR_CODES.INVALID_REQUEST);
  expect(await add('g')).toBe(ERROR_CODES.NONE);
  expect(coordinator.store.size).toBe(1);
  coordinator.close();
});
