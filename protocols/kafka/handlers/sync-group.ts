// SyncGroup (key 14), versions 0–5. The answer comes when the leader's assignment is on disk, or with
// REBALANCE_IN_PROGRESS when a new round interrupts it. Protocol type and name must be said, and are checked and
// echoed, from version 5 on (KIP-559).

import { allows, type Call, defineApi, Later } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { SyncGroupRequest, SyncGroupResponse } from '../messages/sync-group.ts';

export const syncGroup = defineApi({
  key: 14,
  name: 'SyncGroup',
  min: 0,
  max: 5,
  request: SyncGroupRequest,
  response: SyncGroupResponse,
  handle: handleSyncGroup,
});

function handleSyncGroup(
  request: SyncGroupRequest,
  call: Call,
): SyncGroupResponse | Later<SyncGroupResponse> {
  const { groupId, memberId, groupInstanceId, protocolType, protocolName } = request;
  if (call.version >= 5 && (protocolType === null || protocolName === null))
    return refused(ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL);
  if (groupId === '') return refused(ERROR_CODES.INVALID_GROUP_ID);
  if (!allows(call, 'read', 'group', groupId)) return refused(ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  // Copies: assignments outlive the request.
  const assignments = new Map(
    request.assignments.map((item) => [item.memberId, Buffer.from(item.assignment)] as const),
  );
  const generation = request.generationId;
  const member = { memberId, groupInstanceId, generation, protocolType, protocolName, assignments };
  return Later.of(call.kafka.groups.sync(groupId, member), (answer) => answer);
}

function refused(errorCode: ErrorCode): SyncGroupResponse {
  return { errorCode, assignment: Buffer.alloc(0) };
}
