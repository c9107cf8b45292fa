// Where a read begins and ends, in words.
import { describe, expect, it } from 'vitest';
import { offsetOfPlace, parseRecordPlace } from '../../../src/admin/record-place.ts';
import { fakePartition, NOW_MS } from './fake-target.ts';

describe('a place', () => {
  it.each([
    ['start', { kind: 'start' }],
    ['earliest', { kind: 'start' }],
    ['end', { kind: 'end' }],
    ['latest', { kind: 'end' }],
    ['0', { kind: 'offset', count: 0 }],
    ['1764000000000', { kind: 'offset', count: 1_764_000_000_000 }],
    ['-10', { kind: 'before-end', count: 10 }],
    ['-0', { kind: 'before-end', count: 0 }],
    ['@1764000000000', { kind: 'time', timestampMs: NOW_MS }],
    ['-1h', { kind: 'time', timestampMs: NOW_MS - 3_600_000 }],
    ['@-1h', { kind: 'time', timestampMs: NOW_MS - 3_600_000 }],
    ['@2026-01-01', { kind: 'time', timestampMs: Date.UTC(2026, 0, 1) }],
    ['2026-01-01T00:00:00+02:00', { kind: 'time', timestampMs: Date.UTC(2025, 11, 31, 22) }],
  ])('%s', (text, place) => {
    expect(parseRecordPlace(text, NOW_MS)).toEqual(place);
  });

  it.each(['', 'soon', '@', '@earliest', '@1764000000', '1.5', '9007199254740993', '@2026-13-01', '--1'])(
    '"%s" is none',
    (text) => {
      expect(parseRecordPlace(text, NOW_MS)).toMatchObject({
        message: expect.any(String),
        hint: expect.any(String),
      });
    },
  );
});

describe('its offset', () => {
  const partition = fakePartition('t', 0, { logStart: 100, timesMs: [10, 20, 30] });
  it.each([
    ['start', 100],
    ['end', 103],
    ['0', 100],
    ['101', 101],
    ['500', 103],
    ['-1', 102],
    ['-50', 100],
    ['-0', 103],
    ['1970-01-01T00:00:00.015Z', 101],
    ['1970-01-01T00:00:01Z', 103],
  ])('%s → %d', async (text, offset) => {
    const place = parseRecordPlace(text, NOW_MS);
    if ('message' in place) throw new Error(place.message);
    expect(await offsetOfPlace(partition, place, 103, 'highWatermark')).toBe(offset);
  });
});
