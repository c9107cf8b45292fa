// GET /api/v1/topics/{topic}/records/{partition}/{offset}: one record to the byte: as JSON, with the batch that it is
// in, or its key or value as they are. What is in a transaction is shown whatever became of that.
import * as z from 'zod';
import type { Partition, RecordCursor, RecordRange } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import { AdminError } from '../errors.ts';
import { type HttpServer, sendStream } from '../http-server.ts';
import { encodingQueries, recordJson, recordShape } from '../record-json.ts';
import { batchShape, count, errorResponses, partitionParam, topicParam } from '../shapes.ts';
import type { HubSlots } from '../slots.ts';
import type { AdminTarget } from '../target.ts';
import { knownPartition, knownTopic, refusalError } from '../topic-errors.ts';

const wholeShape = z
  .strictObject({
    ...recordShape.shape,
    batch: batchShape,
  })
  .meta({ id: 'RecordInBatch', description: 'A record, and the batch that it lies in.' });

export function recordRoute(server: HttpServer, { hub }: AdminTarget, { singleReads }: HubSlots): void {
  server.get('/api/v1/topics/:topic/records/:partition/:offset', {
    config: { role: 'viewer', refuses: ['not_found', 'too_many_requests', 'storage', 'not_ready'] },
    schema: {
      operationId: 'getRecord',
      summary:
        'One record: as JSON, in base64 unless asked otherwise, or the bytes of its key or value alone.',
      tags: ['records'],
      params: z.strictObject({
        topic: topicParam,
        partition: partitionParam,
        offset: z
          .string()
          .regex(/^\d{1,16}$/, 'must be an offset')
          .transform(Number)
          .pipe(count),
      }),
      querystring: z.strictObject({
        as: z.enum(['value', 'key']).optional().meta({ description: 'Its bytes; 204 when it is null.' }),
        ...encodingQueries,
      }),
      response: {
        200: {
          description: 'The record.',
          content: {
            'application/json': { schema: wholeShape },
            'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) },
          },
        },
        204: z.null().meta({ description: 'The key or value is null.' }),
        ...errorResponses,
      },
    },
    handler: async (request, reply) => {
      const { params, query, principal } = request;
      requireAccess(hub.access, principal, 'read', 'topic', params.topic);
      const partition = knownPartition(knownTopic(hub.topics, params.topic), params.partition);
      reply.raw.once('close', singleReads.take());
      const range = await rangeAt(partition, params.offset);
      try {
        const cursor = hub.cursor();
        findRecord(cursor, range, partition, params.offset);
        if (query.as !== undefined) {
          const bytes = bytesOf(cursor, query.as);
          if (bytes === undefined) return reply.code(204).send(null);
          return sendStream(reply, 'application/octet-stream', bytes);
        }
        return sendStream(
          reply,
          'application/json; charset=utf-8',
          Buffer.from(wholeJson(cursor, partition, query)),
        );
      } finally {
        range.release?.();
      }
    },
  });
}

async function rangeAt(partition: Partition, offset: number): Promise<RecordRange> {
  const range = await partition.read({ offset, maxBytes: 1, upTo: 'highWatermark' });
  if (range.refused !== undefined) throw refusalError(range, { field: 'offset', hint: extentOf(partition) });
  return range;
}

/** The cursor stands on the record. @throws AdminError not_found */
function findRecord(cursor: RecordCursor, range: RecordRange, partition: Partition, offset: number): void {
  cursor.reset(range);
  while (cursor.nextBatch()) {
    if (cursor.batchLastOffset < offset) continue;
    if (cursor.batchIsControl && cursor.batchBaseOffset <= offset) {
      throw new AdminError('not_found', `at offset ${offset} a transaction ended: that is no record`, {
        field: 'offset',
      });
    }
    while (cursor.nextRecord()) {
      if (cursor.offset === offset) return;
      if (cursor.offset > offset) break;
    }
    break;
  }
  throw new AdminError('not_found', `there is no record at offset ${offset}`, {
    field: 'offset',
    hint: extentOf(partition),
  });
}

function wholeJson(
  cursor: RecordCursor,
  { topic, partition }: Partition,
  { keyEncoding = 'base64', valueEncoding = 'base64' }: Parameters<typeof recordJson>[3],
): string {
  const record = recordJson(cursor, JSON.stringify(topic), partition, { keyEncoding, valueEncoding });
  const batch = {
    baseOffset: cursor.batchBaseOffset,
    lastOffset: cursor.batchLastOffset,
    records: cursor.batchRecordCount,
    bytes: cursor.batchByteLength,
    leaderEpoch: cursor.batchLeaderEpoch,
  };
  return `${record.slice(0, -1)},"batch":${JSON.stringify(batch)}}`;
}

/** A copy: the range is let go of before the answer is out. Undefined = null. */
function bytesOf(cursor: RecordCursor, of: 'key' | 'value'): Buffer | undefined {
  const start = of === 'key' ? cursor.keyStart : cursor.valueStart;
  const end = of === 'key' ? cursor.keyEnd : cursor.valueEnd;
  return start < 0 ? undefined : Buffer.from(cursor.bytes.subarray(start, end));
}

function extentOf({ logStartOffset, highWatermark }: Partition): string {
  return `there is ${logStartOffset} to ${highWatermark}`;
}
