// TxnOffsetCommit (key 28), versions 0–5: offsets that count when the producer's transaction is committed (KIP-98). From
// version 3 on the producer says for which member of the group, which must be one of the present generation (KIP-447); from
// 5 on the group is added to the transaction here (KIP-890). A partition's error is its own.
// Left out: version 6, which names topics by id.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { TxnOffsetCommitRequest, TxnOffsetCommitResponse } from '../messages/txn-offset-commit.ts';
import { commitOffsets, refuseCommit } from '../offset-commits.ts';

export const txnOffsetCommit = defineApi({
  key: 28,
  name: 'TxnOffsetCommit',
  min: 0,
  max: 5,
  request: TxnOffsetCommitRequest,
  response: TxnOffsetCommitResponse,
  handle: handleTxnOffsetCommit,
});

async function handleTxnOffsetCommit(
  request: TxnOffsetCommitRequest,
  call: Call,
): Promise<TxnOffsetCommitResponse> {
  const { transactionalId, groupId } = request;
  if (!allows(call, 'write', 'transactional-id', transactionalId))
    return refuseCommit(request, ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  if (!allows(call, 'read', 'group', groupId))
    return refuseCommit(request, ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  const { transactionalOffsets, transactions } = call.kafka;
  return commitOffsets(request, call, (claim, items) =>
    transactionalOffsets.commit(request, groupId, claim, items, transactions),
  );
}
