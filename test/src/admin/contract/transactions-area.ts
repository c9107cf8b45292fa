// Calls of the contract test: transactions.
import type { TransactionView } from '../../../../protocols/port.ts';
import { type Area, pagedWrong, refused } from './area.ts';

const STATES = [
  ['open', 'ongoing'],
  ['a/b:c ü', 'ongoing'],
  ['closed', 'empty'],
  ['ending', 'prepare-commit'],
  ['hidden', 'ongoing'],
] as const;

export const TRANSACTIONS: readonly TransactionView[] = STATES.map(([transactionalId, state]) => ({
  ...{ transactionalId, state, producerId: 4, producerEpoch: 1, timeoutMs: 60_000 },
  ...{ startedAtMs: state === 'empty' ? -1 : 1_764_000_000_000, updatedAtMs: 1_764_000_000_000 },
  ...{ partitions: [{ topic: 'a', partition: 0 }], groups: ['g'] },
}));

const PATH = '/api/v1/transactions';

export const transactionsArea: Area = {
  routes: {
    [`GET ${PATH}`]: { right: [PATH, `${PATH}?limit=1`, `${PATH}?search=OPEN`], wrong: pagedWrong(PATH) },
    [`GET ${PATH}/{transaction}`]: {
      right: [`${PATH}/open`, `${PATH}/a%2Fb%3Ac%20%C3%BC`],
      wrong: [
        refused(`${PATH}/none`, 404, 'not_found', 'transaction'),
        refused(`${PATH}/hidden`, 403, 'forbidden'),
      ],
    },
    [`POST ${PATH}/{transaction}:abort`]: {
      right: [`${PATH}/open:abort`, `${PATH}/a%2Fb%3Ac%20%C3%BC:abort`],
      wrong: [
        refused(`${PATH}/none:abort`, 404, 'not_found', 'transaction'),
        refused(`${PATH}/hidden:abort`, 403, 'forbidden'),
        refused(`${PATH}/closed:abort`, 409, 'conflict', 'transaction'),
        refused(`${PATH}/ending:abort`, 503, 'not_ready', 'transaction'),
      ],
    },
  },
};
