// Runs one load against one broker: the generators of load/, built with the system's C compiler, and the performance
// tools of Apache's clients, where Java is there.
import { join } from 'node:path';
import { Child, run } from '../helpers/child.ts';
import { javaArguments } from '../interop/java.ts';
import { kafkaToolJars, prepareKafkaTools } from '../interop/kafka-tools.ts';
import type { Target } from './peers.ts';
import { type Generator, type Load, SECONDS_MAX } from './scenario.ts';

/** What a load reports; the fields used here. */
export interface LoadResult {
  readonly records: number;
  readonly recordsPerSecond: number;
  readonly deliveredPerSecond?: number;
  readonly loadCpuSeconds?: number;
  readonly brokerCpuSeconds?: number;
  readonly brokerResidentMiB?: number;
  readonly residentGrowthMiB?: number;
  readonly idleConnectionKiB?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

export interface LoadRun {
  readonly target: Target;
  readonly topic: string;
  readonly records: number;
}

const PROGRAMS = ['kafka-load', 'transaction-load', 'mqtt-load'] as const;
const TIMEOUT_MS = 600_000;
const ARRIVING = 'arrivals';

export class Generators {
  readonly #directory: string;
  #javaProblem: string | undefined;

  /** @param directory for the programs */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async build(): Promise<void> {
    for (const name of PROGRAMS) {
      const source = join(import.meta.dirname, 'load', `${name}.c`);
      await run('cc', ['-O2', '-o', join(this.#directory, name), source]);
    }
    this.#javaProblem = await prepareKafkaTools();
  }

  /** Why it cannot run here; undefined when it can. */
  missing(generator: Generator): string | undefined {
    return generator === 'producer-perf' || generator === 'consumer-perf' ? this.#javaProblem : undefined;
  }

  async run(load: Load, to: LoadRun): Promise<LoadResult> {
    const { beside } = load;
    if (beside === undefined) return this.#runOne(load, to);
    // It says that it is ready, and then what it saw.
    const listening = this.#start(beside, to);
    await listening.waitFor(/^ready$/m);
    await this.#runOne(load, to);
    const { code, stdout, stderr } = await listening.finished;
    if (code !== 0) throw failure(beside, stderr);
    return JSON.parse(stdout.toString().replace('ready\n', '')) as LoadResult; // what load/ prints
  }

  async #runOne({ generator, args }: Load, to: LoadRun): Promise<LoadResult> {
    if (generator === 'producer-perf') return producerPerf(args, to);
    if (generator === 'consumer-perf') return consumerPerf(args, to);
    const { code, stdout, stderr } = await this.#start({ generator, args }, to).finished;
    if (code !== 0) throw failure({ generator, args }, stderr);
    return JSON.parse(stdout.toString()) as LoadResult; // what load/ prints
  }

  #start({ generator, args }: Pick<Load, 'generator' | 'args'>, to: LoadRun): Child {
    const { target, topic, records } = to;
    const isMqtt = generator === 'mqtt-load';
    const port = isMqtt ? target.mqttPort : target.kafkaPort;
    if (port === undefined) throw new Error(`${target.name} has no port for ${generator}`);
    // What keeps a pace takes as long as it takes.
    const limit = args.includes('--rate') || args.includes(ARRIVING) ? [] : ['--seconds', `${SECONDS_MAX}`];
    const whole = [
      ...['--port', `${port}`, '--pid', `${target.pid}`, '--topic', topic, ...limit],
      ...[isMqtt ? '--messages' : '--records', `${records}`, ...args],
    ];
    return new Child(join(this.#directory, generator), whole, { timeoutMs: TIMEOUT_MS });
  }
}

function failure({ generator, args }: Pick<Load, 'generator' | 'args'>, stderr: Buffer): Error {
  const said = stderr.length > 0 ? stderr.toString().trim() : 'it was not done in time';
  return new Error(`${generator} ${args.join(' ')}: ${said}`);
}

const perfTool = async (className: string, args: readonly string[]): Promise<string> => {
  const machine = javaArguments([join(kafkaToolJars, '*')], className, args, ['-Xms512m', '-Xmx512m']);
  return (await run('java', machine, { timeoutMs: TIMEOUT_MS })).toString();
};

/** Its last line: `1000000 records sent, 480000.0 records/sec (45.8 MB/sec), …, 12 ms 99th, …`. */
async function producerPerf(
  args: readonly string[],
  { target, topic, records }: LoadRun,
): Promise<LoadResult> {
  const said = await perfTool('org.apache.kafka.tools.ProducerPerformance', [
    ...['--topic', topic, '--num-records', `${records}`, '--throughput', '-1', ...args],
    ...['--bootstrap-server', `127.0.0.1:${target.kafkaPort}`],
  ]);
  const rate = [...said.matchAll(/records sent, ([\d.]+) records\/sec/g)].at(-1)?.[1];
  if (rate === undefined) throw new Error(`producer-perf said: ${said}`);
  return { records, recordsPerSecond: Math.round(Number(rate)) };
}

/** Its one line of numbers: start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, MB/s and records/s of it. */
async function consumerPerf(
  args: readonly string[],
  { target, topic, records }: LoadRun,
): Promise<LoadResult> {
  const said = await perfTool('org.apache.kafka.tools.ConsumerPerformance', [
    ...['--topic', topic, '--num-records', `${records}`, '--timeout', '60000', ...args],
    ...['--bootstrap-server', `127.0.0.1:${target.kafkaPort}`],
  ]);
  const numbers = said.trim().split('\n').at(-1)?.split(',') ?? [];
  const seen = Number(numbers[4]);
  const rate = Number(numbers[9]);
  if (!(seen > 0 && rate > 0)) throw new Error(`consumer-perf said: ${said}`);
  return { records: seen, recordsPerSecond: Math.round(rate) };
}
