// DeleteGroups (key 42), versions 0–2: each group has its own result. Only a group without members is deleted, its
// offsets with it; the answer comes when that is on disk.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { DeleteGroupsRequest, DeleteGroupsResponse } from '../messages/delete-groups.ts';

export const deleteGroups = defineApi({
  key: 42,
  name: 'DeleteGroups',
  min: 0,
  max: 2,
  request: DeleteGroupsRequest,
  response: DeleteGroupsResponse,
  handle: handleDeleteGroups,
});

async function handleDeleteGroups(request: DeleteGroupsRequest, call: Call): Promise<DeleteGroupsResponse> {
  // A group named twice is deleted, and told of, once.
  const groupIds = [...new Set(request.groupsNames)];
  const results = await Promise.all(
    groupIds.map(async (groupId) => ({ groupId, errorCode: await deleteGroup(call, groupId) })),
  );
  return { results };
}

async function deleteGroup(call: Call, groupId: string): Promise<ErrorCode> {
  if (!allows(call, 'delete', 'group', groupId)) return ERROR_CODES.GROUP_AUTHORIZATION_FAILED;
  return call.kafka.groupAdministration.deleteGroup(groupId);
}
