// GET /api/v1/transactions, GET /api/v1/transactions/{transaction}, POST /api/v1/transactions/{transaction}:abort: who
// writes transactions, what is open and since when; and the end of one that its producer will not end.
import * as z from 'zod';
import type { TransactionError, TransactionView } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import { AdminError, type ErrorCode } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { pageFrom, pageOf, pageQuery } from '../paging.ts';
import { count, errorResponses, milliseconds } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const stateShape = z.enum([
  'empty',
  'ongoing',
  'prepare-commit',
  'prepare-abort',
  'complete-commit',
  'complete-abort',
  'dead',
]);

const itemShape = z
  .strictObject({
    transactionalId: z.string(),
    state: stateShape,
    producerId: z.int(),
    producerEpoch: z.int(),
    timeoutMs: count.meta({ description: 'A transaction that is open for longer is aborted.' }),
    startedAtMs: milliseconds.nullable().meta({ description: 'Of the one that is open; null when none is.' }),
    updatedAtMs: milliseconds,
  })
  .meta({
    id: 'TransactionSummary',
    description: 'A transactional id, and the state of its last transaction.',
  });

const transactionPage = pageOf(itemShape, 'TransactionPage', 'A page of transactional ids.');

const transactionShape = z
  .strictObject({
    ...itemShape.shape,
    partitions: z
      .array(z.strictObject({ topic: z.string(), partition: count }))
      .meta({ description: 'That the open transaction has written to.' }),
    groups: z
      .array(z.string())
      .meta({ description: 'Consumer groups whose offsets are committed with the open transaction.' }),
  })
  .meta({
    id: 'Transaction',
    description: 'A transactional id, and what its open transaction has written to.',
  });

const params = z.strictObject({ transaction: z.string() });

const ABORT_CODES: Readonly<Record<TransactionError['error'], ErrorCode>> = {
  'unknown-transaction': 'not_found',
  'not-open': 'conflict',
  unavailable: 'not_ready',
};

export function transactionRoutes(server: HttpServer, target: AdminTarget): void {
  const { hub } = target;

  server.get('/api/v1/transactions', {
    config: { role: 'viewer' },
    schema: {
      operationId: 'listTransactions',
      summary: 'Transactional ids, each with the state of its last transaction.',
      tags: ['transactions'],
      querystring: pageQuery,
      response: { 200: transactionPage, ...errorResponses },
    },
    handler: (request) => {
      const visible = target.transactions
        .list()
        .filter(({ transactionalId }) =>
          hub.access.allows(request.principal, 'describe', 'transactional-id', transactionalId),
        )
        .sort((left, right) => (left.transactionalId < right.transactionalId ? -1 : 1));
      const page = pageFrom(visible, ({ transactionalId }) => transactionalId, request.query);
      return { items: page.items.map(itemOf), next: page.next };
    },
  });

  server.get('/api/v1/transactions/:transaction', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getTransaction',
      summary: 'One transactional id: its producer, and what its open transaction has written to.',
      tags: ['transactions'],
      params,
      response: { 200: transactionShape, ...errorResponses },
    },
    handler: (request) => {
      const transactionalId = request.params.transaction;
      requireAccess(hub.access, request.principal, 'describe', 'transactional-id', transactionalId);
      return transactionOf(found(target, transactionalId));
    },
  });

  // An id may hold anything, a colon too: the last one is the verb's.
  server.post('/api/v1/transactions/:transaction(^.+)::abort', {
    config: { role: 'operator', refuses: ['not_found', 'conflict', 'not_ready'] },
    schema: {
      operationId: 'abortTransaction',
      summary: 'Aborts the open transaction and fences its producer. Answered when it is done.',
      tags: ['transactions'],
      params,
      response: { 200: transactionShape, ...errorResponses },
    },
    handler: async (request) => {
      const transactionalId = request.params.transaction;
      requireAccess(hub.access, request.principal, 'write', 'transactional-id', transactionalId);
      const problem = await target.transactions.abort(transactionalId);
      if (problem !== undefined)
        throw new AdminError(ABORT_CODES[problem.error], problem.message, { field: 'transaction' });
      return transactionOf(found(target, transactionalId));
    },
  });
}

function found(target: AdminTarget, transactionalId: string): TransactionView {
  const transaction = target.transactions.get(transactionalId);
  if (transaction !== undefined) return transaction;
  throw new AdminError('not_found', `there is no transactional id ${transactionalId}`, {
    field: 'transaction',
  });
}

function itemOf(transaction: TransactionView): z.output<typeof itemShape> {
  const { transactionalId, state, producerId, producerEpoch, timeoutMs, updatedAtMs } = transaction;
  const startedAtMs = transaction.startedAtMs < 0 ? null : transaction.startedAtMs;
  return { transactionalId, state, producerId, producerEpoch, timeoutMs, startedAtMs, updatedAtMs };
}

function transactionOf(transaction: TransactionView): z.output<typeof transactionShape> {
  const partitions = transaction.partitions.map(({ topic, partition }) => ({ topic, partition }));
  return { ...itemOf(transaction), partitions, groups: [...transaction.groups] };
}
