// How clients of each age are told that another producer has their transactional id (KIP-588).

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';

/** @param knownSince first version of the API whose clients know PRODUCER_FENCED (90); others are told 47. */
export function clientFenceCode(code: ErrorCode, version: number, knownSince: number): ErrorCode {
  return code === ERROR_CODES.PRODUCER_FENCED && version < knownSince
    ? ERROR_CODES.INVALID_PRODUCER_EPOCH
    : code;
}
