// InitProducerId (key 22).

import { int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const InitProducerIdRequest = message(
  'InitProducerIdRequest',
  { versions: [0, 5], flexible: 2 },
  {
    transactionalId: string({ nullable: '0+' }),
    transactionTimeoutMs: int32(),
    /** The identity that the client has, to raise its epoch (KIP-360). */
    producerId: int64({ versions: '3+', default: -1 }),
    producerEpoch: int16({ versions: '3+', default: -1 }),
  },
);
export type InitProducerIdRequest = MessageValue<typeof InitProducerIdRequest>;

export const InitProducerIdResponse = message(
  'InitProducerIdResponse',
  { versions: [0, 5], flexible: 2 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    producerId: int64({ default: -1 }),
    producerEpoch: int16(),
  },
);
export type InitProducerIdResponse = MessageInput<typeof InitProducerIdResponse>;
