// SyncGroup (key 14).

import { array, bytes, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const SyncGroupRequest = message(
  'SyncGroupRequest',
  { versions: [0, 5], flexible: 4 },
  {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string({ versions: '3+', nullable: '0+', default: null }),
    protocolType: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
    protocolName: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
    assignments: array({ memberId: string(), assignment: bytes() }),
  },
);
export type SyncGroupRequest = MessageValue<typeof SyncGroupRequest>;

export const SyncGroupResponse = message(
  'SyncGroupResponse',
  { versions: [0, 5], flexible: 4 },
  {
    throttleTimeMs: int32({ versions: '1+', default: 0, ignorable: true }),
    errorCode: int16(),
    protocolType: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
    protocolName: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
    assignment: bytes(),
  },
);
export type SyncGroupResponse = MessageInput<typeof SyncGroupResponse>;
