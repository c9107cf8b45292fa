// JoinGroup (key 11).

import { array, boolean, bytes, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const JoinGroupRequest = message(
  'JoinGroupRequest',
  { versions: [0, 9], flexible: 6 },
  {
    groupId: string(),
    sessionTimeoutMs: int32(),
    rebalanceTimeoutMs: int32({ versions: '1+', default: -1, ignorable: true }),
    memberId: string(),
    groupInstanceId: string({ versions: '5+', nullable: '0+', default: null }),
    protocolType: string(),
    protocols: array({ name: string(), metadata: bytes() }),
    reason: string({ versions: '8+', nullable: '0+', default: null, ignorable: true }),
  },
);
export type JoinGroupRequest = MessageValue<typeof JoinGroupRequest>;

export const JoinGroupResponse = message(
  'JoinGroupResponse',
  { versions: [0, 9], flexible: 6 },
  {
    throttleTimeMs: int32({ versions: '2+', default: 0, ignorable: true }),
    errorCode: int16(),
    generationId: int32({ default: -1 }),
    protocolType: string({ versions: '7+', nullable: '0+', default: null, ignorable: true }),
    protocolName: string({ nullable: '7+' }),
    leader: string(),
    /** The leader must not compute an assignment (KIP-814). */
    skipAssignment: boolean({ versions: '9+', default: false }),
    memberId: string(),
    members: array({
      memberId: string(),
      groupInstanceId: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
      metadata: bytes(),
    }),
  },
);
export type JoinGroupResponse = MessageInput<typeof JoinGroupResponse>;
