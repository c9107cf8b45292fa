// InitProducerId (key 22), versions 0–4: an id for an idempotent producer (KIP-98, KIP-360). Ids never come back,
// so whatever identity the client had, it gets a new one with epoch 0.
// Left out: transactional ids, refused with INVALID_REQUEST, which clients report and do not retry.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { InitProducerIdRequest, InitProducerIdResponse } from '../messages/init-producer-id.ts';

export const initProducerId = defineApi({
  key: 22,
  name: 'InitProducerId',
  min: 0,
  max: 4,
  request: InitProducerIdRequest,
  response: InitProducerIdResponse,
  handle: handleInitProducerId,
});

async function handleInitProducerId(
  request: InitProducerIdRequest,
  call: Call,
): Promise<InitProducerIdResponse> {
  const { hub } = call.kafka;
  const { transactionalId } = request;
  if (transactionalId !== null) {
    hub.log.warn('kafka-transactions-refused', { clientId: call.clientId, transactionalId });
    return refused(ERROR_CODES.INVALID_REQUEST);
  }
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
