// ListGroups (key 16), versions 0–5: every group of this node that the client may see, those with offsets only
// included. Filters by state from version 4 (KIP-518), by type from 5 (KIP-848).

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { listedGroup } from '../groups/administration.ts';
import { filterOf } from '../groups/group-types.ts';
import { ListGroupsRequest, ListGroupsResponse } from '../messages/list-groups.ts';

export const listGroups = defineApi({
  key: 16,
  name: 'ListGroups',
  min: 0,
  max: 5,
  request: ListGroupsRequest,
  response: ListGroupsResponse,
  handle: handleListGroups,
});

function handleListGroups(request: ListGroupsRequest, call: Call): ListGroupsResponse {
  const { store } = call.kafka.groups;
  const isWantedState = filterOf(request.statesFilter);
  const isWantedType = filterOf(request.typesFilter);
  const groups = [...store.entries()]
    .map(listedGroup)
    .filter(({ groupState, groupType }) => isWantedState(groupState) && isWantedType(groupType))
    .filter(({ groupId }) => allows(call, 'describe', 'group', groupId));
  return { errorCode: ERROR_CODES.NONE, groups };
}
