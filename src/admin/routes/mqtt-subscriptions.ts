// GET /api/v1/mqtt/subscriptions: who is subscribed to what, and with `matches` who gets the messages of a topic.
import * as z from 'zod';
import type { SubscriptionKey } from '../../../protocols/port.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { messagingFor, subscriptionItem, subscriptionShape } from '../messaging.ts';
import { nameQuery, pageOf, pageQuery, readCursor, unknownCursor, writeCursor } from '../paging.ts';
import { errorResponses } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const subscriptionPage = pageOf(
  subscriptionShape,
  'MqttSubscriptionPage',
  'A page of subscriptions, by client and filter.',
);

const query = z.strictObject({
  ...pageQuery.omit({ search: true }).shape,
  matches: z
    .string()
    .min(1)
    .max(65_535)
    .regex(/^[^+#]*$/, 'must be a topic, without + and #')
    .optional()
    .meta({ description: 'Only subscriptions that get messages of this topic.' }),
});

export function mqttSubscriptionRoutes(server: HttpServer, target: AdminTarget): void {
  server.get('/api/v1/mqtt/subscriptions', {
    config: { role: 'viewer', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'listMqttSubscriptions',
      summary:
        'Subscriptions by client and filter, of clients that are connected and of sessions whose client is away. A page may hold fewer than `limit`, or none, and go on.',
      tags: ['mqtt'],
      querystring: query,
      response: { 200: subscriptionPage, ...errorResponses },
    },
    handler: async (request) => {
      const { subscriptions } = messagingFor(target, request.principal, 'describe');
      const { matches, ...paging } = request.query;
      const { limit } = nameQuery(paging);
      const after = paging.cursor === undefined ? undefined : keyOf(readCursor(paging.cursor));
      const page = await subscriptions.find({ topic: matches, after, limit }).catch((error: unknown) => {
        throw new AdminError('storage', 'sessions of clients that are away cannot be read', { cause: error });
      });
      const next = page.next && writeCursor(JSON.stringify([page.next.clientId, page.next.filter]));
      return { items: page.items.map(subscriptionItem), next: next ?? null };
    },
  });
}

const keyShape = z.tuple([z.string(), z.string()]);

function keyOf(text: string): SubscriptionKey {
  try {
    const [clientId, filter] = keyShape.parse(JSON.parse(text));
    return { clientId, filter };
  } catch {
    throw unknownCursor();
  }
}
