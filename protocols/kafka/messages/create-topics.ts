// CreateTopics (key 19).

import { array, boolean, int8, int16, int32, string, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const CreateTopicsRequest = message(
  'CreateTopicsRequest',
  { versions: [2, 7], flexible: 5 },
  {
    topics: array({
      name: string(),
      /** −1 = the default (KIP-464), or given by the assignments. */
      numPartitions: int32(),
      replicationFactor: int16(),
      assignments: array({ partitionIndex: int32(), brokerIds: array(int32()) }),
      configs: array({ name: string(), value: string({ nullable: '0+' }) }),
    }),
    timeoutMs: int32({ default: 60_000 }),
    validateOnly: boolean({ default: false }),
  },
);
export type CreateTopicsRequest = MessageValue<typeof CreateTopicsRequest>;

export const CreateTopicsResponse = message(
  'CreateTopicsResponse',
  { versions: [2, 7], flexible: 5 },
  {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      topicId: uuid({ versions: '7+', ignorable: true }),
      errorCode: int16(),
      errorMessage: string({ nullable: '0+', default: null }),
      /** Why the configuration is left out. */
      topicConfigErrorCode: int16({ versions: '5+', tag: 0, ignorable: true }),
      numPartitions: int32({ versions: '5+', default: -1, ignorable: true }),
      replicationFactor: int16({ versions: '5+', default: -1, ignorable: true }),
      configs: array(
        {
          name: string(),
          value: string({ nullable: '0+' }),
          readOnly: boolean(),
          configSource: int8({ default: -1 }),
          isSensitive: boolean(),
        },
        { versions: '5+', nullable: '0+', ignorable: true },
      ),
    }),
  },
);
export type CreateTopicsResponse = MessageInput<typeof CreateTopicsResponse>;
