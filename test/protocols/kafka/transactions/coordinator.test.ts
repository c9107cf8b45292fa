// The coordinator asked directly: what no request brings about, or not at will.

import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { TransactionCoordinator } from '../../../../protocols/kafka/transactions/coordinator.ts';
import type { Hub } from '../../../../protocols/port.ts';
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

test('a decision that is on disk is carried out, also when whoever took it was told that it may not be', async () => {
  const { hub } = await openTestKafka();
  let isDoubtful = false;
  const opened = hub.stateTable.bind(hub);
  const stateTable: Hub['stateTable'] = async (options) => {
    const table = await opened(options);
    const written = table.write.bind(table);
    const write: typeof table.write = async (...records) => {
      if (!isDoubtful) return written(...records);
      isDoubtful = false;
      // It is on disk, and is read back later: see `advance` of the store's state table.
      setImmediate(() => void written(...records));
      return { refused: 'storage', message: 'could not be read' };
    };
    return Object.assign(table, { write });
  };
  Object.assign(hub, { stateTable });
  const coordinator = await TransactionCoordinator.open(hub, SETTINGS, NO_OFFSETS);
  const who = await coordinator.initProducerId(
    { transactionalId: 'x', timeoutMs: 1000, expected: undefined },
    'client',
  );
  await coordinator.add({ transactionalId: 'x', ...who }, [{ topic: 'gone', partition: 0 }], 0);
  isDoubtful = true;
  const end = () => coordinator.end('x', { ...who, outcome: 'commit', clientVersion: 0 });
  expect((await end()).errorCode).toBe(ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
  const isApplied = () => coordinator.store.get('x')?.transaction?.state !== 'ongoing';
  while (!isApplied()) await new Promise((resolve) => setImmediate(resolve));
  for (let attempt = 0; attempt < 50; attempt++) if ((await end()).errorCode === ERROR_CODES.NONE) break;
  expect(coordinator.store.get('x')?.transaction?.state).toBe('complete-commit');
  coordinator.close();
});
