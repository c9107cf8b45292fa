// What is done to the partitions of a topic, and where their batches lie: POST …/partitions, POST …/records:delete-before,
// GET …/partitions/{p}/segments, GET …/partitions/{p}/position. The last two look at the index and at one batch.
import * as z from 'zod';
import type { Partition, ReadRefused, RecordsDeleted, SegmentView } from '../../../protocols/port.ts';
import { mapConcurrently } from '../../hub/concurrently.ts';
import { requireAccess } from '../access.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { pageFrom, pageOf, pageQuery } from '../paging.ts';
import {
  batchShape,
  count,
  errorResponses,
  milliseconds,
  partialErrors,
  partitionParam,
  topicParam,
} from '../shapes.ts';
import type { AdminTarget } from '../target.ts';
import { knownPartition, knownTopic, refusalError, topicError } from '../topic-errors.ts';
import { entityTag, topicDetail, topicShape } from '../topic-views.ts';

const DELETIONS_MAX = 10_000;
/** Each writes a small file; more at once would only keep appends from the disk. */
const DELETIONS_AT_ONCE = 8;

const topicParams = z.strictObject({ topic: topicParam });
const partitionParams = z.strictObject({ topic: topicParam, partition: partitionParam });

const partitionCount = z
  .strictObject({ count: z.int().min(1).meta({ description: 'How many there are then.' }) })
  .meta({
    id: 'PartitionCount',
    description: 'How many partitions a topic is to have.',
    examples: [{ count: 24 }],
  });

const recordsToDelete = z
  .strictObject({
    partitions: z
      .array(
        z.strictObject({
          partition: count,
          offset: z.int().min(-1).meta({ description: '-1 = all that readers see now.' }),
        }),
      )
      .min(1)
      .max(DELETIONS_MAX),
  })
  .meta({
    id: 'RecordsToDelete',
    description: 'Where logs are to start.',
    examples: [{ partitions: [{ partition: 0, offset: 700 }] }],
  });

const segmentShape = z
  .strictObject({
    file: z.string(),
    leaderEpoch: z.int(),
    baseOffset: count,
    endOffset: count.meta({ description: 'One past the last offset that its batches cover.' }),
    bytes: count,
    flushedBytes: count.meta({ description: 'On disk.' }),
    firstTimestampMs: milliseconds.nullable().meta({ description: 'Null while the index does not tell.' }),
    maxTimestampMs: milliseconds.nullable(),
    active: z.boolean().meta({ description: 'The next append goes to it.' }),
  })
  .meta({ id: 'Segment', description: 'A file of a partition.' });

const segmentPage = pageOf(segmentShape, 'SegmentPage', 'A page of files, oldest first.');

const positionShape = z
  .strictObject({
    offset: count,
    segmentBaseOffset: count,
    file: z.string(),
    position: count.meta({ description: 'Of the batch in the file, in bytes.' }),
    batch: batchShape,
  })
  .meta({ id: 'BatchPosition', description: 'Where a batch lies.' });

const deletedPartition = z.strictObject({
  partition: count,
  logStart: count.nullable().meta({ description: 'Where the log starts now; null when that failed.' }),
  error: z.string().nullable(),
});
const deletedShape = z.strictObject({ partitions: z.array(deletedPartition) }).meta({
  id: 'DeletedRecords',
  description: 'Where each log starts now.',
  examples: [{ partitions: [{ partition: 0, logStart: 700, error: null }] }],
});

const notDeleted = partialErrors(
  deletedShape.shape,
  'DeleteRecordsError',
  'Why not all was done; `partitions` tells of each when some were.',
);

