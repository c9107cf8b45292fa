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
import { RouteMethods } from './route-methods.ts';
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
  const routeMethods = new RouteMethods();
  guardEveryRequest(server, options, routeMethods);
  takeBodies(server);
  watchRequests(server, options.counters);
  watchRoutes(server, routeMethods);
  addRoutes(server, options);
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

function guardEveryRequest(server: HttpServer, options: HttpServerOptions, routeMethods: RouteMethods): void {
  const { listener, isOwnHost, authorize = letEveryoneIn } = options;
  // Declared before use so that all requests have one shape; the hook below sets it first thing.
  server.decorateRequest('principal');
  server.addHook('onRequest', async (request, reply) => {
    request.principal = anonymous(listener, request.ip);
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    refuseLargeBody(request, reply);
    refuseTwoHosts(request, reply);
    if (!isOwnHost(request.headers.host)) throw misdirected(request, listener);
    refuseWebPages(request);
    authorize(request.principal, request.routeOptions.config.role ?? 'viewer');
    if (request.is404) refuseOtherMethod(request, reply, routeMethods);
  });
}

/** Whoever passed the request on may have looked at the other one (RFC 9112 §3.2); Node takes the first. */
function refuseTwoHosts({ raw: { rawHeaders } }: FastifyRequest, reply: FastifyReply): void {
  const hosts = rawHeaders.filter((each, at) => at % 2 === 0 && each.toLowerCase() === 'host');
  if (hosts.length < 2) return;
  reply.header('connection', 'close');
  throw new AdminError('invalid_request', 'there is more than one header Host', { field: 'host' });
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
function watchRoutes(server: HttpServer, routeMethods: RouteMethods): void {
  server.addHook('onRoute', (route) => {
    if (route.config?.role === undefined) throw new TypeError(`route ${route.url} names no role`);
    routeMethods.add(route.url, [route.method].flat());
  });
}

/** 405 with the methods that there are, before a body is read; where there is no such path, nothing. */
function refuseOtherMethod(request: FastifyRequest, reply: FastifyReply, routeMethods: RouteMethods): void {
  const path = pathOf(request);
  const methods = routeMethods.of(request.url.split('?', 1)[0]!); // before the first there is one
  if (methods.length === 0) return;
  const allowed = methods.join(', ');
  reply.header('allow', allowed).header('connection', 'close');
  throw new AdminError('method_not_allowed', `${request.method} is not for ${path}`, {
    hint: `it takes ${allowed}`,
  });
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
