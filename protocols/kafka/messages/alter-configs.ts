// AlterConfigs (key 33).

import { array, boolean, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const AlterConfigsRequest = message(
  'AlterConfigsRequest',
  { versions: [0, 2], flexible: 2 },
  {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({ name: string(), value: string({ nullable: '0+' }) }),
    }),
    validateOnly: boolean(),
  },
);
export type AlterConfigsRequest = MessageValue<typeof AlterConfigsRequest>;

export const AlterConfigsResponse = message(
  'AlterConfigsResponse',
  { versions: [0, 2], flexible: 2 },
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
export type AlterConfigsResponse = MessageInput<typeof AlterConfigsResponse>;
