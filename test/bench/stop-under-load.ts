// How long a hub takes to stop while a thousand MQTT clients and fifty Kafka clients keep it busy on four hundred topics;
// and whether the next start finds all that was acknowledged, and nothing to recover.
//   node --import tsx test/bench/stop-under-load.ts [--seconds N] [--mqtt N] [--kafka N] [--topics N]

import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { CreateTopicsRequest, CreateTopicsResponse } from '../../protocols/kafka/messages/create-topics.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { processCpuSeconds } from './process-figures.ts';
import { RequestClient } from './request-client.ts';
import { type Counts, newCounts, startConsumer, startMqttClient, startProducer } from './stop-clients.ts';

export interface StopLoad {
  readonly mqttClients: number;
  /** Half of them produce, half fetch. */
  readonly kafkaClients: number;
  readonly topics: number;
  readonly seconds: number;
}

export const STOP_LOAD: StopLoad = { mqttClients: 1000, kafkaClients: 50, topics: 400, seconds: 5 };

export interface StopFigures {
  /** From the signal to the end of the process. */
  readonly ms: number;
  /** Processor time of that: what is left of `ms` on a machine that does nothing else, beside the disk. */
  readonly cpuSeconds: number;
  readonly exitCode: number | null;
  readonly acknowledgedPerSecond: number;
  /** Records that are there after the next start, less those that were acknowledged: never below 0. */
  readonly spareRecords: number;
  readonly recoveredBytes: number;
  readonly wasClean: boolean;
  readonly topics: number;
  /** What the hub told of the stop. */
  readonly told: readonly string[];
}

export async function measureStop(load: StopLoad): Promise<StopFigures> {
  const directory = temporaryDirectory();
  try {
    const hub = await startHubProcess(directory.path);
    const counts = newCounts();
    await startClients(hub, load, counts);
    const before = counts.acknowledged;
    await setTimeout(load.seconds * 1000);
    const acknowledgedPerSecond = Math.round((counts.acknowledged - before) / load.seconds);
    const stoppedAtMs = performance.now();
    const cpuBefore = processCpuSeconds(hub.pid);
    let cpuSeconds = 0;
    // It is not told any more once the process is gone.
    const looking = setInterval(() => {
      cpuSeconds = Math.max(cpuSeconds, processCpuSeconds(hub.pid) - cpuBefore);
    }, 20);
    const { code, stderr } = await hub.stop();
    const ms = performance.now() - stoppedAtMs;
    clearInterval(looking);
    const told = stderr
      .toString()
      .split('\n')
      .filter((line) => /"event":"(?:stopped|stop-|stopping)/.test(line));
    return {
      ...{ ms: Math.round(ms), cpuSeconds, exitCode: code, acknowledgedPerSecond, told },
      ...(await whatIsThere(directory.path, counts)),
    };
  } finally {
    directory.remove();
  }
}

/** All are there before any of them begins. Opened a hundred at a time, so that no backlog overflows. */
async function startClients(
  { mqttPort, kafkaPort }: { readonly mqttPort: number; readonly kafkaPort: number },
  { mqttClients, kafkaClients, topics }: StopLoad,
  counts: Counts,
): Promise<void> {
  const topicOf = (index: number): string => `t${index % topics}`;
  await createTopics(
    kafkaPort,
    Array.from({ length: topics }, (_, index) => topicOf(index)),
  );
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  for (let first = 0; first < mqttClients; first += 100) {
    const indexes = Array.from({ length: Math.min(100, mqttClients - first) }, (_, index) => first + index);
    await Promise.all(
      indexes.map((index) =>
        startMqttClient(
          {
            ...{ port: mqttPort, clientId: `client-${index}`, payloadBytes: 64 },
            ...{ version: index % 2 === 0 ? 5 : 4, isDurable: index % 4 < 2 },
            publishesTo: `${topicOf(index)}/from/${index}`,
            subscribesTo: `${topicOf(index + 1)}/from/${index + 1}`,
          },
          begun,
          counts,
        ),
      ),
    );
  }
  begin();
  for (let index = 0; index < kafkaClients; index++) {
    const own = Array.from({ length: 16 }, (_, each) => topicOf(index * 16 + each));
    (index % 2 === 0 ? startProducer : startConsumer)(kafkaPort, own, counts);
  }
}

const CREATE_TOPICS = { key: 19, version: 5 };

async function createTopics(kafkaPort: number, names: readonly string[]): Promise<void> {
  const client = await RequestClient.open(kafkaPort);
  const topics = names.map((name) => ({
    ...{ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] },
  }));
  const { key, version } = CREATE_TOPICS;
  const answer = await client.ask(key, version, [CreateTopicsRequest, CreateTopicsResponse], { topics });
  client.close();
  const failed = answer.topics.find(({ errorCode }) => errorCode !== 0);
  if (failed !== undefined) throw new Error(`topic ${failed.name} was not made: error ${failed.errorCode}`);
}

async function whatIsThere(
  directory: string,
  counts: Counts,
): Promise<Pick<StopFigures, 'spareRecords' | 'recoveredBytes' | 'wasClean' | 'topics'>> {
  const hub = await startHubProcess(directory);
  let [records, topics] = [0, 0];
  for (let next: string | null = ''; next !== null; ) {
    const answer = await fetch(
      `${hub.adminUrl}/api/v1/topics?limit=1000${next === '' ? '' : `&cursor=${next}`}`,
    );
    const page = (await answer.json()) as {
      items: { records: number; internal: boolean }[];
      next: string | null;
    }; // the API's schema
    const own = page.items.filter(({ internal }) => !internal);
    records += own.reduce((sum, topic) => sum + topic.records, 0);
    topics += own.length;
    next = page.next;
  }
  const { stderr } = await hub.stop();
  const started = /^\{.*"event":"started".*\}$/m.exec(stderr.toString())?.[0] ?? '{}';
  const { recoveredBytes, previousStopWasClean } = JSON.parse(started) as {
    recoveredBytes: number;
    previousStopWasClean: boolean;
  }; // the fields of the event
  return {
    spareRecords: records - counts.acknowledged,
    recoveredBytes,
    wasClean: previousStopWasClean,
    topics,
  };
}

if (process.argv[1] === import.meta.filename) {
  const number = { type: 'string' } as const;
  const { values } = parseArgs({ options: { seconds: number, mqtt: number, kafka: number, topics: number } });
  const figures = await measureStop({
    mqttClients: Number(values.mqtt ?? STOP_LOAD.mqttClients),
    kafkaClients: Number(values.kafka ?? STOP_LOAD.kafkaClients),
    topics: Number(values.topics ?? STOP_LOAD.topics),
    seconds: Number(values.seconds ?? STOP_LOAD.seconds),
  });
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
}
