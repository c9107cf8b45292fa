// What `npm run bench` measures, as data. Each load is closed-loop and comes from the generators in load/.

export interface Scenario {
  readonly name: string;
  readonly door: 'kafka' | 'mqtt';
  /** What must be in the topic before, as arguments of kafka-load. */
  readonly prepare?: readonly string[];
  /** Arguments of the load generator, without port, topic, process and count. */
  readonly load: readonly string[];
  /** Records of one measured run; one run in five of that size goes before it to warm up. */
  readonly records: number;
  /** The number of the result that counts. */
  readonly metric: 'recordsPerSecond' | 'deliveredPerSecond';
  /**
   * What plain Node would do: so many groups of so many bytes, each written and then fdatasynced. A group is
   * what the clients keep in flight, the most that one flush can serve.
   */
  readonly baseline?: { readonly groupBytes: number; readonly groupRecords: number };
}

/** A record of 100 bytes in a v2 batch, and the batch around it. */
const RECORD_BYTES = 107;
const BATCH_BYTES = 61;

export const scenarios: readonly Scenario[] = [
  {
    name: 'Kafka produce, 100 B × 100 a batch, 1 connection × 5 in flight',
    door: 'kafka',
    load: ['--mode', 'produce', '--size', '100', '--batch', '100', '--connections', '1', '--in-flight', '5'],
    records: 1_000_000,
    metric: 'recordsPerSecond',
    baseline: { groupBytes: 5 * (BATCH_BYTES + 100 * RECORD_BYTES), groupRecords: 500 },
  },
  {
    name: 'Kafka produce, 100 B × 1 a batch, 16 connections × 5 in flight',
    door: 'kafka',
    load: ['--mode', 'produce', '--size', '100', '--batch', '1', '--connections', '16', '--in-flight', '5'],
    records: 100_000,
    metric: 'recordsPerSecond',
    baseline: { groupBytes: 80 * (BATCH_BYTES + RECORD_BYTES), groupRecords: 80 },
  },
  {
    name: 'Kafka produce, 100 B, one at a time',
    door: 'kafka',
    load: ['--mode', 'once', '--size', '100'],
    records: 3_000,
    metric: 'recordsPerSecond',
    baseline: { groupBytes: BATCH_BYTES + RECORD_BYTES, groupRecords: 1 },
  },
  {
    name: 'Kafka fetch, 100 B × 100 a batch, 1 connection',
    door: 'kafka',
    prepare: ['--mode', 'produce', '--size', '100', '--batch', '100'],
    load: ['--mode', 'fetch', '--size', '100', '--batch', '100'],
    records: 1_000_000,
    metric: 'recordsPerSecond',
  },
  {
    name: 'Kafka fetch, 100 B × 1 a batch, 1 connection',
    door: 'kafka',
    prepare: ['--mode', 'produce', '--size', '100', '--batch', '1', '--connections', '16'],
    load: ['--mode', 'fetch', '--size', '100', '--batch', '1'],
    records: 100_000,
    metric: 'recordsPerSecond',
  },
  {
    name: 'MQTT QoS 0, 64 B, 1 → 1',
    door: 'mqtt',
    load: ['--qos', '0', '--size', '64', '--window', '1000'],
    records: 200_000,
    metric: 'deliveredPerSecond',
    baseline: { groupBytes: 1000 * 160, groupRecords: 1000 },
  },
  {
    name: 'MQTT QoS 1, 64 B, 1 → 1',
    door: 'mqtt',
    load: ['--qos', '1', '--size', '64', '--window', '1000'],
    records: 200_000,
    metric: 'deliveredPerSecond',
    baseline: { groupBytes: 1000 * 160, groupRecords: 1000 },
  },
];
