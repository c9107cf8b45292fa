// DeleteTopics (key 20).

import { array, int16, int32, string, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DeleteTopicsRequest = message(
  'DeleteTopicsRequest',
  { versions: [1, 6], flexible: 4 },
  {
    topics: array({ name: string({ nullable: '0+', default: null }), topicId: uuid() }, { versions: '6+' }),
    topicNames: array(string(), { versions: '0-5', ignorable: true }),
    timeoutMs: int32(),
  },
);
export type DeleteTopicsRequest = MessageValue<typeof DeleteTopicsRequest>;

export const DeleteTopicsResponse = message(
  'DeleteTopicsResponse',
  { versions: [1, 6], flexible: 4 },
  {
    throttleTimeMs: int32({ default: 0 }),
    responses: array({
      name: string({ nullable: '6+' }),
      topicId: uuid({ versions: '6+', ignorable: true }),
      errorCode: int16(),
      errorMessage: string({ versions: '5+', nullable: '0+', default: null, ignorable: true }),
    }),
  },
);
export type DeleteTopicsResponse = MessageInput<typeof DeleteTopicsResponse>;
