// Produce (key 0), versions 0–2: message sets from before Kafka 0.11. They are advertised, because librdkafka
// takes a broker that lacks them for one without Produce, and refused: every partition gets UNSUPPORTED_VERSION.

import { defineApi, HANG_UP } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { array, int16, int32, int64, records, string } from '../wire/fields.ts';
import { message } from '../wire/message.ts';

const LegacyProduceRequest = message(
  'ProduceRequest',
  { versions: [0, 2] },
  {
    acks: int16(),
    timeoutMs: int32(),
    topicData: array({
      name: string(),
      partitionData: array({ index: int32(), records: records({ nullable: '0+' }) }),
    }),
  },
);

const LegacyProduceResponse = message(
  'ProduceResponse',
  { versions: [0, 2] },
  {
    responses: array({
      name: string(),
      partitionResponses: array({
        index: int32(),
        errorCode: int16(),
        baseOffset: int64({ default: -1 }),
        logAppendTimeMs: int64({ versions: '2+', default: -1 }),
      }),
    }),
    throttleTimeMs: int32({ versions: '1+', default: 0 }),
  },
);

export const legacyProduce = defineApi({
  key: 0,
  name: 'Produce',
  min: 0,
  max: 2,
  isRefused: true,
  request: LegacyProduceRequest,
  response: LegacyProduceResponse,
  handle: ({ acks, topicData }) => {
    if (acks === 0) return HANG_UP;
    const errorCode = ERROR_CODES.UNSUPPORTED_VERSION;
    return {
      responses: topicData.map(({ name, partitionData }) => ({
        name,
        partitionResponses: partitionData.map(({ index }) => ({ index, errorCode })),
      })),
    };
  },
});
