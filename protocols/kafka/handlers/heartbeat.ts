// Heartbeat (key 12), versions 0–4. Answered at once; 27 tells a member to join the new round.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { HeartbeatRequest, HeartbeatResponse } from '../messages/heartbeat.ts';

export const heartbeat = defineApi({
  key: 12,
  name: 'Heartbeat',
  min: 0,
  max: 4,
  request: HeartbeatRequest,
  response: HeartbeatResponse,
  handle: handleHeartbeat,
});

function handleHeartbeat(request: HeartbeatRequest, call: Call): HeartbeatResponse {
  const { groupId, memberId, groupInstanceId, generationId } = request;
  if (groupId === '') return { errorCode: ERROR_CODES.INVALID_GROUP_ID };
  if (!allows(call, 'read', 'group', groupId)) return { errorCode: ERROR_CODES.GROUP_AUTHORIZATION_FAILED };
  const claim = { memberId, groupInstanceId, generation: generationId };
  return { errorCode: call.kafka.groups.heartbeat(groupId, claim) };
}
