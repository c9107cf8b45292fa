// The type of the admin API's server, which routes are added to: fastify with zod's schemas, and nothing else that
// could check them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyBaseLogger, FastifyInstance, FastifyServerOptions, RawServerDefault } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';

export type HttpServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** The bytes of a body are for its handler to look at: its schema is for the document alone. */
const compileValidator: typeof validatorCompiler = (route) => {
  const check = validatorCompiler(route);
  return (data) => (Buffer.isBuffer(data) ? { value: data } : check(data));
};

interface StreamReply {
  type(contentType: string): unknown;
  send(payload: never): unknown;
}

/** Answers with bytes or text piece by piece; the schema of such an answer is that of one line, or says nothing. */
export function sendStream<Reply extends StreamReply>(
  reply: Reply,
  type: string,
  body: Readable | Buffer,
): Reply {
  reply.type(type);
  // A cast: the type that fastify has from the schema is that of what is parsed.
  reply.send(body as never);
  return reply;
}

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;

/** Given when the server is made, so that fastify does not import its own compilers: a fifth of the start-up. */
export const compileWithZod = {
  schemaController: {
    // A cast: fastify's type knows the compilers of its own choice only, which take JSON Schema.
    compilersFactory: {
      buildValidator: () => compileValidator,
      buildSerializer: () => serializerCompiler,
    } as unknown as NonNullable<SchemaController['compilersFactory']>,
  },
};
