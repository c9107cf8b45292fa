// Runs one load against one broker: the generators of load/, built with the system's C compiler, and the performance
// tools of Apache's clients, where Java is there.
import { join } from 'node:path';
import { Child, isInstalled, run } from '../helpers/child.ts';
import { javaArguments } from '../interop/java.ts';
import { kafkaToolJars, prepareKafkaTools } from '../interop/kafka-tools.ts';
import type { Target } from './peers.ts';
import { type Generator, type Load, type Result, SECONDS_MAX } from './scenario.ts';

export interface LoadRun {
  readonly target: Target;
  readonly topic: string;
  readonly records: number;
}

const PROGRAMS = ['kafka-load', 'transaction-load', 'mqtt-load'] as const;
/** Loads of half an hour included. */
const TIMEOUT_MS = 2_400_000;

export class Generators {
  readonly #directory: string;
  #compilerProblem: string | undefined;
  #javaProblem: string | undefined;

  /** @param directory for the programs */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async build(): Promise<void> {
    this.#javaProblem = await prepareKafkaTools();
    if (!(await isInstalled('cc'))) {
      this.#compilerProblem = 'no C compiler (cc) was found, and load/ needs one';
      return;
    }
    for (const name of PROGRAMS) {
      const source = join(import.meta.dirname, 'load', `${name}.c`);
      await run('cc', ['-O2', '-o', join(this.#directory, name), source]);
    }
  }

  /** Why it cannot run here; undefined when it can. */
  missing(generator: Generator): string | undefined {
    const isJava = generator === 'producer-perf' || generator === 'consumer-perf';
    return isJava ? this.#javaProblem : this.#compilerProblem;
  }

  async run(load: Load, to: LoadRun): Promise<Result> {
    const { beside } = load;
    if (beside === undefined) return this.#runOne(load, to);
    // It says that it is ready, and then what it saw.
    const listening = this.start(beside, to);
    await listening.waitFor(/^ready$/m);
    await this.#runOne(load, to, false);
    const { code, stdout, stderr } = await listening.finished;
    if (code !== 0) throw failure(beside, stderr);
    return JSON.parse(stdout.toString().replace('ready\n', '')) as Result; // what load/ prints
  }

  async #runOne({ generator, args }: Load, to: LoadRun, mayBeCut = true): Promise<Result> {
    if (generator === 'producer-perf') return producerPerf(args, to);
    if (generator === 'consumer-perf') return consumerPerf(args, to);
    const { code, stdout, stderr } = await this.start({ generator, args }, to, mayBeCut).finished;
    if (code !== 0) throw failure({ generator, args }, stderr);
    return JSON.parse(stdout.toString()) as Result; // what load/ prints
  }

  /**
   * Under way, to be waited for or ended by the caller: it prints its result at its end.
   * @param mayBeCut by time, unless it keeps a pace: what listens beside it would wait for the rest
   */
  start({ generator, args }: Pick<Load, 'generator' | 'args'>, to: LoadRun, mayBeCut = false): Child {
    const { target, topic, records } = to;
    const isMqtt = generator === 'mqtt-load';
    const port = isMqtt ? target.mqttPort : target.kafkaPort;
    if (port === undefined) throw new Error(`${target.name} has no port for ${generator}`);
    const isCut = mayBeCut && !args.includes('--rate') && !args.includes('--seconds');
    const limit = isCut ? ['--seconds', `${SECONDS_MAX}`] : [];
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
async function producerPerf(args: readonly string[], { target, topic, records }: LoadRun): Promise<Result> {
  const said = await perfTool('org.apache.kafka.tools.ProducerPerformance', [
    ...['--topic', topic, '--num-records', `${records}`, '--throughput', '-1', ...args],
    ...['--bootstrap-server', `127.0.0.1:${target.kafkaPort}`],
  ]);
  const rate = [...said.matchAll(/records sent, ([\d.]+) records\/sec/g)].at(-1)?.[1];
  if (rate === undefined) throw new Error(`producer-perf said: ${said}`);
  return { records, recordsPerSecond: Math.round(Number(rate)) };
}

/** Its one line of numbers: start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, MB/s and records/s of it. */
async function consumerPerf(args: readonly string[], { target, topic, records }: LoadRun): Promise<Result> {
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
