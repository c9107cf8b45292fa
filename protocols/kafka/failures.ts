// Errors that nobody foresaw: they become the generic code, and are logged here, once.

import type { Hub } from '../port.ts';
import { ERROR_CODES, type ErrorCode, RECORDS_ERROR_CODES } from './error-codes.ts';
import { RecordsError } from './records/errors.ts';

export function unexpected(hub: Hub, what: string, error: unknown): ErrorCode {
  hub.log.error('kafka-request-failed', { what, error });
  return ERROR_CODES.UNKNOWN_SERVER_ERROR;
}

/** Of an error thrown while a batch was read: the client's fault if it is a RecordsError. */
export function recordsCode(hub: Hub, what: string, error: unknown): ErrorCode {
  return error instanceof RecordsError ? RECORDS_ERROR_CODES[error.code] : unexpected(hub, what, error);
}
