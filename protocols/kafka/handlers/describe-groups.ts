// DescribeGroups (key 15), versions 0–6: classic groups with their members; what a member subscribed to and was
// assigned is told while the group is stable. A group that does not exist is Dead, and from version 6 an error too
// (GROUP_ID_NOT_FOUND, KIP-1043). Groups of the consumer protocol are none to this API, see ConsumerGroupDescribe.

import { allows, type Call, defineApi } from '../api.ts';
import { groupOperations, OPERATIONS_UNKNOWN } from '../authorized-operations.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { type Group, type Member, metadataOf, NO_ASSIGNMENT } from '../groups/group.ts';
import { CLASSIC_STATE_NAMES } from '../groups/group-types.ts';
import { DescribeGroupsRequest, DescribeGroupsResponse } from '../messages/describe-groups.ts';

const NOT_FOUND_VERSION_MIN = 6;

type GroupAnswer = DescribeGroupsResponse['groups'][number];

export const describeGroups = defineApi({
  key: 15,
  name: 'DescribeGroups',
  min: 0,
  max: 6,
  request: DescribeGroupsRequest,
  response: DescribeGroupsResponse,
  handle: handleDescribeGroups,
});

function handleDescribeGroups(request: DescribeGroupsRequest, call: Call): DescribeGroupsResponse {
  return { groups: request.groups.map((groupId) => describe(request, call, groupId)) };
}

function describe(request: DescribeGroupsRequest, call: Call, groupId: string): GroupAnswer {
  const { groups } = call.kafka;
  if (!allows(call, 'describe', 'group', groupId))
    return refused(groupId, ERROR_CODES.GROUP_AUTHORIZATION_FAILED, '');
  const availability = groups.availability(groupId);
  if (availability !== ERROR_CODES.NONE) return refused(groupId, availability, '');
  const authorizedOperations = request.includeAuthorizedOperations
    ? groupOperations(call, groupId)
    : OPERATIONS_UNKNOWN;
  const entry = groups.store.get(groupId);
  if (entry === undefined || entry.consumer !== undefined) {
    const message = `Group ${groupId} ${entry === undefined ? 'not found' : 'is not a classic group'}.`;
    return call.version >= NOT_FOUND_VERSION_MIN
      ? refused(groupId, ERROR_CODES.GROUP_ID_NOT_FOUND, 'Dead', message)
      : { ...refused(groupId, ERROR_CODES.NONE, 'Dead'), authorizedOperations };
  }
  return { ...described(entry.group), authorizedOperations };
}

function described(group: Group): GroupAnswer {
  const isStable = group.state === 'stable';
  return {
    errorCode: ERROR_CODES.NONE,
    groupId: group.groupId,
    groupState: CLASSIC_STATE_NAMES[group.state],
    protocolType: group.protocolType ?? '',
    protocolData: isStable ? (group.protocolName ?? '') : '',
    members: [...group.members.values()].map((member) => memberOf(group, member, isStable)),
  };
}

function memberOf(group: Group, member: Member, isStable: boolean): GroupAnswer['members'][number] {
  const { memberId, groupInstanceId, clientId, clientHost } = member;
  return {
    ...{ memberId, groupInstanceId, clientId, clientHost },
    memberMetadata: isStable ? metadataOf(member, group.protocolName) : NO_ASSIGNMENT,
    // Between two rounds, what it had in the last one.
    memberAssignment: member.assignment,
  };
}

/** @param errorMessage goes to those versions that have the field, which are those in which it is said. */
function refused(
  groupId: string,
  errorCode: ErrorCode,
  groupState: string,
  errorMessage: string | null = null,
): GroupAnswer {
  return { errorCode, errorMessage, groupId, groupState, protocolType: '', protocolData: '', members: [] };
}
