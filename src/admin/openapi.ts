// The OpenAPI document, made from the routes' schemas by a second server that never listens. It is imported and made
// when first asked for: the plugin costs a fifth of the whole start-up, and few ask.
import swagger from '@fastify/swagger';
import fastify from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { compileWithZod, type HttpServer } from './http-server.ts';
import { answersOf, type DocumentedRoute, type JsonSchema } from './openapi-answers.ts';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly servers?: readonly { readonly url: string; readonly description: string }[];
  readonly paths: JsonSchema;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const DESCRIPTION = `What operators, supervisors and scripts ask of a running hub.

Answers are JSON unless they say otherwise. Offsets and byte counts are exact numbers up to 2^53 − 1; times are milliseconds
since the epoch, in members named \`…Ms\`. Lists come page by page: \`next\` of a page is the \`cursor\` of the one behind it, and
null on the last.

What is refused is answered by \`Error\`. Besides what each operation says, any may answer 405 (\`method_not_allowed\`, with the header
Allow), 408 (\`request_timeout\`), 413 (\`payload_too_large\`), 414 (\`uri_too_long\`) and 431 (\`headers_too_large\`). An unknown parameter is an error.`;

const TAGS = [
  { name: 'health', description: 'Whether the hub lives and serves.' },
  { name: 'metrics', description: 'Numbers for Prometheus.' },
  { name: 'hub', description: 'What runs here.' },
  { name: 'config', description: 'The configuration in effect, reading it again, and how much is logged.' },
  { name: 'topics', description: 'Topics, their partitions, and where the logs stand.' },
  { name: 'records', description: 'Records read, followed and appended.' },
  { name: 'groups', description: 'Consumer groups, and how far they are.' },
  { name: 'transactions', description: 'Transactional ids, and what is open.' },
  { name: 'mqtt', description: 'MQTT clients, sessions, subscriptions, retained messages; publishing.' },
  { name: 'mappings', description: 'Rules between MQTT and Kafka topics.' },
];

/** @param addRoutes the same that the listening server has. */
export async function openApiDocument(
  version: string,
  addRoutes: (server: HttpServer) => void,
): Promise<OpenApiDocument> {
  const server = fastify(compileWithZod).withTypeProvider<ZodTypeProvider>();
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Polylog admin API',
        version,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      tags: TAGS,
    },
    transform: (input) => {
      const { schema, url } = jsonSchemaTransform(input);
      const { response } = schema as { readonly response?: Readonly<Record<string, JsonSchema>> }; // of a shown route
      if (response === undefined) return { schema, url };
      // A cast: fastify's description of a route says less of its schema than is looked at here.
      return { schema: { ...schema, response: answersOf(response, input.route as DocumentedRoute) }, url };
    },
    transformObject: jsonSchemaTransformObject,
  });
  await server.register(async (routes: HttpServer) => addRoutes(routes));
  await server.ready();
  // A cast: the plugin's type is a union over all versions of OpenAPI, and 3.1.0 was asked for above.
  const document = server.swagger() as unknown as OpenApiDocument;
  await server.close();
  const servers = [{ url: '/', description: 'The hub that this document comes from.' }];
  return { ...withUsedSchemas(document), servers };
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

/**
 * Only schemas that something refers to, by name. Each shape is there as what is sent and as what is answered
 * (`…Input`); the name of one that is sent alone is the shape's own.
 */
function withUsedSchemas(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const used = new Set<string>();
  const visit = (text: string): void => {
    for (const [, name = ''] of text.matchAll(REFERENCE)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(JSON.stringify(schemas[name]));
    }
  };
  visit(JSON.stringify(document.paths));
  const nameOf = (name: string): string => {
    const own = name.replace(/Input$/, '');
    return used.has(own) ? name : own;
  };
  const kept = [...used].sort().map((name) => [nameOf(name), schemas[name]]);
  const renamed = JSON.stringify({ ...document, components: { schemas: Object.fromEntries(kept) } }).replace(
    REFERENCE,
    (_all, name: string) => `"#/components/schemas/${nameOf(name)}"`,
  );
  return JSON.parse(renamed) as OpenApiDocument; // the same with other names
}
