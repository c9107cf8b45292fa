// CreatePartitions (key 37).

import { array, boolean, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const CreatePartitionsRequest = message(
  'CreatePartitionsRequest',
  { versions: [0, 3], flexible: 2 },
  {
    topics: array({
      name: string(),
      count: int32(),
      assignments: array({ brokerIds: array(int32()) }, { nullable: '0+' }),
    }),
    timeoutMs: int32(),
    validateOnly: boolean(),
  },
);
export type CreatePartitionsRequest = MessageValue<typeof CreatePartitionsRequest>;

export const CreatePartitionsResponse = message(
  'CreatePartitionsResponse',
  { versions: [0, 3], flexible: 2 },
  {
    throttleTimeMs: int32({ default: 0 }),
    results: array({
      name: string(),
      errorCode: int16(),
      errorMessage: string({ nullable: '0+', default: null }),
    }),
  },
);
export type CreatePartitionsResponse = MessageInput<typeof CreatePartitionsResponse>;
