// The type of the admin API's server, which routes are added to: fastify with zod's schemas, and nothing else that
// could check them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyServerOptions, RawServerDefault } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';

export type HttpServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;

/** Given when the server is made, so that fastify does not import its own compilers: a fifth of the start-up. */
export const compileWithZod = {
  schemaController: {
    // A cast: fastify's type knows the compilers of its own choice only, which take JSON Schema.
    compilersFactory: {
      buildValidator: () => validatorCompiler,
      buildSerializer: () => serializerCompiler,
    } as unknown as NonNullable<SchemaController['compilersFactory']>,
  },
};
