// The OpenAPI document, made from the routes' schemas by a second server that never listens. It is imported and made
// when first asked for: the plugin costs a fifth of the whole start-up, and few ask.
import swagger from '@fastify/swagger';
import fastify from 'fastify';
import { jsonSchemaTransform, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { compileWithZod, type HttpServer } from './http-server.ts';

export type OpenApiDocument = { readonly openapi: string };

/** @param addRoutes the same that the listening server has. */
export async function openApiDocument(
  version: string,
  addRoutes: (server: HttpServer) => void,
): Promise<OpenApiDocument> {
  const server = fastify(compileWithZod).withTypeProvider<ZodTypeProvider>();
  await server.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Polylog admin API', version } },
    transform: jsonSchemaTransform,
  });
  await server.register(async (routes: HttpServer) => addRoutes(routes));
  await server.ready();
  // A cast: the plugin's type is a union over all versions of OpenAPI, and 3.1.0 was asked for above.
  const document = server.swagger() as OpenApiDocument;
  await server.close();
  return document;
}
