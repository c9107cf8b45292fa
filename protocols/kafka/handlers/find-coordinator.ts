// FindCoordinator (key 10), versions 0–6: of groups and of transactions; many keys at once from version 4 (KIP-699).
// Versions 5 and 6 add an error of transactions and share groups.
// Left out: share groups.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { FindCoordinatorRequest, FindCoordinatorResponse } from '../messages/find-coordinator.ts';
import { endpointOf } from '../nodes.ts';

const GROUP = 0;
const TRANSACTION = 1;
const BATCHED_VERSION_MIN = 4;

type Coordinator = NonNullable<FindCoordinatorResponse['coordinators']>[number];

export const findCoordinator = defineApi({
  key: 10,
  name: 'FindCoordinator',
  min: 0,
  max: 6,
  request: FindCoordinatorRequest,
  response: FindCoordinatorResponse,
  handle: handleFindCoordinator,
});

function handleFindCoordinator(request: FindCoordinatorRequest, call: Call): FindCoordinatorResponse {
  const { keyType } = request;
  if (call.version >= BATCHED_VERSION_MIN)
    return { coordinators: request.coordinatorKeys.map((key) => coordinatorOf(call, keyType, key)) };
  const { key: _key, ...coordinator } = coordinatorOf(call, keyType, request.key);
  return coordinator;
}

function coordinatorOf(call: Call, keyType: number, key: string): Coordinator {
  switch (keyType) {
    case GROUP:
      return allows(call, 'describe', 'group', key)
        ? nodeOf(call, 'group', key)
        : refused(key, ERROR_CODES.GROUP_AUTHORIZATION_FAILED, 'not allowed to describe the group');
    case TRANSACTION:
      return allows(call, 'describe', 'transactional-id', key)
        ? nodeOf(call, 'transaction', key)
        : refused(
            key,
            ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            'not allowed to describe the transactional id',
          );
    default:
      return refused(key, ERROR_CODES.INVALID_REQUEST, `no coordinators of type ${keyType}`);
  }
}

function nodeOf(call: Call, kind: 'group' | 'transaction', key: string): Coordinator {
  const nodeId = call.kafka.hub.cluster.coordinatorOf(kind, key);
  if (nodeId < 0)
    return refused(key, ERROR_CODES.COORDINATOR_NOT_AVAILABLE, `the ${kind} has no coordinator now`);
  return { key, nodeId, ...endpointOf(call, nodeId), errorCode: ERROR_CODES.NONE, errorMessage: null };
}

function refused(key: string, errorCode: ErrorCode, errorMessage: string): Coordinator {
  return { key, nodeId: -1, host: '', port: -1, errorCode, errorMessage };
}
