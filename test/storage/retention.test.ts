// How old segments are, and which go: against examples, and against a model under a clock that jumps both ways.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ageMsOf,
  isAppendedInFuture,
  isExpired,
  rollAfterMs,
  surplusCount,
} from '../../storage/retention.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  TestClock,
} from '../helpers/store-fixture.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_764_000_000_000;

const now = { wallMs: NOW_MS, monotonicMs: 50 * HOUR_MS };
const ofEarlierProcess = (maxTimestampMs: number, appendedAtMs: number) => ({
  maxTimestampMs,
  appendedAtMs,
  appendedAtMonotonicMs: undefined,
});

describe('the age of a segment', () => {
  it.each([
    [
      'of records with the time of their append is the time since',
      NOW_MS - HOUR_MS,
      NOW_MS - HOUR_MS,
      HOUR_MS,
    ],
    ['of back-dated records is what they say', NOW_MS - 9 * HOUR_MS, NOW_MS - HOUR_MS, 9 * HOUR_MS],
    [
      'of records from the future is the time since their append',
      NOW_MS + 9 * HOUR_MS,
      NOW_MS - HOUR_MS,
      HOUR_MS,
    ],
    ['of records without a time is the time since their append', -1, NOW_MS - HOUR_MS, HOUR_MS],
    ['is negative when only the future knows it', NOW_MS + 2 * HOUR_MS, NOW_MS + HOUR_MS, -HOUR_MS],
  ])('%s', (_what, maxTimestampMs, appendedAtMs, ageMs) => {
    expect(ageMsOf(ofEarlierProcess(maxTimestampMs, appendedAtMs), now)).toBe(ageMs);
  });

  it('is measured by the monotonic clock where this process has appended', () => {
    const segment = {
      maxTimestampMs: -1,
      appendedAtMs: 5,
      appendedAtMonotonicMs: now.monotonicMs - 3 * HOUR_MS,
    };
    expect(ageMsOf(segment, now)).toBe(3 * HOUR_MS);
    expect(isAppendedInFuture({ ...segment, appendedAtMs: NOW_MS + 1 }, now)).toBe(false);
  });

  it('is told when the clock of the append was ahead', () => {
    expect(isAppendedInFuture(ofEarlierProcess(0, NOW_MS + 1), now)).toBe(true);
    expect(isAppendedInFuture(ofEarlierProcess(0, NOW_MS), now)).toBe(false);
  });
});

describe('what goes', () => {
  it('is older than retention.ms, not as old', () => {
    const segment = ofEarlierProcess(-1, NOW_MS - HOUR_MS);
    expect(isExpired(segment, now, logConfig({ retentionMs: HOUR_MS }))).toBe(false);
    expect(isExpired(segment, now, logConfig({ retentionMs: HOUR_MS - 1 }))).toBe(true);
    expect(isExpired(segment, now, logConfig({}))).toBe(false);
  });

  it.each([
    [[10, 10, 10], 35, 15, 2],
    [[10, 10, 10], 35, 16, 1],
    [[10, 10, 10], 35, 25, 1],
    [[10, 10, 10], 35, 26, 0],
    [[10, 10, 10], 35, 0, 3],
    [[10, 10, 10], 35, Number.POSITIVE_INFINITY, 0],
    [[], 35, 0, 0],
  ])(
    'of closed segments %j of a log of %i bytes with retention.bytes %d: the oldest %i',
    (sizes, bytes, retentionBytes, count) => {
      expect(surplusCount(sizes, bytes, logConfig({ retentionBytes }))).toBe(count);
    },
  );

  it('a segment of a compacted topic closes before compaction has waited too long for it', () => {
    const config = logConfig({ segmentMs: 10 * HOUR_MS, maxCompactionLagMs: HOUR_MS });
    expect(rollAfterMs(config)).toBe(10 * HOUR_MS);
    expect(rollAfterMs({ ...config, compacts: true })).toBe(HOUR_MS);
  });
});

/** One closed or active segment of the model. */
interface ModelSegment {
  bytes: number;
  endOffset: number;
  maxTimestampMs: number;
  readonly firstAppendMs: number;
  appendedAtMs: number;
  active: boolean;
}