export function topicPartitionRoutes(server: HttpServer, { hub }: AdminTarget): void {
  const { topics, access } = hub;

  server.post('/api/v1/topics/:topic/partitions', {
    config: {
      role: 'operator',
      refuses: ['internal_topic', 'not_found', 'declared', 'conflict', 'limit_reached', 'storage'],
    },
    schema: {
      operationId: 'addPartitions',
      summary: 'Gives a topic more partitions. Keys may go to others from then on.',
      tags: ['topics'],
      params: topicParams,
      body: partitionCount,
      response: { 200: topicShape, ...errorResponses },
    },
    handler: async (request, reply) => {
      const name = request.params.topic;
      requireAccess(access, request.principal, 'alter', 'topic', name);
      const problem = await topics.addPartitions(name, request.body.count);
      if (problem !== undefined) throw topicError(problem, 'count');
      const topic = knownTopic(topics, name);
      reply.header('etag', entityTag(topic, topics));
      return topicDetail(topic, topics);
    },
  });

  server.post('/api/v1/topics/:topic/records::delete-before', {
    config: { role: 'operator', refuses: ['internal_topic', 'not_found', 'storage', 'not_ready'] },
    schema: {
      operationId: 'deleteRecordsBefore',
      summary: 'Moves the start of logs: records below the offsets are gone.',
      tags: ['topics'],
      params: topicParams,
      body: recordsToDelete,
      response: { 200: deletedShape, ...notDeleted },
    },
    handler: async (request) => {
      requireAccess(access, request.principal, 'delete', 'topic', request.params.topic);
      const topic = knownTopic(topics, request.params.topic);
      if (topic.internal)
        throw topicError({ error: 'internal-topic', message: `${topic.name} is the hub's own` });
      const wanted = request.body.partitions.map((each, index) => ({
        partition: knownPartition(topic, each.partition),
        offset: deletionOffset(knownPartition(topic, each.partition), each.offset, index),
      }));
      refuseTwice(request.body.partitions);
      const done = await mapConcurrently(wanted, DELETIONS_AT_ONCE, ({ partition, offset }) =>
        partition.deleteRecords(offset),
      );
      return deletions(wanted, done);
    },
  });

  server.get('/api/v1/topics/:topic/partitions/:partition/segments', {
    config: { role: 'viewer', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'listSegments',
      summary: 'Files of a partition, oldest first.',
      tags: ['topics'],
      params: partitionParams,
      querystring: pageQuery,
      response: { 200: segmentPage, ...errorResponses },
    },
    handler: async (request) => {
      const partition = described(request);
      const files = await partition.segments().catch((error: unknown) => {
        throw new AdminError('storage', `the index of ${partition.topic} cannot be read`, { cause: error });
      });
      // Names are of equal length and begin with epoch and offset, which both rise.
      const page = pageFrom(files, ({ file }) => file, request.query);
      return { items: page.items.map(segmentItem), next: page.next };
    },
  });

  server.get('/api/v1/topics/:topic/partitions/:partition/position', {
    config: { role: 'viewer', refuses: ['not_found', 'storage', 'not_ready'] },
    schema: {
      operationId: 'getBatchPosition',
      summary: 'Where the batch lies that covers an offset; in a hole the next one.',
      tags: ['topics'],
      params: partitionParams,
      querystring: z.strictObject({
        offset: z
          .string()
          .regex(/^\d{1,16}$/, 'must be an offset')
          .transform(Number)
          .pipe(count),
      }),
      response: { 200: positionShape, ...errorResponses },
    },
    handler: async (request) => {
      const partition = described(request);
      const { offset } = request.query;
      const found = await partition.positionOf(offset);
      if (found.refused !== undefined) {
        const { logStartOffset, highWatermark } = partition;
        throw refusalError(found, {
          field: 'offset',
          hint: `there is ${logStartOffset} to ${highWatermark}`,
        });
      }
      const { segmentBaseOffset, file, position, baseOffset, lastOffset, leaderEpoch } = found;
      const batch = {
        baseOffset,
        lastOffset,
        records: found.recordCount,
        bytes: found.byteLength,
        leaderEpoch,
      };
      return { offset, segmentBaseOffset, file, position, batch };
    },
  });

  function described(request: {
    readonly params: z.output<typeof partitionParams>;
    readonly principal: Parameters<typeof requireAccess>[1];
  }): Partition {
    requireAccess(access, request.principal, 'describe', 'topic', request.params.topic);
    return knownPartition(knownTopic(topics, request.params.topic), request.params.partition);
  }
}

function segmentItem(segment: SegmentView): z.output<typeof segmentShape> {
  const { file, leaderEpoch, baseOffset, endOffset, byteSize, flushedBytes, active } = segment;
  const { firstTimestampMs = null, maxTimestampMs = null } = segment;
  const bytes = byteSize;
  return {
    ...{ file, leaderEpoch, baseOffset, endOffset, bytes, flushedBytes, active },
    ...{ firstTimestampMs, maxTimestampMs },
  };
}

function deletionOffset(partition: Partition, offset: number, index: number): number {
  if (offset === -1) return partition.highWatermark;
  if (offset <= partition.highWatermark) return offset;
  const message = `partition ${partition.partition} ends at ${partition.highWatermark}, before ${offset}`;
  throw new AdminError('invalid_request', message, {
    field: `partitions.${index}.offset`,
    hint: '-1 = all that there is',
  });
}

function refuseTwice(partitions: readonly { readonly partition: number }[]): void {
  const seen = new Set<number>();
  for (const [index, { partition }] of partitions.entries()) {
    if (seen.has(partition)) {
      throw new AdminError('invalid_request', `partition ${partition} is named twice`, {
        field: `partitions.${index}.partition`,
      });
    }
    seen.add(partition);
  }
}

/** @throws AdminError with what was done, when something failed */
function deletions(
  wanted: readonly { readonly partition: Partition }[],
  done: readonly (RecordsDeleted | ReadRefused)[],
): z.output<typeof deletedShape> {
  const partitions = done.map((each, index) => ({
    partition: wanted[index]!.partition.partition, // one each
    logStart: each.refused === undefined ? each.logStartOffset : null,
    error: each.refused === undefined ? null : each.message,
  }));
  const failed = done.find((each): each is ReadRefused => each.refused !== undefined);
  if (failed === undefined) return { partitions };
  const { code, message } = refusalError(failed);
  throw new AdminError(code, message, { field: 'partitions', partial: { partitions } });
}
