// ElectLeaders (key 43).

import { array, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ElectLeadersRequest = message(
  'ElectLeadersRequest',
  { versions: [0, 2], flexible: 2 },
  {
    electionType: int8({ versions: '1+' }),
    /** null = all. */
    topicPartitions: array({ topic: string(), partitions: array(int32()) }, { nullable: '0+' }),
    timeoutMs: int32({ default: 60_000 }),
  },
);
export type ElectLeadersRequest = MessageValue<typeof ElectLeadersRequest>;

export const ElectLeadersResponse = message(
  'ElectLeadersResponse',
  { versions: [0, 2], flexible: 2 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ versions: '1+' }),
    replicaElectionResults: array({
      topic: string(),
      partitionResult: array({
        partitionId: int32(),
        errorCode: int16(),
        errorMessage: string({ nullable: '0+', default: null }),
      }),
    }),
  },
);
export type ElectLeadersResponse = MessageInput<typeof ElectLeadersResponse>;
