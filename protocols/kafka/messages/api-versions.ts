// ApiVersions (key 18).

import { array, boolean, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ApiVersionsRequest = message(
  'ApiVersionsRequest',
  { versions: [0, 5], flexible: 3 },
  {
    clientSoftwareName: string({ versions: '3+', ignorable: true }),
    clientSoftwareVersion: string({ versions: '3+', ignorable: true }),
    clusterId: string({ versions: '5+', nullable: '5+', default: null, ignorable: true }),
    nodeId: int32({ versions: '5+', default: -1, ignorable: true }),
  },
);
export type ApiVersionsRequest = MessageValue<typeof ApiVersionsRequest>;

export const ApiVersionsResponse = message(
  'ApiVersionsResponse',
  { versions: [0, 5], flexible: 3, plainHeader: true },
  {
    errorCode: int16(),
    apiKeys: array({ apiKey: int16(), minVersion: int16(), maxVersion: int16() }),
    throttleTimeMs: int32({ versions: '1+', ignorable: true }),
    supportedFeatures: array(
      { name: string(), minVersion: int16(), maxVersion: int16() },
      { versions: '3+', tag: 0, ignorable: true },
    ),
    finalizedFeaturesEpoch: int64({ versions: '3+', tag: 1, default: -1, ignorable: true }),
    finalizedFeatures: array(
      { name: string(), maxVersionLevel: int16(), minVersionLevel: int16() },
      { versions: '3+', tag: 2, ignorable: true },
    ),
    zkMigrationReady: boolean({ versions: '3+', tag: 3, ignorable: true }),
  },
);
export type ApiVersionsResponse = MessageInput<typeof ApiVersionsResponse>;
