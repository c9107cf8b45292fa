// Random programs of transactions; the other half of them is in transactions-2.test.ts.
import { it } from 'vitest';
import { runTransactionPrograms, transactionSeedsOf } from './run-transaction-programs.ts';

const seeds = transactionSeedsOf(0);

it(
  `${seeds.length} random programs of transactions, killed anywhere, are seen by everybody as the model says`,
  { timeout: 3_600_000 },
  () => runTransactionPrograms(seeds),
);
