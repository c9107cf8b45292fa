// `polylog transactions list·describe·abort`: what transactions there are, what an open one has written to, and the end
// of one that its producer will not end.
import type { AdminOptions } from './admin-client.ts';
import { addNoun, addVerb, asks, type CommandLine, part, print, printItems, time } from './noun.ts';
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
`;

export function addTransactionCommands(line: CommandLine): void {
  const { surroundings } = line;
  const transactions = addNoun(line, 'transactions', 'transactions of a running hub', EXAMPLES);

  addVerb(transactions, 'list', 'each transactional id with the state of its last transaction', [
    'transactions list',
    'transactions list --output json | jq -r \'select(.state == "ongoing").transactionalId\'',
  ]).action(
    asks(line, (admin, options: AdminOptions) =>
      printItems(
        surroundings,
        options,
        admin.items<TransactionItem>('/api/v1/transactions'),
        HEADINGS,
        cellsOf,
      ),
    ),
  );

  addVerb(
    transactions,
    'describe',
    'one transactional id: its producer, and what its open transaction has written to',
    ['transactions describe orders-7', 'transactions describe orders-7 --output json | jq .partitions'],
  )
    .argument('<id>', 'transactional id')
    .action(
      asks(line, async (admin, options: AdminOptions, id: string) =>
        print(surroundings, options, await admin.ask<Transaction>('GET', pathOf(id)), wordingOf),
      ),
    );

  addVerb(transactions, 'abort', 'abort the open transaction and fence its producer', [
    'transactions abort orders-7',
  ])
    .argument('<id>', 'transactional id')
    .action(
      asks(line, async (admin, options: AdminOptions, id: string) =>
        print(surroundings, options, await admin.ask<Transaction>('POST', `${pathOf(id)}:abort`), wordingOf),
      ),
    );
}

const pathOf = (id: string): string => `/api/v1/transactions/${part(id)}`;

const HEADINGS = ['TRANSACTIONAL ID', 'STATE', 'PRODUCER', 'EPOCH', 'TIMEOUT', 'OPEN SINCE', 'UPDATED'];

function cellsOf(item: TransactionItem) {
  const { transactionalId, state, producerId, producerEpoch, timeoutMs, startedAtMs, updatedAtMs } = item;
  return [
    transactionalId,
    state,
    producerId,
    producerEpoch,
    `${timeoutMs / 1_000} s`,
    time(startedAtMs),
    time(updatedAtMs),
  ];
}

function wordingOf(transaction: Transaction, columns?: number): string {
  const places = [
    ...transaction.partitions.map(({ topic, partition }) => ['topic', `${topic}:${partition}`]),
    ...transaction.groups.map((group) => ['group', group]),
  ];
  const head = table(HEADINGS, [cellsOf(transaction)], columns);
  return places.length === 0 ? head : `${head}\n${table(['KIND', 'WRITTEN TO'], places, columns)}`;
}
