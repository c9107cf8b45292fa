// What `npm run bench -- bridge` measures: in by one protocol and out by the other, against each side alone in the same
// turns. There are no peers: nobody else is both.
import type { Load, LoadScenario } from './scenario.ts';

const publish: Load = {
  generator: 'mqtt-load',
  args: ['--qos', '1', '--size', '64', '--window', '1000', '--publishers', '1', '--subscribers', '0'],
};

const deliver: Load = {
  generator: 'mqtt-load',
  args: ['--qos', '1', '--size', '64', '--window', '1000', '--publishers', '1', '--subscribers', '1'],
};

const produce: Load = {
  generator: 'kafka-load',
  args: ['--mode', 'produce', '--size', '64', '--batch', '100', '--in-flight', '5'],
};

const fetch: Load = { generator: 'kafka-load', args: ['--mode', 'fetch'] };

const SHARE = 0.6;

export const bridgeScenarios: readonly LoadScenario[] = [
  {
    name: 'MQTT QoS 1 in, Kafka consumer out',
    load: { ...publish, beside: { generator: 'kafka-load', args: ['--mode', 'arrivals'] } },
    records: 200_000,
    metric: 'recordsPerSecond',
    bars: [{ againstSlowest: true, metric: 'recordsPerSecond', atLeast: SHARE }],
    variants: {
      'MQTT publish alone': { load: publish },
      'Kafka fetch alone': { prepare: publish, load: fetch },
    },
  },
  {
    name: 'Kafka produce in, MQTT QoS 1 subscriber out',
    load: {
      ...produce,
      beside: {
        generator: 'mqtt-load',
        args: ['--qos', '1', '--size', '64', '--publishers', '0', '--subscribers', '1'],
      },
    },
    records: 200_000,
    metric: 'recordsPerSecond',
    bars: [{ againstSlowest: true, metric: 'recordsPerSecond', atLeast: SHARE }],
    variants: {
      'Kafka produce alone': { load: produce },
      'MQTT QoS 1 alone': { load: deliver },
    },
  },
];
