// `polylog bench kafka·mqtt·bridge`: a load of one line on a running hub, a result of one line.
import { InvalidArgumentError, Option } from 'commander';
import type { BenchOptions, BenchProtocol } from './bench/options.ts';
import { addNoun, type CommandLine } from './noun.ts';
import { wholeNumber } from './topics.ts';

const RECORDS_MAX = 10_000_000;
/** What tells a record from others. */
const SIZE_MIN = 16;
const SIZE_MAX = 512 * 1_024;
const RATE_MAX = 10_000_000;

const EXAMPLES = `
Examples:
  polylog bench kafka                                     as fast as batches are acknowledged
  polylog bench mqtt --qos 0 --records 200000 --size 64
  polylog bench bridge --rate 1000 --records 10000        MQTT in, Kafka out: the latency at a rate
  polylog bench kafka --output json | jq .recordsPerSecond

Each record is sent to the hub and received from it again, by this one process. Times are from when a record was due until
it arrived: without --rate they are those of a queue that is kept full, so for latency say a rate that the hub keeps easily.
The records stay in the topic: polylog topics delete bench.
`;

const WHAT: Readonly<Record<BenchProtocol, string>> = {
  kafka: 'produce with acks=all, fetch',
  mqtt: 'publish, subscribe',
  bridge: 'publish over MQTT, fetch over Kafka',
};

export function addBenchCommands(line: CommandLine): void {
  const noun = addNoun(line, 'bench', 'put a load on a running hub and measure it', EXAMPLES);
  for (const [protocol, description] of Object.entries(WHAT)) {
    const command = noun
      .command(protocol)
      .description(description)
      .option('--records <count>', 'how many', between(1, RECORDS_MAX), 100_000)
      .option('--size <bytes>', 'of a value', between(SIZE_MIN, SIZE_MAX), 100)
      .option('--rate <records>', 'a second; default: as fast as it goes', between(1, RATE_MAX))
      .option('--topic <topic>', 'where to', 'bench')
      .addOption(
        new Option('--output <form>', 'for people or for programs')
          .choices(['table', 'json'])
          .default('table'),
      );
    if (protocol !== 'mqtt')
      command.option('--kafka <host:port>', 'its listener (default: POLYLOG_KAFKA, else 127.0.0.1:9092)');
    if (protocol === 'bridge')
      command.option('--kafka-topic <topic>', 'that of the MQTT topic (default: its first level)');
    if (protocol !== 'kafka')
      command
        .option('--qos <level>', '0, 1 or 2', between(0, 2), 1)
        .option('--url <url>', 'its listener (default: POLYLOG_MQTT, else mqtt://127.0.0.1:1883)')
        .option('--username <name>', 'with the password in POLYLOG_MQTT_PASSWORD');
    command
      .showHelpAfterError(`(polylog bench ${protocol} --help shows what there is)`)
      .action(async (options: BenchOptions) => {
        const { bench } = await import('./bench/run.ts');
        // The keys of WHAT are protocols; Kafka's has no QoS.
        line.finish(
          await bench(protocol as BenchProtocol, { ...options, qos: options.qos ?? 1 }, line.surroundings),
        );
      });
  }
}

function between(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = wholeNumber(text);
    if (value < min || value > max) throw new InvalidArgumentError(`It must be between ${min} and ${max}.`);
    return value;
  };
}