type Step =
  | { readonly kind: 'append'; readonly timestamp: 'now' | 'none' | number; readonly valueBytes: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'jump'; readonly skewMs: number }
  | {
      readonly kind: 'config';
      readonly retentionMs: number;
      readonly retentionBytes: number;
      readonly deletes: boolean;
    }
  | { readonly kind: 'maintain' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      timestamp: fc.oneof(
        fc.constant('now' as const),
        fc.constant('none' as const),
        fc.integer({ min: -20 * HOUR_MS, max: 20 * HOUR_MS }),
      ),
      valueBytes: fc.integer({ min: 0, max: 300 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.integer({ min: 1, max: 4 * HOUR_MS }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('jump' as const),
      skewMs: fc.constantFrom(0, -100 * HOUR_MS, -2 * HOUR_MS, 2 * HOUR_MS, 100 * HOUR_MS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('config' as const),
      retentionMs: fc.constantFrom(HOUR_MS, 5 * HOUR_MS, 30 * HOUR_MS, Number.POSITIVE_INFINITY),
      retentionBytes: fc.constantFrom(0, 1000, 3000, Number.POSITIVE_INFINITY),
      deletes: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('maintain' as const) }) },
);

const SEGMENT_BYTES = 800;
const SEGMENT_MS = 3 * HOUR_MS;

describe('retention against a clock', () => {
  it('keeps and lets go of what the model does', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const files = new FaultyFileSystem(['/']);
        const clock = new TestClock();
        const { store } = await openStore({
          directory: '/data',
          fileSystem: files.process(),
          index: new MemoryIndex(),
          clock,
          checkIntervalMs: 0,
        });
        let config = logConfig({
          segmentBytes: SEGMENT_BYTES,
          segmentMs: SEGMENT_MS,
          retentionMs: 5 * HOUR_MS,
        });
        const log = await store.openPartition({ ...PARTITION, config });
        log.onCommitted = (offset) => log.setHighWatermark(offset);
        let model: ModelSegment[] = [];
        let startOffset = 0;

        for (const each of steps) {
          if (each.kind === 'advance') clock.advance(each.ms);
          else if (each.kind === 'jump') clock.skewMs = each.skewMs;
          else if (each.kind === 'config') {
            const { retentionMs, retentionBytes, deletes } = each;
            config = { ...config, retentionMs, retentionBytes, deletes };
            log.setConfig(config);
          } else if (each.kind === 'append') {
            const timestampMs =
              each.timestamp === 'now'
                ? clock.now()
                : each.timestamp === 'none'
                  ? -1
                  : clock.now() + each.timestamp;
            const before = log.byteSize;
            await append(log, [record('v'.repeat(each.valueBytes), timestampMs)]).flushed;
            const bytes = log.byteSize - before;
            const active = model.find((segment) => segment.active);
            const isFull =
              active !== undefined &&
              (active.bytes + bytes > SEGMENT_BYTES ||
                clock.monotonic() - active.firstAppendMs >= SEGMENT_MS);
            if (active !== undefined && isFull) active.active = false;
            const segment = isFull || active === undefined ? undefined : active;
            if (segment === undefined) {
              model.push({
                bytes,
                endOffset: log.logEndOffset,
                maxTimestampMs: timestampMs,
                firstAppendMs: clock.monotonic(),
                appendedAtMs: clock.monotonic(),
                active: true,
              });
            } else {
              segment.bytes += bytes;
              segment.endOffset = log.logEndOffset;
              segment.maxTimestampMs = Math.max(segment.maxTimestampMs, timestampMs);
              segment.appendedAtMs = clock.monotonic();
            }
          } else {
            await store.maintain();
            for (const segment of model) {
              const isQuiet = config.deletes && clock.monotonic() - segment.appendedAtMs > config.retentionMs;
              if (isQuiet || clock.monotonic() - segment.firstAppendMs >= SEGMENT_MS) segment.active = false;
            }
            const isOld = (segment: ModelSegment): boolean =>
              clock.monotonic() - segment.appendedAtMs > config.retentionMs ||
              (segment.maxTimestampMs >= 0 && clock.now() - segment.maxTimestampMs > config.retentionMs);
            const bytesFrom = (index: number): number =>
              model.slice(index).reduce((sum, segment) => sum + segment.bytes, 0);
            let gone = 0;
            while (
              gone < model.length &&
              !model[gone]!.active &&
              bytesFrom(gone + 1) >= config.retentionBytes
            ) {
              gone++;
            }
            // What is left begins with a segment that may be too old, whatever went before it for the size.
            while (gone < model.length && !model[gone]!.active && isOld(model[gone]!)) gone++;
            if (!config.deletes) gone = 0;
            if (gone > 0) startOffset = model[gone - 1]!.endOffset;
            model = model.slice(gone);
          }
          expect(log.logStartOffset).toBe(startOffset);
          expect(log.segmentCount).toBe(model.length);
          expect(log.byteSize).toBe(model.reduce((sum, segment) => sum + segment.bytes, 0));
        }
        const offsets = (await readAll(log)).map(({ offset }) => offset);
        expect(offsets).toEqual(
          Array.from({ length: log.logEndOffset - startOffset }, (_, index) => startOffset + index),
        );
        expect(files.paths().filter((path) => path.endsWith('.log')).length).toBe(model.length);
        await store.close();
      }),
      { numRuns: 60 },
    );
  });
});
