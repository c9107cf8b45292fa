// Runs one load between two ends, and prints the one line that came out of it.
import type { MqttClient } from 'mqtt';
import { connectMqtt, MqttFailure } from '../mqtt-client.ts';
import { EXIT, type Surroundings } from '../surroundings.ts';
import { type KafkaAddress, kafkaReceiver, kafkaSender } from './kafka-ends.ts';
import { Load, type LoadResult, type Sender } from './load.ts';
import { mqttReceiver, mqttSender, watch } from './mqtt-ends.ts';
import type { BenchOptions, BenchProtocol } from './options.ts';

const DEFAULT_KAFKA = '127.0.0.1:9092';

export async function bench(
  protocol: BenchProtocol,
  options: BenchOptions,
  surroundings: Surroundings,
): Promise<number> {
  const ends = new OpenEnds(options, surroundings);
  try {
    const load = new Load({
      ...{ records: options.records, size: options.size, rate: options.rate },
      interrupted: surroundings.interrupted,
      progress: (arrived) => surroundings.progress?.(`${arrived} of ${options.records}`),
    });
    const result = await load.run(await ends.open(protocol, load)).finally(() => surroundings.progress?.(''));
    surroundings.out(lineOf(protocol, options, result));
    const isWhole = result.arrived === options.records;
    return isWhole || surroundings.interrupted?.aborted === true ? EXIT.done : EXIT.failed;
  } catch (error) {
    surroundings.err(`${error instanceof Error ? error.message : error}\n`);
    return error instanceof MqttFailure ? error.exitCode : EXIT.failed;
  } finally {
    ends.close();
  }
}

/** What is to be closed, however it ends. */
class OpenEnds {
  readonly #options: BenchOptions;
  readonly #surroundings: Surroundings;
  readonly #closing: (() => void)[] = [];

  constructor(options: BenchOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
  }

  /** The receiver first, so that it misses nothing. */
  async open(protocol: BenchProtocol, load: Load): Promise<Sender> {
    const { topic, size, qos } = this.#options;
    if (protocol === 'mqtt') {
      await mqttReceiver(await this.#mqtt(load), topic, qos, load);
    } else {
      const kafkaTopic =
        protocol === 'kafka'
          ? topic
          : (this.#options.kafkaTopic ?? topic.split('/').find((each) => each !== ''));
      await this.#kafka((address) => kafkaReceiver(address, kafkaTopic ?? topic, load));
      if (protocol === 'kafka') return this.#kafka((address) => kafkaSender(address, topic, size));
    }
    return mqttSender(await this.#mqtt(load), topic, qos);
  }

  close(): void {
    for (const close of this.#closing.splice(0)) close();
  }

  async #mqtt(load: Load): Promise<MqttClient> {
    const client = await connectMqtt(this.#options, this.#surroundings);
    watch(client, load);
    this.#closing.push(() => client.end(true));
    return client;
  }

  async #kafka<End extends { close(): void }>(open: (address: KafkaAddress) => Promise<End>): Promise<End> {
    const told = this.#options.kafka ?? this.#surroundings.environment['POLYLOG_KAFKA'] ?? DEFAULT_KAFKA;
    const address = addressOf(told);
    if (address === undefined)
      throw new MqttFailure(`${told} is no address such as ${DEFAULT_KAFKA}`, EXIT.wrongUsage);
    try {
      const end = await open(address);
      this.#closing.push(() => end.close());
      return end;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code === undefined) throw error;
      throw new MqttFailure(
        `${told} cannot be reached: ${message === '' ? code : message}`,
        EXIT.notReachable,
      );
    }
  }
}

/** `host:port`, an IPv6 address in brackets. */
function addressOf(text: string): KafkaAddress | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

function lineOf(
  protocol: BenchProtocol,
  { output, size, qos, rate }: BenchOptions,
  result: LoadResult,
): string {
  const lost = result.sent - result.arrived;
  const isMqtt = protocol !== 'kafka';
  if (output === 'json')
    return `${JSON.stringify({ protocol, size, ...(isMqtt ? { qos } : {}), rate: rate ?? null, ...result, lost })}\n`;
  return [
    `${protocol}: ${result.arrived} records of ${size} bytes${isMqtt ? `, QoS ${qos}` : ''} in ${result.seconds} s`,
    `${result.recordsPerSecond} records/s`,
    `${result.megabytesPerSecond} MB/s`,
    `p50 ${result.p50Ms ?? '-'} ms`,
    `p99 ${result.p99Ms ?? '-'} ms`,
    `max ${result.maxMs ?? '-'} ms${lost > 0 ? ` · ${lost} lost` : ''}\n`,
  ].join(' · ');
}
