// ListGroups (key 16).

import { array, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ListGroupsRequest = message(
  'ListGroupsRequest',
  { versions: [0, 5], flexible: 3 },
  {
    statesFilter: array(string(), { versions: '4+' }),
    typesFilter: array(string(), { versions: '5+' }),
  },
);
export type ListGroupsRequest = MessageValue<typeof ListGroupsRequest>;

export const ListGroupsResponse = message(
  'ListGroupsResponse',
  { versions: [0, 5], flexible: 3 },
  {
    throttleTimeMs: int32({ versions: '1+', default: 0, ignorable: true }),
    errorCode: int16(),
    groups: array({
      groupId: string(),
      protocolType: string(),
      groupState: string({ versions: '4+', ignorable: true }),
      groupType: string({ versions: '5+', ignorable: true }),
    }),
  },
);
export type ListGroupsResponse = MessageInput<typeof ListGroupsResponse>;
