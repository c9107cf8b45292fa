// The forms of `at=`, right and wrong.
import { describe, expect, it } from 'vitest';
import { parseTimeQuery } from '../../../src/admin/time-query.ts';

const NOW_MS = Date.parse('2026-09-02T00:00:00Z');

describe('a time', () => {
  it.each([
    ['-1h', NOW_MS - 3_600_000],
    ['-1h30m', NOW_MS - 5_400_000],
    ['-250ms', NOW_MS - 250],
    ['-2w', NOW_MS - 14 * 86_400_000],
    ['1764000000000', 1_764_000_000_000],
    ['100000000000', 100_000_000_000],
    ['2026-09-01T00:00:00Z', NOW_MS - 86_400_000],
    ['2026-09-01t00:00:00z', NOW_MS - 86_400_000],
    ['2026-09-01 00:00:00Z', NOW_MS - 86_400_000],
    ['2026-09-01T02:00:00+02:00', NOW_MS - 86_400_000],
    ['2026-09-01T02:00:00 02:00', NOW_MS - 86_400_000],
    ['2026-08-31T20:30:00-03:30', NOW_MS - 86_400_000],
    ['2026-09-01T00:00:00.5Z', NOW_MS - 86_400_000 + 500],
    ['2026-09-01T00:00:00.123Z', NOW_MS - 86_400_000 + 123],
    ['2026-09-01T00:00:00.123000Z', NOW_MS - 86_400_000 + 123],
    ['2026-09-01T00:00:00.123001Z', NOW_MS - 86_400_000 + 124],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
    ['1970-01-01T00:00:00Z', 0],
  ])('%s', (query, timestampMs) => {
    expect(parseTimeQuery(query, NOW_MS)).toEqual({ kind: 'time', query, timestampMs });
  });
});

it.each(['earliest', 'latest', 'max-timestamp'])('%s', (query) => {
  expect(parseTimeQuery(query, NOW_MS)).toEqual({ kind: query, query });
});

describe('what is no time is told with what to write', () => {
  it.each([
    [
      '1764000000',
      '1764000000 is not milliseconds since the epoch',
      'if these are seconds, in milliseconds that is 1764000000000',
    ],
    [
      '99999999999',
      '99999999999 is not milliseconds since the epoch',
      'if these are seconds, in milliseconds that is 99999999999000',
    ],
    ['0', '0 is not milliseconds since the epoch', 'for the first record write earliest'],
    ['-1', '-1 is no time before now', 'write a unit, such as -90s, -15m, -1h or -7d'],
    ['-1y', '-1y is no time before now', 'write a unit, such as -90s, -15m, -1h or -7d'],
    ['-100000d', '-100000d is before 1970', 'for the first record write earliest'],
    ['1969-12-31T23:59:59Z', '1969-12-31T23:59:59Z is before 1970', 'for the first record write earliest'],
    ['2026-09-01', '"2026-09-01" is no time', 'write the time too: 2026-09-01T00:00:00Z'],
    [
      '2026-09-01T00:00:00',
      '"2026-09-01T00:00:00" does not say its time zone',
      'write 2026-09-01T00:00:00Z or an offset such as +02:00',
    ],
  ])('%s', (query, message, hint) => {
    expect(parseTimeQuery(query, NOW_MS)).toEqual({ message, hint });
  });

  it.each([
    '',
    ' ',
    'Earliest',
    'now',
    '1h',
    '+1h',
    '1e12',
    '1764000000000.5',
    '99999999999999999999',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00Z',
    '２０２６-01-01T00:00:00Z',
  ])('"%s"', (query) => {
    expect(parseTimeQuery(query, NOW_MS)).toHaveProperty('message');
  });
});
