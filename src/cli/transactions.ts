// `polylog transactions list·describe·abort`: what transactions there are, what an open one has written to, and the end
// of one that its producer will not end.
import type { Command } from 'commander';
import { type AdminOptions, addAdminOptions, withAdmin } from './admin-client.ts';
import type { Surroundings } from './surroundings.ts';
import { table } from './table.ts';

interface TransactionItem {
  readonly transactionalId: string;
  readonly state: string;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly timeoutMs: number;
  readonly startedAtMs: number | null;
  readonly updatedAtMs: number;
}

interface Transaction extends TransactionItem {
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
  readonly groups: readonly string[];
}

const EXAMPLES = `
Examples:
  polylog transactions list
  polylog transactions list --output json | jq 'select(.state == "ongoing")'
  polylog transactions describe orders-7
  polylog transactions abort orders-7

abort voids what is open and fences its producer: readers of committed records go on behind it.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the hub cannot be reached.
`;

export function addTransactionCommands(
  program: Command,
  surroundings: Surroundings,
  finish: (exitCode: number) => void,
): void {
  const transactions = program
    .command('transactions')
    .description('transactions of a running hub')
    .addHelpText('after', EXAMPLES)
    .exitOverride();

  addAdminOptions(transactions.command('list'))
    .description('each transactional id with the state of its last transaction')
    .action(async (options: AdminOptions) => finish(await list(options, surroundings)));

  addAdminOptions(transactions.command('describe'))
    .description('one transactional id: its producer, and what its open transaction has written to')
    .argument('<id>', 'transactional id')
    .action(async (id: string, options: AdminOptions) => finish(await describe(id, options, surroundings)));

  addAdminOptions(transactions.command('abort'))
    .description('abort the open transaction and fence its producer')
    .argument('<id>', 'transactional id')
    .action(async (id: string, options: AdminOptions) => finish(await abort(id, options, surroundings)));
}

function list(options: AdminOptions, surroundings: Surroundings): Promise<number> {
  return withAdmin(options, surroundings, async (admin) => {
    const rows: TransactionItem[] = [];
    for await (const item of admin.items<TransactionItem>('/api/v1/transactions')) {
      if (options.output === 'table') rows.push(item);
      else if (!(await surroundings.outMuch(`${JSON.stringify(item)}\n`))) return;
    }
    if (options.output === 'table') surroundings.out(table(HEADINGS, rows.map(cellsOf)));
  });
}

function describe(id: string, options: AdminOptions, surroundings: Surroundings): Promise<number> {
  return withAdmin(options, surroundings, async (admin) => {
    show(await admin.ask<Transaction>('GET', pathOf(id)), options, surroundings);
  });
}

function abort(id: string, options: AdminOptions, surroundings: Surroundings): Promise<number> {
  return withAdmin(options, surroundings, async (admin) => {
    show(await admin.ask<Transaction>('POST', `${pathOf(id)}:abort`), options, surroundings);
  });
}

const pathOf = (id: string): string => `/api/v1/transactions/${encodeURIComponent(id)}`;

const HEADINGS = ['TRANSACTIONAL ID', 'STATE', 'PRODUCER', 'EPOCH', 'TIMEOUT', 'OPEN SINCE', 'UPDATED'];

function cellsOf(item: TransactionItem) {
  const { transactionalId, state, producerId, producerEpoch, timeoutMs, startedAtMs, updatedAtMs } = item;
  const since = startedAtMs === null ? null : new Date(startedAtMs).toISOString();
  const updated = new Date(updatedAtMs).toISOString();
  return [transactionalId, state, producerId, producerEpoch, `${timeoutMs / 1_000} s`, since, updated];
}

function show(transaction: Transaction, { output }: AdminOptions, surroundings: Surroundings): void {
  if (output === 'json') {
    surroundings.out(`${JSON.stringify(transaction)}\n`);
    return;
  }
  const places = [
    ...transaction.partitions.map(({ topic, partition }) => ['topic', `${topic}:${partition}`]),
    ...transaction.groups.map((group) => ['group', group]),
  ];
  surroundings.out(table(HEADINGS, [cellsOf(transaction)]));
  if (places.length > 0) surroundings.out(`\n${table(['KIND', 'WRITTEN TO'], places)}`);
}
