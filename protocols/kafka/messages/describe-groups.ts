// DescribeGroups (key 15).

import { array, boolean, bytes, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeGroupsRequest = message(
  'DescribeGroupsRequest',
  { versions: [0, 6], flexible: 5 },
  {
    groups: array(string()),
    includeAuthorizedOperations: boolean({ versions: '3+' }),
  },
);
export type DescribeGroupsRequest = MessageValue<typeof DescribeGroupsRequest>;

export const DescribeGroupsResponse = message(
  'DescribeGroupsResponse',
  { versions: [0, 6], flexible: 5 },
  {
    throttleTimeMs: int32({ versions: '1+', default: 0, ignorable: true }),
    groups: array({
      errorCode: int16(),
      errorMessage: string({ versions: '6+', nullable: '0+', default: null }),
      groupId: string(),
      groupState: string(),
      protocolType: string(),
      protocolData: string(),
      members: array({
        memberId: string(),
        groupInstanceId: string({ versions: '4+', nullable: '0+', default: null, ignorable: true }),
        clientId: string(),
        clientHost: string(),
        memberMetadata: bytes(),
        memberAssignment: bytes(),
      }),
      authorizedOperations: int32({ versions: '3+', default: -2_147_483_648 }),
    }),
  },
);
export type DescribeGroupsResponse = MessageInput<typeof DescribeGroupsResponse>;
