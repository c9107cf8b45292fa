// GET /api/v1/topics/{topic}/records: a stretch of a topic as NDJSON. Its end is settled when it begins, over all
// partitions, so it ends as soon as nothing is left. How much of the log one answer may look through is bounded; the last
// line says where to go on.
import { Readable } from 'node:stream';
import * as z from 'zod';
import type { Hub, Partition, TopicView, Visibility } from '../../../protocols/port.ts';
import { mapConcurrently } from '../../hub/concurrently.ts';
import { requireAccess } from '../access.ts';
import { bytesOf } from '../byte-text.ts';
import { AdminError } from '../errors.ts';
import { type HttpServer, sendStream } from '../http-server.ts';
import { type PartitionSpan, readRecordCursor } from '../record-cursor.ts';
import { RecordFilter } from '../record-filter.ts';
import { encodingQueries } from '../record-json.ts';
import { recordLineShape, recordLines } from '../record-lines.ts';
import { RecordMerge } from '../record-merge.ts';
import { offsetOfPlace, PLACE_FORMS, parseRecordPlace, type RecordPlace } from '../record-place.ts';
import { type ReadBudget, RecordSource } from '../record-source.ts';
import { errorResponses, partitionsQuery, topicParam } from '../shapes.ts';
import type { HubSlots } from '../slots.ts';
import type { AdminTarget } from '../target.ts';
import { chosenPartitions, knownPartition, knownTopic } from '../topic-errors.ts';

export interface RecordReading {
  /** Of the log, that one answer may look through. */
  readonly scannedBytesMax: number;
  readonly heldBytesMax: number;
}

export const RECORD_READING: RecordReading = {
  scannedBytesMax: 256 * 1024 * 1024,
  heldBytesMax: 8 * 1024 * 1024,
};

/** What is read of a partition at a time: less when there are very many of them, so that few are let go of. */
const READ_BYTES_MAX = 256 * 1024;
const READ_BYTES_MIN = 16 * 1024;
const LOOKUPS_AT_ONCE = 32;
const LIMIT_MAX = 1_000_000_000;
const TEXT_MAX = 4096;

export const filterQueries = {
  key: z.string().max(TEXT_MAX).optional().meta({
    description: 'Only records with exactly this key: text, or base64 when keyEncoding is base64.',
  }),
  contains: z.string().max(TEXT_MAX).optional().meta({
    description:
      'Only records with this text in their key or value. Upper and lower case differ; no pattern.',
  }),
  isolation: z
    .enum(['read_committed', 'read_uncommitted'])
    .optional()
    .meta({ description: 'Default read_committed: nothing of transactions that are open or aborted.' }),
};

const recordsQuery = z.strictObject({
  from: z
    .string()
    .max(64)
    .optional()
    .meta({ description: `Where to begin: ${PLACE_FORMS}. Default: start.` }),
  to: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'Where to stop before. Default: end, as it is now.' }),
  partition: partitionsQuery,
  limit: z
    .string()
    .regex(/^\d{1,10}$/, `must be a number from 1 to ${LIMIT_MAX}`)
    .transform(Number)
    .pipe(z.int().min(1).max(LIMIT_MAX))
    .optional()
    .meta({ description: 'Records at most.' }),
  ...filterQueries,
  ...encodingQueries,
  cursor: z.string().max(100_000).optional().meta({
    description: '`next` of the answer before: from, to and partition are those of the first.',
  }),
});

type RecordsQuery = z.output<typeof recordsQuery>;

