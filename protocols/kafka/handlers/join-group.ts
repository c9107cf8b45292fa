// JoinGroup (key 11), versions 0–9. The answer comes when the round's joining ends; until then the client's other
// requests go on. MEMBER_ID_REQUIRED from version 4 (KIP-394), static members from 5 (KIP-345), the protocol type
// echoed from 7 (KIP-559), a returning static leader told to skip the assignment from 9 (KIP-814).

import { allows, type Call, clientHostOf, defineApi, Later } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { JoinAnswer } from '../groups/effects.ts';
import type { JoinRequest } from '../groups/group.ts';
import { JoinGroupRequest, JoinGroupResponse } from '../messages/join-group.ts';

const KNOWN_MEMBER_VERSION_MIN = 4;
const NULL_PROTOCOL_VERSION_MIN = 7;
const SKIP_ASSIGNMENT_VERSION_MIN = 9;

export const joinGroup = defineApi({
  key: 11,
  name: 'JoinGroup',
  min: 0,
  max: 9,
  request: JoinGroupRequest,
  response: JoinGroupResponse,
  handle: handleJoinGroup,
});

function handleJoinGroup(
  request: JoinGroupRequest,
  call: Call,
): JoinGroupResponse | Later<JoinGroupResponse> {
  const { groupId, memberId } = request;
  if (groupId === '') return refused(call, ERROR_CODES.INVALID_GROUP_ID, memberId);
  if (!allows(call, 'read', 'group', groupId))
    return refused(call, ERROR_CODES.GROUP_AUTHORIZATION_FAILED, memberId);
  const answer = call.kafka.groups.join(groupId, joinRequestOf(request, call));
  return Later.of(answer, (joined) => responseOf(call, joined));
}

function joinRequestOf(request: JoinGroupRequest, call: Call): JoinRequest {
  const { sessionTimeoutMs, groupInstanceId } = request;
  const clientId = call.clientId ?? '';
  return {
    memberId: request.memberId,
    newMemberId: call.kafka.groups.newMemberId(groupInstanceId ?? clientId),
    groupInstanceId,
    clientId,
    clientHost: clientHostOf(call),
    protocolType: request.protocolType,
    // Copies: they outlive the request.
    protocols: request.protocols.map(({ name, metadata }) => ({ name, metadata: Buffer.from(metadata) })),
    sessionTimeoutMs,
    // Version 0 has one timeout for both.
    rebalanceTimeoutMs: request.rebalanceTimeoutMs < 0 ? sessionTimeoutMs : request.rebalanceTimeoutMs,
    requiresKnownMemberId: call.version >= KNOWN_MEMBER_VERSION_MIN,
    supportsSkippingAssignment: call.version >= SKIP_ASSIGNMENT_VERSION_MIN,
  };
}

function responseOf(call: Call, answer: JoinAnswer): JoinGroupResponse {
  const { errorCode, memberId, members, protocolType, skipAssignment } = answer;
  return {
    errorCode,
    generationId: answer.generation,
    protocolType,
    protocolName: protocolNameOf(call, answer.protocolName),
    leader: answer.leaderId,
    // Only a client that knows the field is told to skip, so older versions have the default.
    skipAssignment,
    memberId,
    members,
  };
}

function refused(call: Call, errorCode: ErrorCode, memberId: string): JoinGroupResponse {
  return { errorCode, protocolName: protocolNameOf(call, null), leader: '', memberId, members: [] };
}

function protocolNameOf(call: Call, protocolName: string | null): string | null {
  return protocolName ?? (call.version >= NULL_PROTOCOL_VERSION_MIN ? null : '');
}
