// ApiVersions (key 18), versions 0–4: what every client asks first. A version that is too new is answered in
// version 0 with UNSUPPORTED_VERSION and the list, so that the client can ask again (KIP-511); the response
// header is version 0 in all versions.
// Features: `group.version` 1, without which no client uses the consumer protocol of KIP-848, and `transaction.version` 2,
// without which none leaves it to Produce to add partitions to its transactions (KIP-890).

import { type Api, type Call, defineApi, type KafkaContext, type WrittenOutcome } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { ApiVersionsRequest, ApiVersionsResponse } from '../messages/api-versions.ts';
import { writeResponseFrame } from '../wire/headers.ts';

/** First version in which a client says what it is. */
const CLIENT_NAME_VERSION_MIN = 3;
/** KIP-511: letters and digits, with dots and dashes inside. */
const CLIENT_NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/;

export const apiVersions = defineApi({
  key: 18,
  name: 'ApiVersions',
  min: 0,
  max: 4,
  request: ApiVersionsRequest,
  response: ApiVersionsResponse,
  handle: handleApiVersions,
  answerUnserved,
});

function handleApiVersions(request: ApiVersionsRequest, call: Call): ApiVersionsResponse {
  const { clientSoftwareName, clientSoftwareVersion } = request;
  const isNamed = call.version >= CLIENT_NAME_VERSION_MIN;
  if (isNamed && !(CLIENT_NAME.test(clientSoftwareName) && CLIENT_NAME.test(clientSoftwareVersion)))
    return { errorCode: ERROR_CODES.INVALID_REQUEST, apiKeys: [] };
  return respond(call.kafka, call.version, ERROR_CODES.NONE);
}

function answerUnserved({ kafka }: Call): WrittenOutcome {
  const response = respond(kafka, 0, ERROR_CODES.UNSUPPORTED_VERSION);
  return {
    later: undefined,
    write(writer, correlationId) {
      writeResponseFrame(writer, correlationId, ApiVersionsResponse, 0, response);
      return undefined;
    },
  };
}

/** What the cluster has agreed on, once and for all: there is one node, and it has always spoken all of this. */
const FEATURES: readonly { readonly name: string; readonly level: number }[] = [
  { name: 'group.version', level: 1 },
  { name: 'transaction.version', level: 2 },
];
const FEATURES_EPOCH = 1;
/** Clients of earlier versions do not know that a feature may be at level 0, which is not at all. */
const ZERO_LEVEL_VERSION_MIN = 4;

function respond({ apis }: KafkaContext, version: number, errorCode: ErrorCode): ApiVersionsResponse {
  const minVersion = version >= ZERO_LEVEL_VERSION_MIN ? 0 : 1;
  return {
    errorCode,
    apiKeys: advertised(apis),
    supportedFeatures: FEATURES.map(({ name, level }) => ({ name, minVersion, maxVersion: level })),
    finalizedFeaturesEpoch: FEATURES_EPOCH,
    finalizedFeatures: FEATURES.map(({ name, level }) => ({
      name,
      minVersionLevel: level,
      maxVersionLevel: level,
    })),
  };
}

/** One range per key: what is refused (Produce 0–2) is advertised too. */
function advertised(apis: readonly Api[]): ApiVersionsResponse['apiKeys'] {
  const ranges = new Map<number, { apiKey: number; minVersion: number; maxVersion: number }>();
  for (const { key, min, max } of apis) {
    const range = ranges.get(key);
    ranges.set(key, {
      apiKey: key,
      minVersion: Math.min(min, range?.minVersion ?? min),
      maxVersion: Math.max(max, range?.maxVersion ?? max),
    });
  }
  return [...ranges.values()].sort((a, b) => a.apiKey - b.apiKey);
}
