// InitProducerId (key 22), versions 0–5: an id for an idempotent producer (KIP-98). Ids never come back, so whatever
// identity the client had, it gets a new one with epoch 0, as Kafka does it: an idempotent producer that wants another
// epoch of the same id takes it by itself (KIP-360), and the logs notice.
// Left out: transactional ids, refused with INVALID_REQUEST, which clients report and do not retry.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { InitProducerIdRequest, InitProducerIdResponse } from '../messages/init-producer-id.ts';

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
  const { hub } = call.kafka;
  const { transactionalId, producerId: formerId, producerEpoch: formerEpoch } = request;
  if (transactionalId !== null) {
    hub.log.warn('kafka-transactions-refused', { clientId: call.clientId, transactionalId });
    return refused(ERROR_CODES.INVALID_REQUEST);
  }
  if (formerId === -1 ? formerEpoch !== -1 : formerEpoch === -1) return refused(ERROR_CODES.INVALID_REQUEST);
  if (!allows(call, 'write', 'cluster', hub.cluster.clusterId))
    return refused(ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED);
  try {
    const producerId = await hub.cluster.allocateProducerId();
    return { errorCode: ERROR_CODES.NONE, producerId, producerEpoch: 0 };
  } catch (error) {
    return refused(unexpected(hub, 'InitProducerId', error));
  }
}

function refused(errorCode: ErrorCode): InitProducerIdResponse {
  return { errorCode, producerId: -1, producerEpoch: -1 };
}
