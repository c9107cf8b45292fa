// IncrementalAlterConfigs (key 44).

import { array, boolean, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const IncrementalAlterConfigsRequest = message(
  'IncrementalAlterConfigsRequest',
  { versions: [0, 1], flexible: 1 },
  {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({
        name: string(),
        /** 0 = set, 1 = delete, 2 = append, 3 = subtract (KIP-339). */
        configOperation: int8(),
        value: string({ nullable: '0+' }),
      }),
    }),
    validateOnly: boolean(),
  },
);
export type IncrementalAlterConfigsRequest = MessageValue<typeof IncrementalAlterConfigsRequest>;

export const IncrementalAlterConfigsResponse = message(
  'IncrementalAlterConfigsResponse',
  { versions: [0, 1], flexible: 1 },
  {
    throttleTimeMs: int32({ default: 0 }),
    responses: array({
      errorCode: int16(),
      errorMessage: string({ nullable: '0+', default: null }),
      resourceType: int8(),
      resourceName: string(),
    }),
  },
);
export type IncrementalAlterConfigsResponse = MessageInput<typeof IncrementalAlterConfigsResponse>;
