// What `npm run bench -- mqtt` measures: loads of 64 bytes, and the bars against mosquitto and aedes, which keep
// nothing on disk; the hub is durable.
import type { Bar, Scenario } from './scenario.ts';

interface Shape {
  readonly qos: number;
  readonly publishers?: number;
  readonly subscribers?: number;
  readonly more?: readonly string[];
}

const load = ({ qos, publishers = 1, subscribers = 1, more = [] }: Shape): Scenario['load'] => ({
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

export const mqttScenarios: readonly Scenario[] = [
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
];
