// GET /metrics, GET /metrics/detailed: for Prometheus. What writes the text is imported when somebody first asks.
import * as z from 'zod';
import type { TopicView } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import type { HttpServer } from '../http-server.ts';
import type { LazyMetrics } from '../lazy-metrics.ts';
import { errorResponses } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';
import { knownTopic } from '../topic-errors.ts';

const TOPICS_MAX = 100;
const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

const answer = {
  200: {
    description: 'Text form of Prometheus, version 0.0.4.',
    content: { 'text/plain': { schema: z.string() } },
  },
  ...errorResponses,
};

const topicsQuery = z.strictObject({
  topic: z
    .string()
    .max(25_000)
    .transform((names) => [...new Set(names.split(','))])
    .refine((names) => names.length <= TOPICS_MAX, `at most ${TOPICS_MAX} topics`)
    .optional()
    .meta({ description: 'Names with commas. Absent: those of `metrics.detailed_topics`.' }),
});

export function metricsRoutes(server: HttpServer, { hub }: AdminTarget, metrics: LazyMetrics): void {
  server.get('/metrics', {
    config: { role: 'viewer' },
    schema: {
      operationId: 'getMetrics',
      summary: 'Numbers about the hub.',
      tags: ['metrics'],
      response: answer,
    },
    handler: async (_, reply) => {
      reply.type(PROMETHEUS_TEXT);
      return (await metrics.get()).text();
    },
  });

  server.get('/metrics/detailed', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getDetailedMetrics',
      summary: 'Numbers about each partition of some topics.',
      tags: ['metrics'],
      querystring: topicsQuery,
      response: answer,
    },
    handler: async (request, reply) => {
      const { query, principal } = request;
      const named = query.topic?.map((name) => {
        requireAccess(hub.access, principal, 'describe', 'topic', name);
        return knownTopic(hub.topics, name);
      });
      const topics = named ?? metrics.detailedTopics.flatMap((name) => hub.topics.get(name) ?? []);
      const visible = topics.filter(({ name }: TopicView) =>
        hub.access.allows(principal, 'describe', 'topic', name),
      );
      reply.type(PROMETHEUS_TEXT);
      return (await metrics.get()).detailedText(visible);
    },
  });
}
