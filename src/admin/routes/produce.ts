// POST /api/v1/topics/{topic}/records: records appended, on disk before the answer. The body is looked at as it came, not
// as it was parsed, so that JSON in it stays as it is.
import * as z from 'zod';
import type { Principal, TopicView } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import { AdminError, ERROR_STATUS } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { appendRecords, type RecordOutcome } from '../record-append.ts';
import { readRecords, recordInputShape } from '../record-input.ts';
import { count, partialErrors, topicParam } from '../shapes.ts';
import type { HubSlots } from '../slots.ts';
import type { AdminTarget } from '../target.ts';
import { topicError } from '../topic-errors.ts';

const BODY_BYTES_MAX = 16 * 1024 * 1024;
const NDJSON = 'application/x-ndjson';

const outcomeShape = z.strictObject({
  partition: count,
  offset: count.optional().meta({ description: 'Absent when it was not appended.' }),
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
});
const appendedShape = z
  .strictObject({
    records: z.array(outcomeShape).meta({ description: 'In the order in which they were sent.' }),
  })
  .meta({
    id: 'AppendedRecords',
    description: 'Where each record was appended.',
    examples: [{ records: [{ partition: 0, offset: 701 }] }],
  });

const notAppended = partialErrors(
  appendedShape.shape,
  'AppendError',
  'Why not all was appended; `records` tells of each when some were.',
);

export function produceRoutes(server: HttpServer, { hub }: AdminTarget, { bodies }: HubSlots): void {
  server.post('/api/v1/topics/:topic/records', {
    config: {
      role: 'operator',
      rawBody: true,
      refuses: [
        'internal_topic',
        'not_found',
        'conflict',
        'limit_reached',
        'too_many_requests',
        'storage',
        'not_ready',
        'disk_full',
      ],
    },
    bodyLimit: BODY_BYTES_MAX,
    onRequest: async (request, reply) => {
      const announced = Number(request.headers['content-length'] ?? BODY_BYTES_MAX);
      // What is too large is refused elsewhere.
      const giveBack = bodies.take(Math.min(announced, BODY_BYTES_MAX));
      reply.raw.once('close', giveBack);
    },
    schema: {
      operationId: 'appendRecords',
      summary:
        'Appends a record, or one a line. Answered when they are on disk; nothing is appended of a body that is wrong.',
      tags: ['records'],
      consumes: ['application/json', NDJSON],
      params: z.strictObject({ topic: topicParam }),
      body: recordInputShape,
      response: { 200: appendedShape, ...notAppended },
    },
    handler: async (request) => {
      const { params, principal, headers } = request;
      const topic = await writableTopic(params.topic, principal);
      // A cast: with rawBody it is the bytes that came, whatever the schema says of them.
      const body = request.body as unknown as Buffer | undefined;
      const isLines = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === NDJSON;
      const bytes = body ?? Buffer.alloc(0);
      const outcomes = await appendRecords(hub, topic, await readRecords(bytes, isLines));
      server.counted.recordsAppended += outcomes.filter((outcome) => 'offset' in outcome).length;
      server.counted.bytesAppended += bytes.length;
      return appended(outcomes);
    },
  });

  /** As for every other protocol a topic is made by its first use, if the configuration allows it. */
  async function writableTopic(name: string, principal: Principal): Promise<TopicView> {
    requireAccess(hub.access, principal, 'write', 'topic', name);
    const topic = hub.topics.get(name);
    if (topic?.internal === true)
      throw topicError({ error: 'internal-topic', message: `topic ${name} is the hub's own` });
    if (topic !== undefined) return topic;
    requireAccess(hub.access, principal, 'create', 'topic', name);
    const made = await hub.topics.ensure(name);
    if ('error' in made) throw topicError(made);
    return made;
  }
}

/** @throws AdminError that tells of each record, when not all were appended */
function appended(outcomes: readonly RecordOutcome[]): { records: z.output<typeof outcomeShape>[] } {
  const records = [...outcomes];
  const failed = outcomes.find((outcome) => 'error' in outcome);
  if (failed === undefined || !('error' in failed)) return { records };
  const count = outcomes.filter((outcome) => 'error' in outcome).length;
  const { code, message } = failed.error;
  throw new AdminError(code, `${count} of ${outcomes.length} records were not appended: ${message}`, {
    ...(ERROR_STATUS[code] === 503 ? { hint: 'send those again' } : {}),
    partial: { records },
  });
}
