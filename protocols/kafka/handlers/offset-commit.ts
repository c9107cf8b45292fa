// OffsetCommit (key 8), versions 2–9. Answered when the offsets are on disk and applied; a partition's error is its
// own. Metadata is kept to 4,096 bytes, the leader epoch from version 6 (KIP-320). From version 9 members of the
// consumer protocol commit by their epoch (KIP-848), and a generation of a group that does not exist is 69.
// Left out: `retentionTimeMs` of versions 2–4; offsets live by the hub's setting, as in Kafka since 2.1 (KIP-211).

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { OffsetCommitRequest, OffsetCommitResponse } from '../messages/offset-commit.ts';
import { commitOffsets, refuseCommit } from '../offset-commits.ts';

export const offsetCommit = defineApi({
  key: 8,
  name: 'OffsetCommit',
  min: 2,
  max: 9,
  request: OffsetCommitRequest,
  response: OffsetCommitResponse,
  handle: handleOffsetCommit,
});

async function handleOffsetCommit(request: OffsetCommitRequest, call: Call): Promise<OffsetCommitResponse> {
  const { groupId } = request;
  if (!allows(call, 'read', 'group', groupId))
    return refuseCommit(request, ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  return commitOffsets(request, call, (claim, items) => call.kafka.offsets.commit(groupId, claim, items));
}
