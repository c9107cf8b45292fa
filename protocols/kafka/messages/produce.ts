// Produce (key 0).

import { array, int16, int32, int64, records, string, struct, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ProduceRequest = message(
  'ProduceRequest',
  { versions: [3, 13], flexible: 9 },
  {
    transactionalId: string({ nullable: '0+', default: null }),
    /** 0 = no response, 1 = the leader has written it, −1 = all in-sync copies have. */
    acks: int16(),
    timeoutMs: int32(),
    topicData: array({
      name: string({ versions: '0-12', ignorable: true }),
      topicId: uuid({ versions: '13+', ignorable: true }),
      partitionData: array({ index: int32(), records: records({ nullable: '0+' }) }),
    }),
  },
);
export type ProduceRequest = MessageValue<typeof ProduceRequest>;

export const ProduceResponse = message(
  'ProduceResponse',
  { versions: [3, 13], flexible: 9 },
  {
    responses: array({
      name: string({ versions: '0-12', ignorable: true }),
      topicId: uuid({ versions: '13+', ignorable: true }),
      partitionResponses: array({
        index: int32(),
        errorCode: int16(),
        baseOffset: int64(),
        logAppendTimeMs: int64({ default: -1 }),
        logStartOffset: int64({ versions: '5+', default: -1, ignorable: true }),
        /** Records at fault, when the whole batch is refused for them (KIP-467). */
        recordErrors: array(
          { batchIndex: int32(), batchIndexErrorMessage: string({ nullable: '0+', default: null }) },
          { versions: '8+', ignorable: true },
        ),
        errorMessage: string({ versions: '8+', nullable: '0+', default: null, ignorable: true }),
        /** Where to go instead, with NOT_LEADER_OR_FOLLOWER (KIP-951). */
        currentLeader: struct(
          { leaderId: int32({ default: -1 }), leaderEpoch: int32({ default: -1 }) },
          { versions: '10+', tag: 0 },
        ),
      }),
    }),
    throttleTimeMs: int32({ default: 0 }),
    nodeEndpoints: array(
      { nodeId: int32(), host: string(), port: int32(), rack: string({ nullable: '0+', default: null }) },
      { versions: '10+', tag: 0 },
    ),
  },
);
export type ProduceResponse = MessageInput<typeof ProduceResponse>;
