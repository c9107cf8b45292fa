// OffsetCommit (key 8), versions 2–9. Answered when the offsets are on disk and applied; a partition's error is its
// own. The next OffsetCommit of the connection does not wait for it, so that pipelined ones share a flush; whatever else
// follows does, and sees them. Metadata is kept to 4,096 bytes, the leader epoch from version 6 (KIP-320). From version 9
// members of the consumer protocol commit by their epoch (KIP-848), and a generation of a group that does not exist is 69.
// Left out: `retentionTimeMs` of versions 2–4; offsets live by the hub's setting, as in Kafka since 2.1 (KIP-211).

import { allows, type Call, defineApi, Later, type Outcome } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { PORTION_ITEMS } from '../groups/offsets.ts';
import { OffsetCommitRequest, OffsetCommitResponse } from '../messages/offset-commit.ts';
import { commitOffsets, refuseCommit } from '../offset-commits.ts';

export const offsetCommit = defineApi({
  key: 8,
  name: 'OffsetCommit',
  min: 2,
  max: 9,
  overlaps: 'itself',
  request: OffsetCommitRequest,
  response: OffsetCommitResponse,
  handle: handleOffsetCommit,
});

/** About what a partition of a request takes until it is committed; its metadata is beside it. */
const ITEM_BYTES = 512;

function handleOffsetCommit(
  request: OffsetCommitRequest,
  call: Call,
): Outcome<OffsetCommitResponse> | Promise<OffsetCommitResponse> {
  const { groupId } = request;
  if (!allows(call, 'read', 'group', groupId))
    return refuseCommit(request, ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  const committed = commitOffsets(request, call, (claim, items) =>
    call.kafka.offsets.commit(groupId, claim, items),
  );
  const items = request.topics.flatMap(({ partitions }) => partitions);
  // In portions it takes effect one after the other, and the next request may not come in between.
  if (items.length > PORTION_ITEMS) return committed;
  const metadataBytes = items.reduce(
    (sum, { committedMetadata }) => sum + (committedMetadata?.length ?? 0),
    0,
  );
  const heldBytes = items.length * ITEM_BYTES + metadataBytes;
  return Later.of(committed, (response) => response, { heldBytes });
}
