// The one table from what went wrong to what an HTTP client is told: status, code, message, field, hint. Codes are
// part of the API; messages are for people.
import type { FastifyError } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';

export const ERROR_STATUS = {
  invalid_request: 400,
  forbidden: 403,
  internal_topic: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  declared: 409,
  exists: 409,
  group_not_empty: 409,
  group_subscribed: 409,
  limit_reached: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  misdirected_request: 421,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  storage: 500,
  not_ready: 503,
  disk_full: 507,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface ErrorDetails {
  /** The parameter that is wrong. */
  readonly field?: string;
  /** What to do about it. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** What was done all the same, in the fields of the route's own answer. */
  readonly partial?: Readonly<Record<string, unknown>>;
}

/** Thrown by a route, answered as it is. */
export class AdminError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly hint: string | undefined;
  readonly partial: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'AdminError';
    this.code = code;
    this.field = details.field;
    this.hint = details.hint;
    this.partial = details.partial;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

export interface ErrorBody {
  readonly error: { code: ErrorCode; message: string; field?: string; hint?: string };
}

export function errorBody({ code, message, field, hint, partial }: AdminError): ErrorBody {
  return {
    ...partial,
    error: {
      code,
      message,
      ...(field === undefined ? {} : { field }),
      ...(hint === undefined ? {} : { hint }),
    },
  };
}

/** Anything that reached the error handler. Undefined = a fault of ours: generic to the client, logged by the caller. */
export function knownError(error: unknown): AdminError | undefined {
  if (error instanceof AdminError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return fromValidation(error);
  return error instanceof Error ? fromFastify(error as FastifyError) : undefined;
}

function fromValidation(error: FastifyError): AdminError {
  const first = error.validation?.[0];
  const whole = error.validationContext === 'body' ? 'body' : undefined;
  const unknown: unknown = first?.params['keys'];
  if (Array.isArray(unknown)) {
    const hint = 'the parameters of each route are in /api/v1/openapi.json';
    return new AdminError('invalid_request', `unknown parameter ${unknown.join(', ')}`, {
      field: String(unknown[0]),
      hint,
    });
  }
  const field = first?.instancePath.replace(/^\//, '').replaceAll('/', '.') || whole;
  const message = first?.message ?? 'the request is not valid';
  return new AdminError('invalid_request', field ? `${field}: ${message}` : message, field ? { field } : {});
}

/** Fastify's own refusals that a client can cause. */
function fromFastify(error: FastifyError): AdminError | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AdminError('payload_too_large', 'the body is larger than this route takes');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AdminError('unsupported_media_type', 'the body must be JSON', {
        hint: 'Content-Type: application/json',
      });
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new AdminError('invalid_request', error.message, { field: 'body' });
    case 'FST_ERR_BAD_URL':
      return new AdminError('invalid_request', 'the path is not valid percent-encoding', { field: 'path' });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AdminError('uri_too_long', 'a part of the path is too long', { field: 'path' });
    default:
      return undefined;
  }
}

/** What Node's HTTP parser refuses before there is a request. */
export function parserError(code: string | undefined): AdminError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new AdminError('headers_too_large', 'the request line and headers are too large');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AdminError('request_timeout', 'the request did not arrive in time');
  return new AdminError('invalid_request', 'this is not an HTTP request');
}
