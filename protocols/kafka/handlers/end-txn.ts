// EndTxn (key 26), versions 0–5. Answered when the decision is on disk; the markers follow, and what the producer asks next
// waits for them. From version 5 on (KIP-890) the answer has the epoch that the producer goes on with, and another id when its
// epochs have run out.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { EndTxnRequest, EndTxnResponse } from '../messages/end-txn.ts';
import { clientFenceCode } from '../transactions/fence-codes.ts';

const FENCED_VERSION_MIN = 2;
const RAISES_EPOCH_VERSION_MIN = 5;

export const endTxn = defineApi({
  key: 26,
  name: 'EndTxn',
  min: 0,
  max: 5,
  request: EndTxnRequest,
  response: EndTxnResponse,
  handle: handleEndTxn,
});

async function handleEndTxn(request: EndTxnRequest, call: Call): Promise<EndTxnResponse> {
  const { transactionalId, producerId, producerEpoch, committed } = request;
  if (!allows(call, 'write', 'transactional-id', transactionalId))
    return { errorCode: ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED };
  const raisesEpoch = call.version >= RAISES_EPOCH_VERSION_MIN;
  const answer = await call.kafka.transactions.end(transactionalId, {
    ...{ producerId, producerEpoch },
    outcome: committed ? 'commit' : 'abort',
    clientVersion: raisesEpoch ? 2 : 0,
  });
  const errorCode = clientFenceCode(answer.errorCode, call.version, FENCED_VERSION_MIN);
  return raisesEpoch ? { ...answer, errorCode } : { errorCode };
}
