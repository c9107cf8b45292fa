// What the OpenAPI document says of a route's answers: each status with what it means, and for a refusal which codes come
// with it. A route names those that are its own (`config.refuses`); what any route like it may refuse is added here.
import * as z from 'zod';
import { ERROR_STATUS, type ErrorCode } from './errors.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Of fastify's description of a route what is looked at. */
export interface DocumentedRoute {
  readonly method: string | readonly string[];
  readonly url: string;
  readonly config?: { readonly role?: string; readonly refuses?: readonly ErrorCode[] };
  readonly schema?: {
    readonly [part in 'params' | 'querystring' | 'headers' | 'body' | 'response']?: unknown;
  };
}

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'something in the request is wrong; `field` names it',
  forbidden: 'the caller may not, or is a web page, which may change nothing',
  internal_topic: "the topic is the hub's own",
  not_found: 'what the path or the request names is not there; `field` says which of them',
  method_not_allowed: 'the header Allow names the methods that there are',
  request_timeout: 'the request did not arrive in time',
  conflict: 'the state does not allow it now; the message says why',
  declared: 'the configuration file declares it, and `hint` names the line to change',
  exists: 'it is there already',
  group_not_empty: 'the group has members: stop its consumers first',
  group_subscribed: 'a member is subscribed to the topic',
  limit_reached: 'a limit of the hub is reached; the message names it',
  precondition_failed: 'it was changed since: its ETag is not that of If-Match',
  payload_too_large: 'the body, or something in it, is larger than is taken',
  uri_too_long: 'a part of the path is too long',
  unsupported_media_type: 'the body is of another type than the route takes',
  misdirected_request:
    'the header Host names another server, as when a web site has made its name stand for this machine',
  too_many_requests: 'as many as can be served at once are; try again after Retry-After seconds',
  headers_too_large: 'request line and headers are too large',
  internal: "a fault of the hub's; its log has the reason",
  storage: "the disk does not give or take what it should; the hub's log has the reason",
  not_ready: 'not now; try again',
  disk_full: 'the disk is full, down to what is kept in reserve',
};

/**
 * The responses of a route as the document has them.
 * @param shown the schemas of its answers, as JSON Schema
 */
export function answersOf(
  shown: Readonly<Record<string, JsonSchema>>,
  route: DocumentedRoute,
): Record<string, JsonSchema> {
  const answers: Record<string, JsonSchema> = {};
  for (const [status, schema] of Object.entries(shown)) {
    if (!/^\d{3}$/.test(status)) continue;
    const isWhole = 'content' in schema || schema['type'] === 'null';
    answers[status] = isWhole ? schema : { description: meaningOf(route, status), ...json(schema) };
  }
  for (const [status, codes] of refusalsOf(route)) {
    const body = shown[status < 500 ? '4xx' : '5xx'];
    if (body === undefined) throw new TypeError(`${route.url} has no schema for what it refuses`);
    const description = codes.map((code) => `\`${code}\`: ${MEANINGS[code]}.`).join('\n\n');
    answers[status] ??= { description, ...json(body), ...(status === 429 ? RETRY_AFTER : {}) };
  }
  return answers;
}

const RETRY_AFTER = { headers: { 'Retry-After': { type: 'integer', description: 'Seconds.' } } };

function json(schema: JsonSchema): JsonSchema {
  return { content: { 'application/json': { schema } } };
}

/** What the shape of the answer says of itself. @throws when it says nothing: an answer without a word is of no use. */
function meaningOf({ url, schema }: DocumentedRoute, status: string): string {
  const shapes = schema?.['response'] as Readonly<Record<string, z.ZodType>>; // answers that are JSON are told so
  const description = z.globalRegistry.get(shapes[status]!)?.description; // it came from there
  if (description === undefined) throw new TypeError(`${url} does not say what its ${status} is`);
  return description;
}

function refusalsOf(route: DocumentedRoute): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...commonRefusals(route), ...(route.config?.refuses ?? [])])) {
    const status = ERROR_STATUS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

function commonRefusals({ method, schema = {}, config }: DocumentedRoute): ErrorCode[] {
  const mayHaveBody = ['POST', 'PUT', 'PATCH'].includes(String(method));
  const takes = mayHaveBody || ['params', 'querystring', 'headers'].some((part) => part in schema);
  const ofBody: readonly ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];
  return [
    ...(takes ? (['invalid_request'] as const) : []),
    ...(config?.role === 'anyone' ? [] : (['forbidden'] as const)),
    ...(mayHaveBody ? ofBody : []),
    'internal',
  ];
}
