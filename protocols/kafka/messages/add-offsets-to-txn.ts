// AddOffsetsToTxn (key 25).

import { int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const AddOffsetsToTxnRequest = message(
  'AddOffsetsToTxnRequest',
  { versions: [0, 4], flexible: 3 },
  { transactionalId: string(), producerId: int64(), producerEpoch: int16(), groupId: string() },
);
export type AddOffsetsToTxnRequest = MessageValue<typeof AddOffsetsToTxnRequest>;

export const AddOffsetsToTxnResponse = message(
  'AddOffsetsToTxnResponse',
  { versions: [0, 4], flexible: 3 },
  { throttleTimeMs: int32({ default: 0 }), errorCode: int16() },
);
export type AddOffsetsToTxnResponse = MessageInput<typeof AddOffsetsToTxnResponse>;
