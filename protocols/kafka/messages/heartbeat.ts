// Heartbeat (key 12).

import { int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const HeartbeatRequest = message(
  'HeartbeatRequest',
  { versions: [0, 4], flexible: 4 },
  {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string({ versions: '3+', nullable: '3+', default: null }),
  },
);
export type HeartbeatRequest = MessageValue<typeof HeartbeatRequest>;

export const HeartbeatResponse = message(
  'HeartbeatResponse',
  { versions: [0, 4], flexible: 4 },
  {
    throttleTimeMs: int32({ versions: '1+', ignorable: true }),
    errorCode: int16(),
  },
);
export type HeartbeatResponse = MessageInput<typeof HeartbeatResponse>;
