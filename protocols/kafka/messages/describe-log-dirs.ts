// DescribeLogDirs (key 35).

import { array, boolean, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeLogDirsRequest = message(
  'DescribeLogDirsRequest',
  { versions: [1, 5], flexible: 2 },
  {
    /** null = all. */
    topics: array({ topic: string(), partitions: array(int32()) }, { nullable: '0+' }),
  },
);
export type DescribeLogDirsRequest = MessageValue<typeof DescribeLogDirsRequest>;

export const DescribeLogDirsResponse = message(
  'DescribeLogDirsResponse',
  { versions: [1, 5], flexible: 2 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ versions: '3+', ignorable: true }),
    results: array({
      errorCode: int16(),
      logDir: string(),
      topics: array({
        name: string(),
        partitions: array({
          partitionIndex: int32(),
          partitionSize: int64(),
          offsetLag: int64(),
          isFutureKey: boolean(),
        }),
      }),
      totalBytes: int64({ versions: '4+', default: -1, ignorable: true }),
      usableBytes: int64({ versions: '4+', default: -1, ignorable: true }),
      isCordoned: boolean({ versions: '5+', default: false, ignorable: true }),
    }),
  },
);
export type DescribeLogDirsResponse = MessageInput<typeof DescribeLogDirsResponse>;
