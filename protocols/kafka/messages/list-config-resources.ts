// ListConfigResources (key 74).

import { array, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ListConfigResourcesRequest = message(
  'ListConfigResourcesRequest',
  { versions: [0, 1], flexible: 0 },
  {
    resourceTypes: array(int8(), { versions: '1+' }),
  },
);
export type ListConfigResourcesRequest = MessageValue<typeof ListConfigResourcesRequest>;

export const ListConfigResourcesResponse = message(
  'ListConfigResourcesResponse',
  { versions: [0, 1], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    configResources: array({
      resourceName: string(),
      resourceType: int8({ versions: '1+', default: 16, ignorable: true }),
    }),
  },
);
export type ListConfigResourcesResponse = MessageInput<typeof ListConfigResourcesResponse>;
