// Random programs of transactions; the first half of them is in transactions.test.ts.
import { it } from 'vitest';
import { runTransactionPrograms, transactionSeedsOf } from './run-transaction-programs.ts';

const seeds = transactionSeedsOf(1);

it(
  `${seeds.length} random programs of transactions, killed anywhere, are seen by everybody as the model says`,
  { timeout: 3_600_000 },
  () => runTransactionPrograms(seeds),
);
