// OffsetDelete (key 47), version 0 (KIP-496): offsets of a group are deleted partition by partition; those of a topic
// that a member is subscribed to are kept (GROUP_SUBSCRIBED_TO_TOPIC). Nothing committed is no error.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { OffsetDeleteRequest, OffsetDeleteResponse } from '../messages/offset-delete.ts';

type TopicAnswer = OffsetDeleteResponse['topics'][number];

export const offsetDelete = defineApi({
  key: 47,
  name: 'OffsetDelete',
  min: 0,
  max: 0,
  request: OffsetDeleteRequest,
  response: OffsetDeleteResponse,
  handle: handleOffsetDelete,
});

async function handleOffsetDelete(request: OffsetDeleteRequest, call: Call): Promise<OffsetDeleteResponse> {
  const { groupId } = request;
  if (!allows(call, 'delete', 'group', groupId)) return refused(ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  if (groupId === '') return refused(ERROR_CODES.INVALID_GROUP_ID);
  const places = request.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex }) => ({ topic: name, partition: partitionIndex })),
  );
  const faults = places.map(({ topic, partition }) => placeFault(call, topic, partition));
  const sound = places.filter((_place, index) => faults[index] === ERROR_CODES.NONE);
  const deleted = await call.kafka.groupAdministration.deleteOffsets(groupId, sound);
  if (typeof deleted === 'number') return refused(deleted);
  let next = 0;
  const codes = faults.map((fault) =>
    fault === ERROR_CODES.NONE ? (deleted[next++] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR) : fault,
  );
  return { errorCode: ERROR_CODES.NONE, topics: topicsOf(request, codes) };
}

function placeFault(call: Call, topic: string, partition: number): ErrorCode {
  if (!allows(call, 'read', 'topic', topic)) return ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  return call.kafka.hub.topics.partition(topic, partition) === undefined
    ? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION
    : ERROR_CODES.NONE;
}

function topicsOf(request: OffsetDeleteRequest, codes: readonly ErrorCode[]): TopicAnswer[] {
  let next = 0;
  return request.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex }) => ({
      partitionIndex,
      errorCode: codes[next++] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR,
    })),
  }));
}

function refused(errorCode: ErrorCode): OffsetDeleteResponse {
  return { errorCode, topics: [] };
}
