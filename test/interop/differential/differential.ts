// The same requests to Apache Kafka's broker and to a hub, the answers compared field by field. A difference that no
// exception allows fails, and so does an exception that allows nothing any more.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InteropCase } from '../case.ts';
import { startKafkaBroker } from '../kafka-broker.ts';
import { withOwnHub } from '../own-hub.ts';
import { adminPrograms } from './admin-programs.ts';
import { type Difference, differences, Normalizer } from './comparison.ts';
import { EXCEPTIONS, type Exception } from './exceptions.ts';
import { groupPrograms } from './group-programs.ts';
import { type Program, play } from './program.ts';
import { transactionPrograms } from './transaction-programs.ts';

const README = join(import.meta.dirname, '..', '..', '..', 'protocols', 'kafka', 'README.md');

/** What the programs rely on: few state partitions to load, and assignments made when they are asked for. */
const KAFKA_SETTINGS = {
  'offsets.topic.num.partitions': 1,
  'transaction.state.log.num.partitions': 1,
  'group.initial.rebalance.delay.ms': 0,
  'group.consumer.assignment.interval.ms': 0,
};
const HUB_SETTINGS = '[kafka]\ngroup_initial_rebalance_delay = "0s"\n';

export const differential: readonly InteropCase[] = [
  {
    name: 'requests about groups, administration and transactions, valid and invalid, are answered as Apache Kafka does, field by field',
    needs: ['kafka-broker'],
    timeoutMs: 300_000,
    run: () => compareAll([...groupPrograms, ...adminPrograms, ...transactionPrograms]),
  },
];

async function compareAll(programs: readonly Program[]): Promise<string> {
  const kafka = await startKafkaBroker(KAFKA_SETTINGS);
  try {
    return await withOwnHub(HUB_SETTINGS, async (hub) => {
      let requestCount = 0;
      const found: Difference[] = [];
      for (const program of programs) {
        const compared = await compare(program, kafka.port, hub.kafkaPort);
        requestCount += compared.requestCount;
        found.push(...compared.differences);
      }
      return judge(programs.length, requestCount, found);
    });
  } finally {
    await kafka.stop();
  }
}

async function compare(program: Program, kafkaPort: number, hubPort: number) {
  const [kafka, hub] = await Promise.all([play(program, kafkaPort), play(program, hubPort)]);
  const [ofKafka, ofHub] = [new Normalizer(), new Normalizer()];
  const found = kafka.flatMap(({ label, answer }, index) =>
    differences(label, ofKafka.normalize(answer), ofHub.normalize(hub[index]?.answer)),
  );
  return { requestCount: kafka.length, differences: found };
}

/** Throws unless every difference is allowed, every exception is needed, and each stands in the README. */
function judge(programCount: number, requestCount: number, found: readonly Difference[]): string {
  const allows = ({ request, path }: Exception, difference: Difference): boolean =>
    request.test(difference.label) && path.test(difference.path);
  const unlisted = found.filter((difference) => !EXCEPTIONS.some((each) => allows(each, difference)));
  const needless = EXCEPTIONS.filter((each) => !found.some((difference) => allows(each, difference)));
  const readme = readFileSync(README, 'utf8').replace(/\s+/g, ' ');
  const unwritten = EXCEPTIONS.filter(({ reason }) => !readme.includes(reason));
  const problems = [
    ...unlisted.map(
      ({ label, path, kafka, hub }) =>
        `${label}: ${path}: Kafka ${JSON.stringify(kafka)}, the hub ${JSON.stringify(hub)}`,
    ),
    ...needless.map(({ reason }) => `allows nothing: ${reason}`),
    ...unwritten.map(({ reason }) => `not in protocols/kafka/README.md: ${reason}`),
  ];
  if (problems.length > 0) throw new Error(`${requestCount} requests compared\n${problems.join('\n')}`);
  return (
    `${requestCount} answers in ${programCount} programs compared; ` +
    `${found.length} fields differ by ${EXCEPTIONS.length} exceptions`
  );
}
