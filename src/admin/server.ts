// The admin API's HTTP server without its socket: fastify, the JSON schemas, the error answers, what holds for every
// route. Everything heavy is imported here, so whoever needs no admin API imports none of it.

import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Log } from '../../protocols/port.ts';
import { type Authorize, anonymous, letEveryoneIn } from './access.ts';
import { AdminError, errorBody, knownError, parserError } from './errors.ts';
import { type HttpCounters, watchRequests } from './http-counters.ts';
import { compileWithZod, type HttpServer } from './http-server.ts';
import type { LazyMetrics } from './lazy-metrics.ts';
import type { Operations } from './operations.ts';
import { configRoutes } from './routes/config.ts';
import { groupOffsetRoutes } from './routes/group-offsets.ts';
import { groupRoutes } from './routes/groups.ts';
import { healthRoutes } from './routes/health.ts';
import { infoRoutes } from './routes/info.ts';
import { loggerRoutes } from './routes/loggers.ts';
import { mappingRoutes } from './routes/mappings.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { mqttClientRoutes } from './routes/mqtt-clients.ts';
import { mqttPublishRoutes } from './routes/mqtt-publish.ts';
import { mqttRetainedRoutes } from './routes/mqtt-retained.ts';
import { mqttSessionRoutes } from './routes/mqtt-sessions.ts';
import { mqttSubscriptionRoutes } from './routes/mqtt-subscriptions.ts';
import { openApiRoute } from './routes/openapi.ts';
import { produceRoutes } from './routes/produce.ts';
import { recordRoute } from './routes/record.ts';
import { recordRoutes } from './routes/records.ts';
import { tailRoute } from './routes/tail.ts';
import { topicOffsetRoutes } from './routes/topic-offsets.ts';
import { topicPartitionRoutes } from './routes/topic-partitions.ts';
import { topicRoutes } from './routes/topics.ts';
import { transactionRoutes } from './routes/transactions.ts';
import type { HubSlots } from './slots.ts';
import type { AdminTarget } from './target.ts';

export interface HttpServerOptions {
  readonly target: AdminTarget;
  readonly version: string;
  readonly listener: string;
  /** Whether requests may ask for it by this Host. */
  readonly isOwnHost: (header: string | undefined) => boolean;
  readonly log: Log;
  readonly metrics: LazyMetrics;
  readonly counters: HttpCounters;
  readonly slots: HubSlots;
  readonly authorize?: Authorize;
  readonly operations?: Operations;
}

/** Of routes that say nothing else; what a client sends with a GET is bounded all the same. */
const BODY_BYTES_MAX = 64 * 1024;
/** Request line and headers together; the longest group id that Kafka allows fits, percent-encoded or not. */
const HEADER_BYTES_MAX = 128 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 75_000;

export async function buildHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = fastify({
    ...compileWithZod,
    logger: false as const,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    http: { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: REQUEST_TIMEOUT_MS },
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => answerError(options.log, error, request, reply),
    clientErrorHandler: (error, socket) => {
      if (!socket.writable) return;
      const refusal = parserError(error.code);
      const body = JSON.stringify(errorBody(refusal));
      const head = `HTTP/1.1 ${refusal.status} ${refusal.code}\r\nContent-Type: application/json; charset=utf-8\r\n`;
      socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    },
  }).withTypeProvider<ZodTypeProvider>();

  server.setErrorHandler((error, request, reply) => answerError(options.log, error, request, reply));
  guardEveryRequest(server, options);
  takeBodies(server);
  watchRequests(server, options.counters);
  const methodsByUrl = requireRoles(server);
  addRoutes(server, options);
  refuseOtherMethods(server, methodsByUrl);
  server.setNotFoundHandler({ preHandler: [] }, (request) => {
    const hint = 'the routes are in /api/v1/openapi.json';
    throw new AdminError('not_found', `there is nothing at ${pathOf(request)}`, { hint });
  });
  await server.ready();
  return server;
}

function addRoutes(server: HttpServer, options: HttpServerOptions): void {
  const { target, version, slots, operations = {} } = options;
  healthRoutes(server, target);
  infoRoutes(server, target, version);
  metricsRoutes(server, target, options.metrics);
  configRoutes(server, operations);
  loggerRoutes(server, operations);
  topicRoutes(server, target);
  topicOffsetRoutes(server, target);
  topicPartitionRoutes(server, target);
  recordRoutes(server, target, slots);
  produceRoutes(server, target, slots);
  recordRoute(server, target, slots);
  tailRoute(server, target, slots);
  groupRoutes(server, target);
  groupOffsetRoutes(server, target);
  transactionRoutes(server, target);
  mqttClientRoutes(server, target);
  mqttSessionRoutes(server, target);
  mqttSubscriptionRoutes(server, target);
  mqttRetainedRoutes(server, target);
  mqttPublishRoutes(server, target);
  mappingRoutes(server, target);
  openApiRoute(server, version, (second) => addRoutes(second, options));
}

