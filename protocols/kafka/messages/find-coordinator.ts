// FindCoordinator (key 10).

import { array, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const FindCoordinatorRequest = message(
  'FindCoordinatorRequest',
  { versions: [0, 6], flexible: 3 },
  {
    key: string({ versions: '0-3' }),
    /** 0 = group, 1 = transaction, 2 = share group. */
    keyType: int8({ versions: '1+', default: 0 }),
    coordinatorKeys: array(string(), { versions: '4+' }),
  },
);
export type FindCoordinatorRequest = MessageValue<typeof FindCoordinatorRequest>;

export const FindCoordinatorResponse = message(
  'FindCoordinatorResponse',
  { versions: [0, 6], flexible: 3 },
  {
    throttleTimeMs: int32({ versions: '1+', default: 0, ignorable: true }),
    errorCode: int16({ versions: '0-3' }),
    errorMessage: string({ versions: '1-3', nullable: '0+', default: null, ignorable: true }),
    nodeId: int32({ versions: '0-3' }),
    host: string({ versions: '0-3' }),
    port: int32({ versions: '0-3' }),
    coordinators: array(
      {
        key: string(),
        nodeId: int32(),
        host: string(),
        port: int32(),
        errorCode: int16(),
        errorMessage: string({ nullable: '0+', default: null }),
      },
      { versions: '4+' },
    ),
  },
);
export type FindCoordinatorResponse = MessageInput<typeof FindCoordinatorResponse>;
