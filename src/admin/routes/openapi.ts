// GET /api/v1/openapi.json: the routes, their parameters and their answers, for programs.
import * as z from 'zod';
import type { HttpServer } from '../http-server.ts';
import type { OpenApiDocument } from '../openapi.ts';
import { errorResponses } from '../shapes.ts';

export function openApiRoute(
  server: HttpServer,
  version: string,
  addRoutes: (server: HttpServer) => void,
): void {
  let made: Promise<OpenApiDocument> | undefined;

  server.get('/api/v1/openapi.json', {
    config: { role: 'viewer' },
    schema: {
      summary: 'This document.',
      tags: ['hub'],
      response: { 200: z.looseObject({ openapi: z.string() }), ...errorResponses },
    },
    handler: async () => {
      made ??= import('../openapi.ts').then(({ openApiDocument }) => openApiDocument(version, addRoutes));
      return { ...(await made) };
    },
  });
}
