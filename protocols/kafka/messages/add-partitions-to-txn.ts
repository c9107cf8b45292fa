// AddPartitionsToTxn (key 24). Versions 0–3 are a producer's, of one transaction; from version 4 brokers ask for several.

import { array, boolean, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

const topic = { name: string(), partitions: array(int32()) };
const topicResult = {
  name: string(),
  resultsByPartition: array({ partitionIndex: int32(), partitionErrorCode: int16() }),
};

export const AddPartitionsToTxnRequest = message(
  'AddPartitionsToTxnRequest',
  { versions: [0, 5], flexible: 3 },
  {
    transactions: array(
      {
        transactionalId: string(),
        producerId: int64(),
        producerEpoch: int16(),
        /** Asks whether the partitions are in the transaction, and adds none. */
        verifyOnly: boolean({ default: false }),
        topics: array(topic),
      },
      { versions: '4+' },
    ),
    v3AndBelowTransactionalId: string({ versions: '0-3' }),
    v3AndBelowProducerId: int64({ versions: '0-3' }),
    v3AndBelowProducerEpoch: int16({ versions: '0-3' }),
    v3AndBelowTopics: array(topic, { versions: '0-3' }),
  },
);
export type AddPartitionsToTxnRequest = MessageValue<typeof AddPartitionsToTxnRequest>;

export const AddPartitionsToTxnResponse = message(
  'AddPartitionsToTxnResponse',
  { versions: [0, 5], flexible: 3 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ versions: '4+', ignorable: true, default: 0 }),
    resultsByTransaction: array(
      { transactionalId: string(), topicResults: array(topicResult) },
      { versions: '4+' },
    ),
    resultsByTopicV3AndBelow: array(topicResult, { versions: '0-3' }),
  },
);
export type AddPartitionsToTxnResponse = MessageInput<typeof AddPartitionsToTxnResponse>;
