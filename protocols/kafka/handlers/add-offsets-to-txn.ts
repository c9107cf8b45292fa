// AddOffsetsToTxn (key 25), versions 0–4: a producer says that it is going to commit offsets of a group in its transaction,
// so that the partition that holds them gets a marker too. Clients of KIP-890 leave it out: TxnOffsetCommit adds the group.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { AddOffsetsToTxnRequest, AddOffsetsToTxnResponse } from '../messages/add-offsets-to-txn.ts';
import { clientFenceCode } from '../transactions/fence-codes.ts';

const FENCED_VERSION_MIN = 2;

export const addOffsetsToTxn = defineApi({
  key: 25,
  name: 'AddOffsetsToTxn',
  min: 0,
  max: 4,
  request: AddOffsetsToTxnRequest,
  response: AddOffsetsToTxnResponse,
  handle: handleAddOffsetsToTxn,
});

async function handleAddOffsetsToTxn(
  request: AddOffsetsToTxnRequest,
  call: Call,
): Promise<AddOffsetsToTxnResponse> {
  const { transactionalId, groupId } = request;
  if (!allows(call, 'write', 'transactional-id', transactionalId))
    return { errorCode: ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED };
  if (!allows(call, 'read', 'group', groupId)) return { errorCode: ERROR_CODES.GROUP_AUTHORIZATION_FAILED };
  const { transactions, transactionalOffsets } = call.kafka;
  const code = await transactions.add(request, [transactionalOffsets.placeOf(groupId)], 0, [groupId]);
  return { errorCode: clientFenceCode(code, call.version, FENCED_VERSION_MIN) };
}
