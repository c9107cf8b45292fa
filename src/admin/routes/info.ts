// GET /api/v1/info, GET /api/v1/listeners: what runs here and where it listens.
import * as z from 'zod';
import type { HttpServer } from '../http-server.ts';
import { pageOf } from '../paging.ts';
import { count, errorResponses, milliseconds } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const infoShape = z
  .strictObject({
    version: z.string(),
    clusterId: z.string(),
    nodeId: z.int(),
    startedAtMs: milliseconds,
    uptimeMs: count,
  })
  .meta({
    id: 'HubInfo',
    description: 'What runs here, and since when.',
    examples: [
      {
        version: '0.1.0',
        clusterId: 'q3Vw2kzbTsGX9SUDJt1ZXA',
        nodeId: 1,
        startedAtMs: 1764000000000,
        uptimeMs: 3600000,
      },
    ],
  });

const listenerShape = z
  .strictObject({
    name: z.string(),
    protocol: z.string(),
    host: z.string(),
    port: z.int().min(0).max(65_535).meta({ description: 'The one in use, where the configuration said 0.' }),
    connections: count,
  })
  .meta({
    id: 'Listener',
    description: 'Where clients of one protocol connect.',
    examples: [{ name: 'kafka', protocol: 'kafka', host: '127.0.0.1', port: 9092, connections: 3 }],
  });

const listenerPage = pageOf(listenerShape, 'ListenerPage', 'All listeners.');

export function infoRoutes(server: HttpServer, target: AdminTarget, version: string): void {
  const { hub } = target;

  server.get('/api/v1/info', {
    config: { role: 'viewer' },
    schema: {
      operationId: 'getInfo',
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
      operationId: 'listListeners',
      summary: 'Listeners with their addresses and connections.',
      tags: ['hub'],
      response: { 200: listenerPage, ...errorResponses },
    },
    handler: () => ({
      items: target.listeners().map(({ name, protocol, host, port, connections }) => {
        return { name, protocol, host, port, connections };
      }),
      next: null,
    }),
  });
}
