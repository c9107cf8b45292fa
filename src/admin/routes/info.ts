// GET /api/v1/info, GET /api/v1/listeners: what runs here and where it listens.
import * as z from 'zod';
import type { HttpServer } from '../http-server.ts';
import { pageOf } from '../paging.ts';
import { count, errorResponses, milliseconds } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const infoShape = z.strictObject({
  version: z.string(),
  clusterId: z.string(),
  nodeId: z.int(),
  startedAtMs: milliseconds,
  uptimeMs: count,
});

const listenerShape = z.strictObject({
  name: z.string(),
  protocol: z.string(),
  host: z.string(),
  port: z.int().min(0).max(65_535).meta({ description: 'The one in use, where the configuration said 0.' }),
  connections: count,
});

export function infoRoutes(server: HttpServer, target: AdminTarget, version: string): void {
  const { hub } = target;

  server.get('/api/v1/info', {
    config: { role: 'viewer' },
    schema: {
      summary: 'Version, cluster and uptime.',
      tags: ['hub'],
      response: { 200: infoShape, ...errorResponses },
    },
    handler: () => ({
      version,
      clusterId: hub.cluster.clusterId,
      nodeId: hub.cluster.nodeId,
      startedAtMs: target.startedAtMs,
      // The wall clock may have been set back since.
      uptimeMs: Math.max(0, hub.clock.now() - target.startedAtMs),
    }),
  });

  server.get('/api/v1/listeners', {
    config: { role: 'viewer' },
    schema: {
      summary: 'Listeners with their addresses and connections.',
      tags: ['hub'],
      response: { 200: pageOf(listenerShape), ...errorResponses },
    },
    handler: () => ({
      items: target.listeners().map(({ name, protocol, host, port, connections }) => {
        return { name, protocol, host, port, connections };
      }),
      next: null,
    }),
  });
}
