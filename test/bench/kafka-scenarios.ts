// What `npm run bench -- kafka` measures: the loads and the bars against Apache Kafka, durable on every batch as the
// hub is (`kafka`), and with its own defaults, which leave what is acknowledged in the page cache (`kafka-page-cache`).
import type { Bar, Load, LoadScenario } from './scenario.ts';

/** A record of 100 bytes in a v2 batch, and the batch around it. */
const RECORD_BYTES = 107;
const BATCH_BYTES = 61;

interface Shape {
  readonly size: number;
  readonly batch: number;
  readonly connections: number;
  readonly inFlight?: number;
}

const produce = ({ size, batch, connections, inFlight = 5 }: Shape): Load => ({
  generator: 'kafka-load',
  args: [
    ...['--mode', 'produce', '--size', `${size}`, '--batch', `${batch}`],
    ...['--connections', `${connections}`, '--in-flight', `${inFlight}`],
  ],
});

const fetch = (size: number, batch: number, more: readonly string[] = []): Load => ({
  generator: 'kafka-load',
  args: ['--mode', 'fetch', '--size', `${size}`, '--batch', `${batch}`, ...more],
});

/** Often enough over the same records that each run takes its second. */
const LAPS = ['--laps', '6'];

/** One after the other, in 50 partitions each; the end is over when it is answered, or when consumers see it. */
const transactions = (until: 'answered' | 'visible'): Load => ({
  generator: 'transaction-load',
  args: ['--partitions', '50', '--until', until],
});

const FILL: Load = produce({ size: 100, batch: 100, connections: 1 });

const ALL_PEERS = ['kafka', 'kafka-page-cache'];
const CLOSED_LOOP = 'closed loop';

const faster = (against: string, atLeast: number): Bar => ({ against, metric: 'recordsPerSecond', atLeast });

export const kafkaScenarios: readonly LoadScenario[] = [
  {
    name: 'produce 100 B × 100, 1 connection × 5 in flight',
    load: produce({ size: 100, batch: 100, connections: 1 }),
    records: 1_000_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka', 3)],
    baseline: { groupBytes: 5 * (BATCH_BYTES + 100 * RECORD_BYTES), groupRecords: 500 },
  },
  {
    name: 'produce 100 B × 100, 4 connections × 5 in flight',
    load: produce({ size: 100, batch: 100, connections: 4 }),
    records: 2_000_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka', 4), faster('kafka-page-cache', 1.3)],
    baseline: { groupBytes: 20 * (BATCH_BYTES + 100 * RECORD_BYTES), groupRecords: 2000 },
  },
  {
    name: 'produce 1,000 B × 16, 4 connections × 5 in flight',
    load: produce({ size: 1000, batch: 16, connections: 4 }),
    records: 400_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka', 4), faster('kafka-page-cache', 0.9)],
    baseline: { groupBytes: 20 * (BATCH_BYTES + 16 * 1008), groupRecords: 320 },
  },
  {
    name: 'produce 100 B × 1, 16 connections × 5 in flight',
    load: produce({ size: 100, batch: 1, connections: 16 }),
    records: 150_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka', 10), faster('kafka-page-cache', 1)],
    baseline: { groupBytes: 80 * (BATCH_BYTES + RECORD_BYTES), groupRecords: 80 },
  },
  {
    name: 'produce 100 B, one at a time',
    load: { generator: 'kafka-load', args: ['--mode', 'once', '--size', '100'] },
    records: 10_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka', 0.9)],
    baseline: { groupBytes: BATCH_BYTES + RECORD_BYTES, groupRecords: 1 },
  },
  {
    name: 'latency from produce to consumer, 1,000 records a second one by one',
    load: { generator: 'kafka-load', args: ['--mode', 'latency', '--size', '100', '--rate', '1000'] },
    records: 5_000,
    metric: 'p99Ms',
    bars: [
      { against: 'kafka', metric: 'p99Ms', atMost: 0.7 },
      { against: 'kafka-page-cache', metric: 'p99Ms', atMost: 1 },
    ],
  },
  {
    // As in the closed loop, a connection has one request in flight: what comes alone shares neither reads nor writes.
    name: 'latency from produce to consumer at half of what 16 connections reach, one request each',
    load: {
      generator: 'kafka-load',
      args: ['--mode', 'latency', '--size', '100', '--connections', '16'],
    },
    records: 60_000,
    metric: 'p99BeyondFlushMs',
    bars: [{ metric: 'p99BeyondFlushMs', atMost: 2 }],
    notFor: ALL_PEERS,
    variants: { [CLOSED_LOOP]: { load: produce({ size: 100, batch: 1, connections: 16, inFlight: 1 }) } },
    pace: { of: CLOSED_LOOP, share: 0.5 },
    // A record: what has come by then shares a flush.
    baseline: { groupBytes: BATCH_BYTES + RECORD_BYTES, groupRecords: 1 },
  },
  {
    name: 'fetch 100 B × 100, 1 connection',
    prepare: FILL,
    load: fetch(100, 100),
    records: 1_000_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka-page-cache', 0.15)],
  },
  {
    // As many as the newest records that the hub keeps in memory.
    name: 'fetch 100 B × 100, 10 connections that read the same partition',
    prepare: FILL,
    load: fetch(100, 100, [...LAPS, '--connections', '10']),
    records: 300_000,
    metric: 'recordsPerSecond',
    bars: [faster('one consumer', 5)],
    variants: { 'one consumer': { prepare: FILL, load: fetch(100, 100, LAPS) } },
  },
  {
    name: 'fetch 100 B × 1, 1 connection',
    prepare: produce({ size: 100, batch: 1, connections: 16 }),
    load: fetch(100, 1),
    records: 100_000,
    metric: 'recordsPerSecond',
    // What all the rows before have left behind is in memory by now.
    bars: [{ against: 'kafka-page-cache', metric: 'brokerResidentMiB', atMost: 0.25 }],
  },
  {
    name: "Apache's producer-perf, 100 B",
    load: { generator: 'producer-perf', args: ['--record-size', '100'] },
    records: 1_000_000,
    metric: 'recordsPerSecond',
    bars: [],
  },
  {
    name: "Apache's producer-perf, 1,000 B in transactions of 100 ms",
    load: {
      generator: 'producer-perf',
      args: [
        ...['--record-size', '1000'],
        ...['--transactional-id', 'producer-perf', '--transaction-duration-ms', '100'],
      ],
    },
    records: 300_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka', 0.9)],
  },
  {
    name: 'end of a transaction over 50 partitions, until all of it is visible',
    load: transactions('visible'),
    records: 2_000,
    metric: 'p99Ms',
    bars: [{ against: 'kafka', metric: 'p99Ms', atMost: 1 }],
  },
  {
    name: 'end of a transaction over 50 partitions, until it is answered',
    load: transactions('answered'),
    records: 2_000,
    metric: 'p99Ms',
    bars: [{ against: 'kafka', metric: 'p99Ms', atMost: 1 }],
  },
  {
    name: "Apache's consumer-perf, 100 B × 100",
    prepare: FILL,
    load: { generator: 'consumer-perf', args: [] },
    records: 2_000_000,
    metric: 'recordsPerSecond',
    bars: [faster('kafka-page-cache', 0.95)],
  },
];
