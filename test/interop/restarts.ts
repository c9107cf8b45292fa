// Apache's producers and consumers while the hub is stopped, or killed, and comes back: nothing that was acknowledged
// is missing, and of an idempotent producer nothing is there twice.
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Child } from '../helpers/child.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { startJava } from './java.ts';
import { kafkaTool, startKafkaTool } from './kafka-tools.ts';
import { type OwnHub, withOwnHub } from './own-hub.ts';

const TOPICS = 'org.apache.kafka.tools.TopicCommand';
const VERIFIABLE_PRODUCER = 'org.apache.kafka.tools.VerifiableProducer';
const VERIFIABLE_CONSUMER = 'org.apache.kafka.tools.VerifiableConsumer';

const PARTITIONS = 4;
const NO_DELAY = '[kafka]\ngroup_initial_rebalance_delay = "0s"\n';

const LOAD_RECORDS = 1_000_000;
/** At which percent of the load what happens to the hub. */
const events = [
  { percent: 10, kind: 'killAndStart' },
  { percent: 30, kind: 'restart' },
  { percent: 50, kind: 'killAndStart' },
  { percent: 70, kind: 'killAndStart' },
  { percent: 90, kind: 'restart' },
] as const;

const idempotent: InteropCase = {
  name: 'an idempotent Java producer at full speed while the hub is killed with SIGKILL and restarted: exact count, no duplicate, no gap',
  needs: ['java-clients', 'kafka-tools'],
  timeoutMs: 240_000,
  run: () =>
    withOwnHub(NO_DELAY, async (hub) => {
      const topic = await topicOfFour(hub);
      const args = [`${hub.kafkaPort}`, topic, `${PARTITIONS}`, `${LOAD_RECORDS}`];
      const load = startJava('IdempotentLoad', args, 200_000);
      for (const { percent, kind } of events) {
        await load.waitFor(new RegExp(`^acknowledged: ${(LOAD_RECORDS / 100) * percent};$`, 'm'), 60_000);
        await hub[kind]();
      }
      const { code } = await load.finished;
      equal(code, 0, load.output);
      const raw = await RawKafka.connect(hub.kafkaPort);
      for (let partition = 0; partition < PARTITIONS; partition++) await checkNumbers(raw, topic, partition);
      raw.close();
      return `${LOAD_RECORDS} records through 3 kills and 2 restarts, each there once and in order`;
    }),
};

async function checkNumbers(raw: RawKafka, topic: string, partition: number): Promise<void> {
  let next = 0;
  for (let end = 1; next < end; ) {
    const { error, highWatermark, records } = await raw.fetch(topic, partition, next);
    equal(error, 0);
    ok(records.length > 0, `nothing at offset ${next} of ${highWatermark}`);
    for (const { value, offset } of records) {
      const found = Number(value?.toString());
      const expected = next * PARTITIONS + partition;
      if (found !== expected || offset !== next)
        throw new Error(`partition ${partition}: ${found} at offset ${offset}, not ${expected} at ${next}`);
      next += 1;
    }
    end = highWatermark;
  }
  equal(next, LOAD_RECORDS / PARTITIONS);
}

async function topicOfFour(hub: OwnHub): Promise<string> {
  const topic = freshTopic('restarts');
  const place = ['--bootstrap-server', `127.0.0.1:${hub.kafkaPort}`, '--topic', topic];
  await kafkaTool(TOPICS, [...place, '--create', '--partitions', `${PARTITIONS}`]);
  return topic;
}

const VERIFIABLE_RECORDS = 30_000;

const throughs = [
  { kind: 'restart', named: 'a restart', protocol: 'classic' },
  { kind: 'killAndStart', named: 'kill -9', protocol: 'consumer' },
] as const;

const verifiable = throughs.map(
  ({ kind, named, protocol }): InteropCase => ({
    name: `Apache's verifiable producer and consumer, group.protocol=${protocol}, through ${named} of the hub: what was acknowledged is read`,
    needs: ['kafka-tools'],
    timeoutMs: 120_000,
    run: () =>
      withOwnHub(NO_DELAY, async (hub) => {
        const topic = await topicOfFour(hub);
        const place = ['--bootstrap-server', `127.0.0.1:${hub.kafkaPort}`, '--topic', topic];
        const group = ['--group-id', `group-of-${topic}`, '--group-protocol', protocol];
        const consumer = startKafkaTool(VERIFIABLE_CONSUMER, [...place, ...group, '--verbose']);
        await consumer.waitFor(/"partitions_assigned"/);
        const many = ['--max-messages', `${VERIFIABLE_RECORDS}`, '--throughput', '5000'];
        const producer = startKafkaTool(VERIFIABLE_PRODUCER, [...place, ...many]);
        await producer.waitFor(new RegExp(`"value":"${VERIFIABLE_RECORDS / 3}"`));
        await hub[kind]();
        equal((await producer.finished).code, 0);
        await readThrough(hub, topic, consumer);
        consumer.kill('SIGTERM');
        await consumer.waitFor(/"shutdown_complete"/);
        return compare(acknowledged(producer), consumer);
      }),
  }),
);

interface Place {
  readonly partition: number;
  readonly offset: number;
  readonly value: string;
}

interface ToolEvent extends Partial<Place> {
  readonly name: string;
}

/** What a verifiable tool says, a JSON object a line. */
function eventsOf(tool: Child, name: string): ToolEvent[] {
  const lines = tool.output.split('\n').filter((line) => line.startsWith('{') && line.includes(`"${name}"`));
  return lines.map((line) => JSON.parse(line) as ToolEvent).filter((event) => event.name === name);
}

const placesOf = (tool: Child, name: string): Map<string, string> =>
  new Map(eventsOf(tool, name).map(({ partition, offset, value }) => [`${partition}:${offset}`, `${value}`]));

const acknowledged = (producer: Child): Map<string, string> => placesOf(producer, 'producer_send_success');

/** The consumer has reached the end of each partition. */
async function readThrough(hub: OwnHub, topic: string, consumer: Child): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { highWatermark } = await raw.fetch(topic, partition, 0);
    const told = `(?=.*"partition":${partition}\\b)(?=.*"offset":${highWatermark - 1}\\b)`;
    await consumer.waitFor(new RegExp(`^${told}.*"record_data"|"record_data"${told}`, 'm'));
  }
  raw.close();
}

function compare(sent: ReadonlyMap<string, string>, consumer: Child): string {
  const events = eventsOf(consumer, 'record_data');
  const read = placesOf(consumer, 'record_data');
  ok(sent.size > VERIFIABLE_RECORDS / 2, `only ${sent.size} were acknowledged`);
  for (const [place, value] of sent) equal(read.get(place), value, `${place} was acknowledged`);
  deepEqual(new Set(read.values()).size, read.size, 'no value has two offsets');
  return `${sent.size} of ${VERIFIABLE_RECORDS} acknowledged, ${read.size} read, ${events.length - read.size} of them again`;
}

export const restarts: readonly InteropCase[] = [idempotent, ...verifiable];
