// The table of error codes is whole and without doubles.

import { expect, it } from 'vitest';
import { ERROR_CODES, errorName, RETRIABLE_ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';

it('holds every code of Kafka 4.4 once', () => {
  const codes = Object.values(ERROR_CODES).sort((left, right) => left - right);
  expect(codes).toEqual(Array.from({ length: 138 }, (_, index) => index - 1));
});

it('names codes, known and unknown', () => {
  expect(errorName(3)).toBe('UNKNOWN_TOPIC_OR_PARTITION');
  expect(errorName(9999)).toBe('ERROR_9999');
});

it('knows what clients try again', () => {
  expect(RETRIABLE_ERROR_CODES.has(ERROR_CODES.CORRUPT_MESSAGE)).toBe(true);
  expect(RETRIABLE_ERROR_CODES.has(ERROR_CODES.INVALID_RECORD)).toBe(false);
});
