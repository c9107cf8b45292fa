// EndTxn (key 26).

import { boolean, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const EndTxnRequest = message(
  'EndTxnRequest',
  { versions: [0, 5], flexible: 3 },
  { transactionalId: string(), producerId: int64(), producerEpoch: int16(), committed: boolean() },
);
export type EndTxnRequest = MessageValue<typeof EndTxnRequest>;

export const EndTxnResponse = message(
  'EndTxnResponse',
  { versions: [0, 5], flexible: 3 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    /** Who the producer is from now on (KIP-890). */
    producerId: int64({ versions: '5+', default: -1, ignorable: true }),
    producerEpoch: int16({ versions: '5+', default: -1, ignorable: true }),
  },
);
export type EndTxnResponse = MessageInput<typeof EndTxnResponse>;
