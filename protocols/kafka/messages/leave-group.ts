// LeaveGroup (key 13).

import { array, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const LeaveGroupRequest = message(
  'LeaveGroupRequest',
  { versions: [0, 5], flexible: 4 },
  {
    groupId: string(),
    memberId: string({ versions: '0-2' }),
    /** Several members since KIP-345. */
    members: array(
      {
        memberId: string(),
        groupInstanceId: string({ nullable: '0+', default: null }),
        reason: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
      },
      { versions: '3+' },
    ),
  },
);
export type LeaveGroupRequest = MessageValue<typeof LeaveGroupRequest>;

export const LeaveGroupResponse = message(
  'LeaveGroupResponse',
  { versions: [0, 5], flexible: 4 },
  {
    throttleTimeMs: int32({ versions: '1+', default: 0, ignorable: true }),
    errorCode: int16(),
    members: array(
      { memberId: string(), groupInstanceId: string({ nullable: '0+' }), errorCode: int16() },
      { versions: '3+' },
    ),
  },
);
export type LeaveGroupResponse = MessageInput<typeof LeaveGroupResponse>;
