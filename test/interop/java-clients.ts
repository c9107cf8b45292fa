// Apache's Java client, with each of its group protocols.
import { freshTopic, type InteropCase } from './case.ts';
import { COMMON_STEPS, checkClientProgram } from './client-program.ts';
import { runJava } from './java.ts';

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

export const javaClients: readonly InteropCase[] = [...everything];
