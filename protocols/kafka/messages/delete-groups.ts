// DeleteGroups (key 42).

import { array, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DeleteGroupsRequest = message(
  'DeleteGroupsRequest',
  { versions: [0, 3], flexible: 2 },
  {
    groupsNames: array(string()),
  },
);
export type DeleteGroupsRequest = MessageValue<typeof DeleteGroupsRequest>;

export const DeleteGroupsResponse = message(
  'DeleteGroupsResponse',
  { versions: [0, 3], flexible: 2 },
  {
    throttleTimeMs: int32({ default: 0 }),
    results: array({
      groupId: string(),
      errorCode: int16(),
      errorMessage: string({ versions: '3+', nullable: '0+', default: null, ignorable: true }),
    }),
  },
);
export type DeleteGroupsResponse = MessageInput<typeof DeleteGroupsResponse>;