function guardEveryRequest(server: HttpServer, options: HttpServerOptions): void {
  const { listener, isOwnHost, authorize = letEveryoneIn } = options;
  // Declared before use so that all requests have one shape; the hook below sets it first thing.
  server.decorateRequest('principal');
  server.addHook('onRequest', async (request, reply) => {
    request.principal = anonymous(listener, request.ip);
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    refuseLargeBody(request, reply);
    if (!isOwnHost(request.headers.host)) throw misdirected(request, listener);
    refuseWebPages(request);
    authorize(request.principal, request.routeOptions.config.role ?? 'viewer');
  });
}

function misdirected({ headers }: FastifyRequest, listener: string): AdminError {
  return new AdminError('misdirected_request', `this is not ${String(headers.host).slice(0, 200)}`, {
    hint: `ask for 127.0.0.1 or localhost, or add the name to \`hosts\` of [[listener]] "${listener}"`,
  });
}

/**
 * A page from anywhere can send a request to this machine, and browsers say that it is one, and whether it is from
 * elsewhere (Fetch Metadata): it may change nothing, and one from elsewhere may not even keep the hub busy with reading.
 */
function refuseWebPages({ method, headers }: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && (origin !== undefined || site !== undefined)) {
    throw new AdminError('forbidden', 'web pages may not change anything', {
      hint: 'leave out the header Origin',
    });
  }
  const isFromElsewhere = site === 'cross-site' || site === 'same-site';
  // Whoever follows a link is shown what is behind it, and the page that had the link is not.
  if (isFromElsewhere && mode !== 'navigate') {
    throw new AdminError('forbidden', 'web pages of other sites may not read anything');
  }
}

/** Fastify reads no body of a GET, so its own limit does not see one. */
function refuseLargeBody(request: FastifyRequest, reply: FastifyReply): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  const isOpenEnded = encoding !== undefined;
  const isTooLarge = Number(length ?? 0) > (request.routeOptions.bodyLimit ?? BODY_BYTES_MAX);
  // What is not read must not be drained either: the connection ends with the answer.
  if (isOpenEnded || isTooLarge) reply.header('connection', 'close');
  if (isTooLarge) throw new AdminError('payload_too_large', 'the body is larger than this route takes');
}

/** JSON is parsed, but for routes that want its text; a line a record is for those alone. */
function takeBodies(server: HttpServer): void {
  const parseJson = server.getDefaultJsonParser('error', 'error');
  server.removeContentTypeParser(['application/json', 'text/plain']);
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (request.routeOptions.config.rawBody === true) done(null, body);
    else parseJson(request, body.toString('utf8'), done);
  });
  server.addContentTypeParser('application/x-ndjson', { parseAs: 'buffer' }, (request, body, done) => {
    if (request.routeOptions.config.rawBody === true) done(null, body);
    else done(new AdminError('unsupported_media_type', 'the body must be JSON'));
  });
}

/** @throws when a route is registered without a role: forgetting one must not open a door. */
function requireRoles(server: HttpServer): Map<string, Set<string>> {
  const methodsByUrl = new Map<string, Set<string>>();
  server.addHook('onRoute', (route) => {
    if (route.config?.role === undefined) throw new TypeError(`route ${route.url} names no role`);
    const methods = methodsByUrl.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) methods.add(method);
    methodsByUrl.set(route.url, methods);
  });
  return methodsByUrl;
}

/** 405 with the methods that there are (RFC 9110 §15.5.6), before a body is read. */
function refuseOtherMethods(
  server: HttpServer,
  methodsByUrl: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const [url, methods] of [...methodsByUrl]) {
    const allowed = [...methods].join(', ');
    server.route({
      url,
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
        (method) => !methods.has(method),
      ),
      config: { role: 'anyone' },
      schema: { hide: true },
      onRequest: async (request, reply) => {
        reply.header('allow', allowed).header('connection', 'close');
        throw new AdminError('method_not_allowed', `${request.method} is not for ${pathOf(request)}`, {
          hint: `it takes ${allowed}`,
        });
      },
      handler: () => undefined,
    });
  }
}

function answerError(log: Log, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = knownError(error);
  if (!known || known.code === 'storage') {
    log.error('admin-request-failed', { method: request.method, route: request.routeOptions?.url, error });
  }
  const answer = known ?? new AdminError('internal', 'the hub failed to answer; its log has the reason');
  if (answer.code === 'too_many_requests') reply.header('retry-after', '1');
  return reply
    .code(answer.status)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(errorBody(answer));
}

function pathOf(request: { readonly url: string }): string {
  const path = request.url.split('?', 1)[0]!;
  return path.length > 200 ? `${path.slice(0, 197)}...` : path;
}
