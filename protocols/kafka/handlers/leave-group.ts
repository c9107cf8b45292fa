// LeaveGroup (key 13), versions 0–5. Before version 3 one member, whose code is the answer's; from then on a list,
// in which static members may be named by instance id alone (KIP-345). Reasons (KIP-800) are logged.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { Leaver } from '../groups/membership.ts';
import { LeaveGroupRequest, LeaveGroupResponse } from '../messages/leave-group.ts';

const MEMBERS_VERSION_MIN = 3;

export const leaveGroup = defineApi({
  key: 13,
  name: 'LeaveGroup',
  min: 0,
  max: 5,
  request: LeaveGroupRequest,
  response: LeaveGroupResponse,
  handle: handleLeaveGroup,
});

function handleLeaveGroup(request: LeaveGroupRequest, call: Call): LeaveGroupResponse {
  const { groupId } = request;
  if (groupId === '') return { errorCode: ERROR_CODES.INVALID_GROUP_ID };
  if (!allows(call, 'read', 'group', groupId)) return { errorCode: ERROR_CODES.GROUP_AUTHORIZATION_FAILED };
  const isList = call.version >= MEMBERS_VERSION_MIN;
  const leavers: readonly Leaver[] = isList
    ? request.members
    : [{ memberId: request.memberId, groupInstanceId: null }];
  const codes = call.kafka.groups.leave(groupId, leavers);
  if (typeof codes === 'number') return { errorCode: codes };
  for (const { memberId, reason } of request.members)
    call.kafka.hub.log.debug('group-member-left', { group: groupId, member: memberId, reason });
  if (!isList) return { errorCode: codes[0] ?? ERROR_CODES.NONE };
  return { errorCode: ERROR_CODES.NONE, members: membersOf(leavers, codes) };
}

function membersOf(
  leavers: readonly Leaver[],
  codes: readonly ErrorCode[],
): NonNullable<LeaveGroupResponse['members']> {
  return leavers.map(({ memberId, groupInstanceId }, index) => ({
    memberId,
    groupInstanceId,
    errorCode: codes[index] ?? ERROR_CODES.UNKNOWN_MEMBER_ID,
  }));
}
