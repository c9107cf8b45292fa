// What `npm run bench -- mqtt` measures: loads of 64 bytes, and the bars against mosquitto and aedes, which keep
// nothing on disk; the hub is durable.
import type { Bar, Load, LoadScenario } from './scenario.ts';

interface Shape {
  readonly qos: number;
  readonly publishers?: number;
  readonly subscribers?: number;
  readonly more?: readonly string[];
}

const load = ({ qos, publishers = 1, subscribers = 1, more = [] }: Shape): Load => ({
  generator: 'mqtt-load',
  args: [
    ...['--qos', `${qos}`, '--size', '64', '--window', '1000'],
    ...['--publishers', `${publishers}`, '--subscribers', `${subscribers}`, ...more],
  ],
});

const faster = (against: string, atLeast: number): Bar => ({
  against,
  metric: 'deliveredPerSecond',
  atLeast,
});

/** Flat is what a garbage collector's own breathing does not pass. */
const GROWTH_MIB_MAX = 32;
const MOSQUITTO_AND_AEDES = ['mosquitto', 'aedes'];
const PACED = ['--rate', '1000'];

export const mqttScenarios: readonly LoadScenario[] = [
  // First: memory that was used and is free again would hide what a connection takes.
  {
    name: 'idle connections, 2,000 of them',
    load: load({ qos: 1, more: ['--idle', '2000'] }),
    records: 1_000,
    metric: 'idleConnectionKiB',
    bars: [{ metric: 'idleConnectionKiB', atMost: 45 }],
    isOnce: true,
  },
  {
    name: 'QoS 0, 1 → 1',
    load: load({ qos: 0 }),
    records: 500_000,
    metric: 'deliveredPerSecond',
    bars: [faster('mosquitto', 3)],
    baseline: { groupBytes: 1000 * 160, groupRecords: 1000 },
  },
  {
    name: 'QoS 1, 1 → 1',
    load: load({ qos: 1 }),
    records: 200_000,
    metric: 'deliveredPerSecond',
    bars: [faster('mosquitto', 2), faster('aedes', 5)],
    baseline: { groupBytes: 1000 * 160, groupRecords: 1000 },
  },
  {
    name: 'QoS 1, 1 → 1, while one more client has 100,000 filters',
    load: load({ qos: 1, more: ['--filters', '100000'] }),
    records: 200_000,
    metric: 'deliveredPerSecond',
    bars: [{ againstRow: 'QoS 1, 1 → 1', metric: 'deliveredPerSecond', atLeast: 0.8 }],
    notFor: MOSQUITTO_AND_AEDES,
  },
  {
    name: 'QoS 2, 1 → 1',
    load: load({ qos: 2 }),
    records: 100_000,
    metric: 'deliveredPerSecond',
    bars: [faster('mosquitto', 2)],
  },
  {
    name: 'QoS 0, 1 → 10',
    load: load({ qos: 0, subscribers: 10 }),
    records: 100_000,
    metric: 'deliveredPerSecond',
    bars: [faster('mosquitto', 4)],
  },
  {
    name: 'QoS 1, 1 → 10',
    load: load({ qos: 1, subscribers: 10 }),
    records: 50_000,
    metric: 'deliveredPerSecond',
    bars: [faster('mosquitto', 2)],
  },
  {
    name: 'QoS 1, 50 → 1',
    load: load({ qos: 1, publishers: 50 }),
    records: 200_000,
    metric: 'deliveredPerSecond',
    bars: [faster('mosquitto', 1.5)],
  },
  {
    name: 'latency from publish to subscriber, QoS 1, at half of what 1 → 1 reaches',
    load: load({ qos: 1 }),
    records: 200_000,
    metric: 'p99BeyondFlushMs',
    bars: [{ metric: 'p99BeyondFlushMs', atMost: 2 }],
    notFor: MOSQUITTO_AND_AEDES,
    variants: { 'closed loop': { load: load({ qos: 1 }) } },
    pace: { of: 'closed loop', share: 0.5 },
    // A record: what has come by then shares a flush.
    baseline: { groupBytes: 160, groupRecords: 1 },
  },
  {
    name: 'from an MQTT publish to a Kafka consumer, 1,000 a second',
    load: {
      ...load({ qos: 1, subscribers: 0, more: PACED }),
      beside: { generator: 'kafka-load', args: ['--mode', 'arrivals'] },
    },
    records: 5_000,
    metric: 'p99Ms',
    bars: [{ metric: 'p99Ms', atMost: 5 }],
    notFor: MOSQUITTO_AND_AEDES,
  },
  {
    name: 'from a Kafka produce to an MQTT subscriber, 1,000 a second',
    load: {
      generator: 'kafka-load',
      args: ['--mode', 'paced', '--size', '64', ...PACED],
      beside: load({ qos: 1, publishers: 0, more: PACED }),
    },
    records: 5_000,
    metric: 'p99Ms',
    bars: [{ metric: 'p99Ms', atMost: 5 }],
    notFor: MOSQUITTO_AND_AEDES,
  },
  {
    name: 'five minutes with 5,000 clients, 5,000 messages a second',
    load: load({ qos: 1, publishers: 50, subscribers: 1, more: ['--idle', '4949', '--rate', '5000'] }),
    records: 1_500_000,
    metric: 'residentGrowthMiB',
    bars: [{ metric: 'residentGrowthMiB', atMost: GROWTH_MIB_MAX }],
    notFor: MOSQUITTO_AND_AEDES,
    isOnce: true,
    isLong: true,
  },
];
