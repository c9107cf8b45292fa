// InitProducerId (key 22), versions 0–5: an id for a producer (KIP-98). Ids never come back, so an idempotent producer gets
// a new one with epoch 0 whatever identity it had, as Kafka does it: one that wants another epoch of the same id takes it by
// itself (KIP-360), and the logs notice. With a transactional id the coordinator of transactions decides: it raises the
// epoch, so that the producer before is fenced, and aborts what that one has left open; meanwhile the answer is 51.

import { allows, type Call, clientHostOf, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { InitProducerIdRequest, InitProducerIdResponse } from '../messages/init-producer-id.ts';
import { clientFenceCode } from '../transactions/fence-codes.ts';

/** First version of clients that know PRODUCER_FENCED. */
const FENCED_VERSION_MIN = 4;

export const initProducerId = defineApi({
  key: 22,
  name: 'InitProducerId',
  min: 0,
  max: 5,
  request: InitProducerIdRequest,
  response: InitProducerIdResponse,
  handle: handleInitProducerId,
});

async function handleInitProducerId(
  request: InitProducerIdRequest,
  call: Call,
): Promise<InitProducerIdResponse> {
  const { hub, transactions } = call.kafka;
  const { transactionalId, transactionTimeoutMs, producerId, producerEpoch } = request;
  if (transactionalId !== null && !allows(call, 'write', 'transactional-id', transactionalId))
    return refused(ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  if (transactionalId === null && !allows(call, 'write', 'cluster', hub.cluster.clusterId))
    return refused(ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED);
  if (producerId === -1 ? producerEpoch !== -1 : producerEpoch === -1)
    return refused(ERROR_CODES.INVALID_REQUEST);
  if (transactionalId === null) return idempotentProducer(call);
  const expected = producerId === -1 ? undefined : { producerId, producerEpoch };
  const answer = await transactions.initProducerId(
    { transactionalId, timeoutMs: transactionTimeoutMs, expected },
    clientHostOf(call),
  );
  return { ...answer, errorCode: clientFenceCode(answer.errorCode, call.version, FENCED_VERSION_MIN) };
}

async function idempotentProducer({ kafka }: Call): Promise<InitProducerIdResponse> {
  try {
    const producerId = await kafka.hub.cluster.allocateProducerId();
    return { errorCode: ERROR_CODES.NONE, producerId, producerEpoch: 0 };
  } catch (error) {
    return refused(unexpected(kafka.hub, 'InitProducerId', error));
  }
}

function refused(errorCode: ErrorCode): InitProducerIdResponse {
  return { errorCode, producerId: -1, producerEpoch: -1 };
}
