// Python's clients: kafka-python, confluent-kafka (librdkafka) and aiokafka.
import { join } from 'node:path';
import { freshTopic, type InteropCase } from './case.ts';
import { COMMON_STEPS, checkClientProgram, checkSteps } from './client-program.ts';
import { pythonWithKafka } from './python.ts';

const script = join(import.meta.dirname, 'clients', 'python-clients.py');

const clients = ['kafka-python', 'confluent-kafka', 'aiokafka'] as const;

const everything = clients.map(
  (client): InteropCase => ({
    name: `${client}: topics, records of each codec, an idempotent producer, a group and its rebalance, offsets by time`,
    needs: ['python-kafka'],
    async run({ kafkaPort }) {
      const topic = freshTopic(client);
      const output = (await pythonWithKafka(script, [client, `${kafkaPort}`, topic])).toString();
      await checkClientProgram(kafkaPort, topic, output, [...COMMON_STEPS, 'produced idempotently']);
    },
  }),
);

const configs = clients.map(
  (client): InteropCase => ({
    name: `${client}: configs of a topic, described and altered`,
    needs: ['python-kafka'],
    async run({ kafkaPort }) {
      const args = [client, `${kafkaPort}`, freshTopic(client), 'configs'];
      const output = (await pythonWithKafka(script, args)).toString();
      checkSteps(output, ['described configs', 'altered configs', 'all']);
    },
  }),
);

export const pythonClients: readonly InteropCase[] = [...everything, ...configs];
