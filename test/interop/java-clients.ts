// Apache's Java client, with each of its group protocols, its administration, and what its perf tools count.
import { equal, match } from 'node:assert/strict';
import { freshTopic, type InteropCase } from './case.ts';
import { COMMON_STEPS, checkClientProgram, checkSteps } from './client-program.ts';
import { runJava } from './java.ts';
import { getOffset, kafkaTool } from './kafka-tools.ts';

const everything = ['classic', 'consumer'].map(
  (protocol): InteropCase => ({
    name: `Java client, group.protocol=${protocol}: topics, records of each codec with their times, an idempotent producer, a group and its rebalance, offsets by time`,
    needs: ['java-clients'],
    async run({ kafkaPort }) {
      const topic = freshTopic('java');
      const baseMs = Date.now() - 60_000;
      const args = [`${kafkaPort}`, topic, protocol, `${baseMs}`];
      const output = (await runJava('ClientProgram', args)).toString();
      const steps = [...COMMON_STEPS, 'produced idempotently'];
      await checkClientProgram(kafkaPort, topic, output, steps, baseMs);
    },
  }),
);

const ADMINISTERED = [
  'described the cluster',
  'made topics and partitions',
  'described and altered configs',
  'deleted records and described producers',
  'altered and deleted groups',
  'described replicas',
  'deleted a topic by its id',
  'all',
] as const;

const administration: InteropCase = {
  name: 'Java admin client: cluster, topics, partitions, configs, records, producers, groups, replicas, and what must be refused',
  needs: ['java-clients'],
  async run({ kafkaPort }) {
    const output = (await runJava('AdminProgram', [`${kafkaPort}`, freshTopic('administered')])).toString();
    checkSteps(output, ADMINISTERED);
    return ADMINISTERED.slice(0, -1).join('; ');
  },
};

const PRODUCER_PERFORMANCE = 'org.apache.kafka.tools.ProducerPerformance';
const CONSUMER_PERFORMANCE = 'org.apache.kafka.tools.ConsumerPerformance';
const PERFORMED = 100_000;

const performance: InteropCase = {
  name: "Apache's producer-perf and consumer-perf: as many records come out as went in",
  needs: ['kafka-tools'],
  async run({ kafkaPort }) {
    const topic = freshTopic('perf');
    const place = ['--bootstrap-server', `127.0.0.1:${kafkaPort}`, '--topic', topic];
    const count = ['--num-records', `${PERFORMED}`];
    const load = ['--record-size', '100', '--throughput', '-1'];
    const produced = `${await kafkaTool(PRODUCER_PERFORMANCE, [...place, ...count, ...load])}`;
    const sent = produced.trim().split('\n').at(-1) ?? '';
    match(sent, new RegExp(`^${PERFORMED} records sent`));
    equal(await getOffset(kafkaPort, topic, 'latest'), PERFORMED);
    const consumed = `${await kafkaTool(CONSUMER_PERFORMANCE, [...place, ...count])}`;
    const [titles, numbers] = consumed.trim().split('\n').slice(-2);
    const at = (titles ?? '').split(', ').indexOf('data.consumed.in.nMsg');
    equal(Number((numbers ?? '').split(', ')[at]), PERFORMED, consumed);
    return `${sent}; consumed: ${numbers}`;
  },
};

export const javaClients: readonly InteropCase[] = [...everything, administration, performance];