export function recordRoutes(server: HttpServer, { hub }: AdminTarget, slots: HubSlots): void {
  const reading = RECORD_READING;

  server.get('/api/v1/topics/:topic/records', {
    config: { role: 'viewer', refuses: ['not_found', 'too_many_requests', 'storage'] },
    // It would read everything, to send nothing.
    exposeHeadRoute: false,
    schema: {
      operationId: 'readRecords',
      summary: 'Records as NDJSON, by timestamp over all partitions. The last line says where to go on.',
      tags: ['records'],
      params: z.strictObject({ topic: topicParam }),
      querystring: recordsQuery,
      response: {
        200: {
          description: 'A line for each record, and one at the end.',
          content: { 'application/x-ndjson': { schema: recordLineShape } },
        },
        ...errorResponses,
      },
    },
    handler: async (request, reply) => {
      const { query, principal } = request;
      requireAccess(hub.access, principal, 'read', 'topic', request.params.topic);
      const topic = knownTopic(hub.topics, request.params.topic);
      const filter = filterOf(query);
      const places = placesOf(query, hub.clock.now());
      const giveBack = slots.reads.take();
      const budget: ReadBudget = { bytesLeft: reading.scannedBytesMax, heldBytes: 0, isGone: false };
      reply.raw.once('close', () => {
        budget.isGone = true;
        giveBack();
      });
      const spans = await spansOf(topic, query, places);
      const sources = sourcesOf(hub, topic, spans, { upTo: visibilityOf(query), filter, budget, reading });
      const merge = new RecordMerge(sources, budget, reading.heldBytesMax);
      await merge.open();
      const lines = recordLines({
        ...{ topic: topic.name, topicId: topic.topicId, merge, budget },
        ...{ bytesMax: reading.scannedBytesMax, limit: query.limit ?? Number.POSITIVE_INFINITY },
        counted: server.counted,
        shownAs: query,
        onFault: (error) => hub.log.error('admin-read-failed', { topic: topic.name, error }),
      });
      const stream = Readable.from(lines, { objectMode: false });
      return sendStream(reply, 'application/x-ndjson; charset=utf-8', stream);
    },
  });
}

/** @throws AdminError */
export function filterOf(query: Pick<RecordsQuery, 'key' | 'contains' | 'keyEncoding'>): RecordFilter {
  const { key, contains, keyEncoding } = query;
  const keyBytes =
    key === undefined ? undefined : bytesOf(key, keyEncoding === 'base64' ? 'base64' : 'utf8', 'key');
  return new RecordFilter(keyBytes, contains === undefined ? undefined : Buffer.from(contains));
}

export function visibilityOf({ isolation }: Pick<RecordsQuery, 'isolation'>): 'lastStable' | 'highWatermark' {
  return isolation === 'read_uncommitted' ? 'highWatermark' : 'lastStable';
}

/** @throws AdminError */
export function readPlace(text: string, field: string, nowMs: number): RecordPlace {
  const place = parseRecordPlace(text, nowMs);
  if (!('message' in place)) return place;
  throw new AdminError('invalid_request', `${field}: ${place.message}`, { field, hint: place.hint });
}

function placesOf({ from = 'start', to = 'end' }: RecordsQuery, nowMs: number) {
  return { from: readPlace(from, 'from', nowMs), to: readPlace(to, 'to', nowMs) };
}

/** All ends are taken at once, before any log is looked at. */
async function spansOf(
  topic: TopicView,
  query: RecordsQuery,
  { from, to }: { readonly from: RecordPlace; readonly to: RecordPlace },
): Promise<readonly PartitionSpan[]> {
  if (query.cursor !== undefined) return readRecordCursor(query.cursor, topic.topicId);
  const upTo = visibilityOf(query);
  const ends = chosenPartitions(topic, query.partition).map((partition) => ({
    partition,
    end: endOf(partition, upTo),
  }));
  return mapConcurrently(ends, LOOKUPS_AT_ONCE, async ({ partition, end }) => {
    try {
      return {
        partition: partition.partition,
        from: await offsetOfPlace(partition, from, end, upTo),
        to: await offsetOfPlace(partition, to, end, upTo),
      };
    } catch (error) {
      throw unreadable(partition, error);
    }
  });
}

export function endOf(partition: Partition, upTo: Visibility): number {
  return upTo === 'lastStable' ? partition.lastStableOffset : partition.highWatermark;
}

export function unreadable(partition: Partition, cause: unknown): AdminError {
  if (partition.deleted) {
    return new AdminError('not_found', `topic ${partition.topic} was deleted`, { field: 'topic' });
  }
  const message = `partition ${partition.partition} of ${partition.topic} cannot be read`;
  return new AdminError('storage', message, { field: 'partition', cause });
}

function sourcesOf(
  hub: Hub,
  topic: TopicView,
  spans: readonly PartitionSpan[],
  options: {
    readonly upTo: Visibility;
    readonly filter: RecordFilter;
    readonly budget: ReadBudget;
    readonly reading: RecordReading;
  },
): RecordSource[] {
  const { reading, ...shared } = options;
  const share = Math.floor(reading.heldBytesMax / Math.max(1, spans.length));
  const readBytes = Math.max(READ_BYTES_MIN, Math.min(READ_BYTES_MAX, share));
  return spans.map((span) => {
    const partition = knownPartition(topic, span.partition);
    return new RecordSource(partition, span, { ...shared, readBytes, cursor: hub.cursor() });
  });
}
