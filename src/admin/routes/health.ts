// GET /health/live, GET /health/ready: for supervisors and load balancers. Live = the process answers; ready = it
// serves clients.
import * as z from 'zod';
import type { HttpServer } from '../http-server.ts';
import { errorResponses } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const liveShape = z
  .strictObject({ live: z.literal(true) })
  .meta({ id: 'Liveness', description: 'The process answers.' });
const readyShape = z
  .strictObject({ ready: z.literal(true) })
  .meta({ id: 'Readiness', description: 'The hub serves everything.' });
const notReadyShape = z
  .strictObject({
    ready: z.literal(false),
    failing: z.array(z.string()).min(1).meta({ description: 'What keeps the hub from serving.' }),
    error: z.strictObject({ code: z.literal('not_ready'), message: z.string() }),
  })
  .meta({
    id: 'Unreadiness',
    description: 'The hub does not serve everything.',
    examples: [
      { ready: false, failing: ['the hub starts'], error: { code: 'not_ready', message: 'the hub starts' } },
    ],
  });

export function healthRoutes(server: HttpServer, target: AdminTarget): void {
  server.get('/health/live', {
    config: { role: 'anyone' },
    schema: {
      operationId: 'getLiveness',
      summary: 'The process answers.',
      tags: ['health'],
      response: { 200: liveShape, ...errorResponses },
    },
    handler: () => ({ live: true as const }),
  });

  server.get('/health/ready', {
    config: { role: 'anyone' },
    schema: {
      operationId: 'getReadiness',
      summary: 'Listeners are bound and logs are recovered; else what fails.',
      tags: ['health'],
      response: { 200: readyShape, 503: notReadyShape, ...errorResponses },
    },
    handler: (_, reply) => {
      const failing = [...target.ready()];
      if (failing.length === 0) return { ready: true as const };
      const error = { code: 'not_ready' as const, message: failing.join('; ') };
      reply.code(503);
      return { ready: false as const, failing, error };
    },
  });
}
