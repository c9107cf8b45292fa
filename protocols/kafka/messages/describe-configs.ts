// DescribeConfigs (key 32).

import { array, boolean, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeConfigsRequest = message(
  'DescribeConfigsRequest',
  { versions: [1, 4], flexible: 4 },
  {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      /** null = all. */
      configurationKeys: array(string(), { nullable: '0+' }),
    }),
    includeSynonyms: boolean({ default: false }),
    includeDocumentation: boolean({ versions: '3+', default: false }),
  },
);
export type DescribeConfigsRequest = MessageValue<typeof DescribeConfigsRequest>;

export const DescribeConfigsResponse = message(
  'DescribeConfigsResponse',
  { versions: [1, 4], flexible: 4 },
  {
    throttleTimeMs: int32({ default: 0 }),
    results: array({
      errorCode: int16(),
      errorMessage: string({ nullable: '0+', default: null }),
      resourceType: int8(),
      resourceName: string(),
      configs: array({
        name: string(),
        value: string({ nullable: '0+' }),
        readOnly: boolean(),
        configSource: int8({ default: -1 }),
        isSensitive: boolean(),
        synonyms: array({ name: string(), value: string({ nullable: '0+' }), source: int8() }),
        configType: int8({ versions: '3+', default: 0, ignorable: true }),
        documentation: string({ versions: '3+', nullable: '0+', ignorable: true }),
      }),
    }),
  },
);
export type DescribeConfigsResponse = MessageInput<typeof DescribeConfigsResponse>;
