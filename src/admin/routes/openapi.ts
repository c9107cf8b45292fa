// GET /api/v1/openapi.json: the routes, their parameters and their answers, for programs.
import * as z from 'zod';
import type { HttpServer } from '../http-server.ts';
import type { OpenApiDocument } from '../openapi.ts';
import { errorResponses } from '../shapes.ts';

const documentShape = z
  .looseObject({ openapi: z.string() })
  .meta({ id: 'OpenApiDocument', description: 'A document of OpenAPI 3.1.' });

export function openApiRoute(
  server: HttpServer,
  version: string,
  addRoutes: (server: HttpServer) => void,
): void {
  let made: Promise<OpenApiDocument> | undefined;

  server.get('/api/v1/openapi.json', {
    config: { role: 'viewer' },
    schema: {
      operationId: 'getOpenApi',
      summary: 'This document.',
      tags: ['hub'],
      response: { 200: documentShape, ...errorResponses },
    },
    handler: async () => {
      made ??= import('../openapi.ts').then(({ openApiDocument }) => openApiDocument(version, addRoutes));
      return { ...(await made) };
    },
  });
}
