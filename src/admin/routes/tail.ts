// GET /api/v1/topics/{topic}/tail: a topic as it is written, as server-sent events. An event's id is the position in all
// partitions, so that a browser that comes back goes on where it was.
import { PassThrough } from 'node:stream';
import * as z from 'zod';
import type { TopicView } from '../../../protocols/port.ts';
import { mapConcurrently } from '../../hub/concurrently.ts';
import { requireAccess } from '../access.ts';
import { AdminError } from '../errors.ts';
import { type HttpServer, sendStream } from '../http-server.ts';
import { encodingQueries, recordShape } from '../record-json.ts';
import { offsetOfPlace, PLACE_FORMS } from '../record-place.ts';
import { errorResponses, partitionsQuery, topicParam } from '../shapes.ts';
import type { HubSlots } from '../slots.ts';
import { Tail } from '../tail.ts';
import { TailPace, type TailRates } from '../tail-pace.ts';
import { readPosition, type TailPosition } from '../tail-position.ts';
import type { AdminTarget } from '../target.ts';
import { chosenPartitions, knownTopic } from '../topic-errors.ts';
import { endOf, filterOf, filterQueries, readPlace, unreadable, visibilityOf } from './records.ts';

const RATES: TailRates = {
  rowsPerSecond: 5000,
  bytesPerSecond: 8 * 1024 * 1024,
};

/** A position is sent back in a header, which has room for so many. */
const PARTITIONS_MAX = 4000;
const LOOKUPS_AT_ONCE = 32;

const tailQuery = z.strictObject({
  from: z
    .string()
    .max(64)
    .optional()
    .meta({
      description: `Where to begin: ${PLACE_FORMS}. Default: end. The header Last-Event-ID counts more.`,
    }),
  partition: partitionsQuery,
  ...filterQueries,
  ...encodingQueries,
  overflow: z.enum(['drop', 'wait']).optional().meta({
    description:
      'What becomes of more than is shown a second: left out and counted (default), or shown later.',
  }),
});

const lastEventId = z.looseObject({
  'last-event-id': z
    .string()
    .optional()
    .meta({ description: 'The id of an event: it goes on behind it. partition:offset, with commas.' }),
});

export function tailRoute(server: HttpServer, { hub }: AdminTarget, slots: HubSlots): void {
  const tails = new Set<Tail>();
  server.addHook('preClose', async () => {
    for (const tail of tails) tail.end('the hub stops');
  });

  server.get('/api/v1/topics/:topic/tail', {
    config: { role: 'viewer', refuses: ['not_found', 'too_many_requests', 'storage'] },
    // It would never end.
    exposeHeadRoute: false,
    schema: {
      operationId: 'tailRecords',
      summary:
        'Records as they are written, as server-sent events: record, dropped, skipped, error, start, position, end.',
      tags: ['records'],
      params: z.strictObject({ topic: topicParam }),
      headers: lastEventId,
      querystring: tailQuery,
      response: {
        200: {
          description: 'The data of an event `record` is a record.',
          content: { 'text/event-stream': { schema: recordShape } },
        },
        ...errorResponses,
      },
    },
    handler: async (request, reply) => {
      const { query, principal, headers } = request;
      requireAccess(hub.access, principal, 'read', 'topic', request.params.topic);
      const topic = knownTopic(hub.topics, request.params.topic);
      const filter = filterOf(query);
      reply.raw.once('close', slots.tails.take());
      const position = await positionOf(topic, query, headers['last-event-id']);
      const followed = stillThere(topic, position, query.partition === undefined);
      const output = new PassThrough();
      // The client may have gone while places were looked for.
      if (reply.raw.destroyed) output.destroy();
      const tail = new Tail(
        {
          ...{ hub, topic: followed, position, filter, output, shownAs: query, counted: server.counted },
          followsNew: query.partition === undefined,
          visibility: visibilityOf(query),
          overflow: query.overflow ?? 'drop',
          pace: new TailPace(RATES, hub.clock),
        },
        () => tails.delete(tail),
      );
      tails.add(tail);
      reply.header('x-accel-buffering', 'no');
      return sendStream(reply, 'text/event-stream; charset=utf-8', output);
    },
  });

  /** While places were looked for the topic may have been deleted, or have got partitions. */
  function stillThere(topic: TopicView, position: TailPosition, followsNew: boolean): TopicView {
    const current = hub.topics.getById(topic.topicId);
    if (current === undefined) {
      throw new AdminError('not_found', `topic ${topic.name} was deleted`, { field: 'topic' });
    }
    if (followsNew) {
      for (const { partition } of current.partitions)
        if (!position.has(partition)) position.set(partition, 0);
    }
    return current;
  }

  async function positionOf(
    topic: TopicView,
    query: z.output<typeof tailQuery>,
    eventId: string | undefined,
  ): Promise<TailPosition> {
    const partitions = chosenPartitions(topic, query.partition);
    if (partitions.length > PARTITIONS_MAX) {
      throw new AdminError('invalid_request', `a tail has at most ${PARTITIONS_MAX} partitions`, {
        field: 'partition',
        hint: 'choose some with partition=',
      });
    }
    if (eventId !== undefined && eventId !== '') {
      const position = readPosition(eventId, topic);
      // Those that the topic was given meanwhile, from their beginning.
      for (const { partition } of partitions) if (!position.has(partition)) position.set(partition, 0);
      return position;
    }
    const place = readPlace(query.from ?? 'end', 'from', hub.clock.now());
    const upTo = visibilityOf(query);
    const ends = partitions.map((partition) => ({ partition, end: endOf(partition, upTo) }));
    const offsets = await mapConcurrently(ends, LOOKUPS_AT_ONCE, async ({ partition, end }) => {
      try {
        return [partition.partition, await offsetOfPlace(partition, place, end, upTo)] as const;
      } catch (error) {
        throw unreadable(partition, error);
      }
    });
    return new Map(offsets);
  }
}
