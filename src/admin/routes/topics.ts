// GET /api/v1/topics: what topics there are. Answered from memory; no log is read.
import * as z from 'zod';
import type { TopicView } from '../../../protocols/port.ts';
import type { HttpServer } from '../http-server.ts';
import { pageFrom, pageOf, pageQuery } from '../paging.ts';
import { count, errorResponses } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const topicShape = z.strictObject({
  name: z.string(),
  topicId: z.string(),
  internal: z.boolean().meta({ description: "The hub's own state, not to be written." }),
  partitions: count,
  bytes: count.meta({ description: 'On disk.' }),
  segments: count,
});

export function topicRoutes(server: HttpServer, { hub }: AdminTarget): void {
  server.get('/api/v1/topics', {
    config: { role: 'viewer' },
    schema: {
      summary: 'Topics by name.',
      tags: ['topics'],
      querystring: pageQuery,
      response: { 200: pageOf(topicShape), ...errorResponses },
    },
    handler: (request) => {
      const visible = hub.topics
        .list()
        .filter(({ name }) => hub.access.allows(request.principal, 'describe', 'topic', name));
      const page = pageFrom(visible, ({ name }) => name, request.query);
      return { items: page.items.map(topicItem), next: page.next };
    },
  });
}

function topicItem({ name, topicId, internal, partitions }: TopicView): z.output<typeof topicShape> {
  let bytes = 0;
  let segments = 0;
  for (const partition of partitions) {
    bytes += partition.byteSize;
    segments += partition.segmentCount;
  }
  return { name, topicId, internal, partitions: partitions.length, bytes, segments };
}
