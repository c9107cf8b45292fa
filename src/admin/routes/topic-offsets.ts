// GET /api/v1/topics/{topic}/offsets: ends of each partition's log, and the offsets of the times asked for. The
// ends come from memory; a time costs one index lookup and one read a partition. Readers see offsets below the high
// watermark, so that is what `latest` and `end` mean (KIP-79; `max-timestamp` is KIP-734).
import * as z from 'zod';
import type { Partition } from '../../../protocols/port.ts';
import { mapConcurrently } from '../../hub/concurrently.ts';
import { requireAccess } from '../access.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { count, errorResponses, milliseconds, partitionsQuery, topicParam } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';
import { parseTimeQuery, TIME_FORMS, type TimeQuery } from '../time-query.ts';
import { chosenPartitions, knownTopic } from '../topic-errors.ts';

const QUERIES_DEFAULT = 'earliest,latest';
const QUERIES_MAX = 16;
/** Lookups under way at once in one request: they overlap on disk without holding a file each. */
const LOOKUPS_AT_ONCE = 32;

const answerShape = z
  .strictObject({
    query: z.string().meta({ description: 'As it was asked.' }),
    timestampMs: milliseconds
      .nullable()
      .meta({ description: 'The time it stands for; null when it is none.' }),
    offset: count,
    recordTimestampMs: milliseconds
      .nullable()
      .meta({ description: 'Of the record there, when it was looked up.' }),
    reason: z.enum(['found', 'end']).meta({
      description: '`end`: nothing at or after that time; `offset` is where the next record will be seen.',
    }),
  })
  .meta({
    id: 'OffsetAnswer',
    description: 'The offset that one query stands for in a partition.',
    examples: [
      {
        query: '-1h',
        timestampMs: 1764000000000,
        offset: 700,
        recordTimestampMs: 1764000000123,
        reason: 'found',
      },
    ],
  });

type Answer = z.output<typeof answerShape>;

const offsetsShape = z
  .strictObject({
    topic: z.string(),
    topicId: z.string(),
    partitions: z.array(
      z.strictObject({
        partition: count,
        leaderEpoch: z.int(),
        logStart: count,
        logEnd: count,
        highWatermark: count,
        lastStable: count,
        bytes: count,
        segments: count,
        at: z.array(answerShape),
      }),
    ),
  })
  .meta({
    id: 'TopicOffsets',
    description: 'The ends of the log, and the offsets asked for, of each partition.',
  });

export function topicOffsetRoutes(server: HttpServer, { hub }: AdminTarget): void {
  server.get('/api/v1/topics/:topic/offsets', {
    config: { role: 'viewer', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'getTopicOffsets',
      summary: 'Ends of the log and offsets by time, of each partition.',
      tags: ['topics'],
      params: z.strictObject({ topic: topicParam }),
      querystring: z.strictObject({
        at: z
          .string()
          .max(4096)
          .optional()
          .meta({
            description: `Up to ${QUERIES_MAX}, with commas: ${TIME_FORMS}. Default: ${QUERIES_DEFAULT}.`,
          }),
        partition: partitionsQuery,
      }),
      response: { 200: offsetsShape, ...errorResponses },
    },
    handler: async (request) => {
      const { params, query, principal } = request;
      requireAccess(hub.access, principal, 'describe', 'topic', params.topic);
      const topic = knownTopic(hub.topics, params.topic);
      const queries = readQueries(query.at ?? QUERIES_DEFAULT, hub.clock.now());
      const partitions = chosenPartitions(topic, query.partition);
      const answers = await mapConcurrently(partitions, LOOKUPS_AT_ONCE, (partition) =>
        answersOf(partition, queries),
      );
      return {
        topic: topic.name,
        topicId: topic.topicId,
        partitions: partitions.map((partition, index) => ({ ...endsOf(partition), at: answers[index]! })),
      };
    },
  });
}

function readQueries(at: string, nowMs: number): TimeQuery[] {
  const parts = at.split(',');
  if (parts.length > QUERIES_MAX) {
    throw new AdminError('invalid_request', `at: ${parts.length} are too many, at most ${QUERIES_MAX}`, {
      field: 'at',
    });
  }
  return parts.map((part) => {
    const query = parseTimeQuery(part, nowMs);
    if ('message' in query)
      throw new AdminError('invalid_request', `at: ${query.message}`, {
        field: 'at',
        hint: query.hint ?? `one of ${TIME_FORMS}`,
      });
    return query;
  });
}

function endsOf(partition: Partition) {
  return {
    partition: partition.partition,
    leaderEpoch: partition.leaderEpoch,
    logStart: partition.logStartOffset,
    logEnd: partition.logEndOffset,
    highWatermark: partition.highWatermark,
    lastStable: partition.lastStableOffset,
    bytes: partition.byteSize,
    segments: partition.segmentCount,
  };
}

async function answersOf(partition: Partition, queries: readonly TimeQuery[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const query of queries) {
    try {
      answers.push(await answer(partition, query));
    } catch (error) {
      const message = `partition ${partition.partition} of ${partition.topic} cannot be read`;
      throw new AdminError('storage', message, {
        field: 'partition',
        hint: 'ask for the others with partition=',
        cause: error,
      });
    }
  }
  return answers;
}

async function answer(partition: Partition, query: TimeQuery): Promise<Answer> {
  const end = partition.highWatermark;
  switch (query.kind) {
    case 'earliest': {
      const offset = partition.logStartOffset;
      return withoutTime(query.query, offset, offset < end ? 'found' : 'end');
    }
    case 'latest':
      return withoutTime(query.query, end, 'end');
    case 'max-timestamp': {
      const found = await partition.offsetOfMaxTimestamp('highWatermark');
      if (!found) return withoutTime(query.query, end, 'end');
      return {
        query: query.query,
        timestampMs: null,
        offset: found.offset,
        recordTimestampMs: found.timestampMs,
        reason: 'found',
      };
    }
    case 'time': {
      const { timestampMs } = query;
      const found = await partition.offsetForTime(timestampMs, 'highWatermark');
      if (!found) return { ...withoutTime(query.query, end, 'end'), timestampMs };
      return {
        query: query.query,
        timestampMs,
        offset: found.offset,
        recordTimestampMs: found.timestampMs,
        reason: 'found',
      };
    }
    default:
      throw new TypeError(`unknown query ${query satisfies never}`);
  }
}

function withoutTime(query: string, offset: number, reason: Answer['reason']): Answer {
  return { query, timestampMs: null, offset, recordTimestampMs: null, reason };
}
