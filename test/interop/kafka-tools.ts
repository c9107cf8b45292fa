// Apache Kafka's own command-line tools. The jars come from Maven, once, into node_modules/.cache; a directory that
// already holds them can be named by POLYLOG_KAFKA_LIBS.
import { join } from 'node:path';
import { Child, type ChildOptions, run } from '../helpers/child.ts';
import type { KafkaClient, PlainRecord } from '../helpers/kafka-clients.ts';
import { cacheDirectory, type JarSet, javaArguments, prepareJars } from './java.ts';

const jars: JarSet = {
  pom: join(import.meta.dirname, 'kafka-tools', 'pom.xml'),
  directory: process.env['POLYLOG_KAFKA_LIBS'] ?? join(cacheDirectory, 'kafka-tools'),
};

export const kafkaToolJars = jars.directory;

/** Undefined when they can be used, else why not. */
export const prepareKafkaTools = (): Promise<string | undefined> => prepareJars(jars);

const toolArguments = (className: string, args: readonly string[]): string[] =>
  javaArguments([join(jars.directory, '*')], className, args);

export function kafkaTool(className: string, args: readonly string[], input?: Buffer): Promise<Buffer> {
  return run('java', toolArguments(className, args), { ...(input === undefined ? {} : { input }) });
}

/** A tool that runs until it is ended, or has done what it was told. */
export function startKafkaTool(
  className: string,
  args: readonly string[],
  options: ChildOptions = {},
): Child {
  return new Child('java', toolArguments(className, args), { timeoutMs: 120_000, ...options });
}

/** A console consumer from the beginning, until it is ended; it says each value on a line. */
export function startConsoleConsumer(
  port: number,
  topic: string,
  group: string,
  properties: readonly string[],
): Child {
  const place = ['--bootstrap-server', `127.0.0.1:${port}`, '--topic', topic, '--group', group];
  const told = properties.flatMap((property) => ['--command-property', property]);
  return startKafkaTool(CONSOLE_CONSUMER, [...place, '--from-beginning', ...told]);
}

const CONSOLE_PRODUCER = 'org.apache.kafka.tools.ConsoleProducer';
const CONSOLE_CONSUMER = 'org.apache.kafka.tools.consumer.ConsoleConsumer';
const GET_OFFSETS = 'org.apache.kafka.tools.GetOffsetShell';

/** Offset of partition 0 at a time: `earliest`, `latest`, `max-timestamp` or milliseconds; undefined when it prints none. */
export async function getOffset(port: number, topic: string, time: string): Promise<number | undefined> {
  const args = ['--bootstrap-server', `127.0.0.1:${port}`, '--topic', topic, '--time', time];
  const line = (await kafkaTool(GET_OFFSETS, args)).toString().trim();
  const match = /^[^:]+:0:(\d+)$/.exec(line);
  if (match === null && line !== '' && !/^[^:]+:0:$/.test(line)) throw new Error(`get-offsets said: ${line}`);
  return match === null ? undefined : Number(match[1]);
}

/** Text only going in, for it is a line a record; any bytes coming out. */
export const apacheTools: KafkaClient = {
  name: "Apache's console tools",
  groupsHeaders: false,

  async produce(port, topic, records) {
    const lines = records.map(({ key, value, headers }) => {
      const written = headers.map(([name, text]) => `${name}:${text}`).join(',');
      return `${written}\t${key}\t${value}\n`;
    });
    const properties = ['parse.key=true', 'parse.headers=true'].flatMap((property) => [
      '--reader-property',
      property,
    ]);
    const args = ['--bootstrap-server', `127.0.0.1:${port}`, '--topic', topic, ...properties];
    await kafkaTool(CONSOLE_PRODUCER, args, Buffer.from(lines.join('')));
  },

  async consume(port, groupId, topic, count) {
    const properties = [
      'print.key=true',
      'print.headers=true',
      `key.separator=${SEPARATOR}`,
      'line.separator=',
    ]
      .concat([`headers.separator=${HEADER_SEPARATOR}`, 'null.literal=NULL'])
      .flatMap((property) => ['--formatter-property', property]);
    const place = ['--bootstrap-server', `127.0.0.1:${port}`, '--topic', topic, '--group', groupId];
    const limits = ['--from-beginning', '--max-messages', `${count}`, '--timeout-ms', '30000'];
    const output = await kafkaTool(CONSOLE_CONSUMER, [...place, ...limits, ...properties]);
    if (count !== 1) throw new Error('the console consumer does not say where a record ends: ask for one');
    return [parseRecord(output)];
  },
};

const SEPARATOR = '\u0001';
const HEADER_SEPARATOR = '\u0002';

/** headers, key, value: the value last, for it may hold anything. */
function parseRecord(output: Buffer): PlainRecord {
  const keyStart = output.indexOf(SEPARATOR) + 1;
  const valueStart = output.indexOf(SEPARATOR, keyStart) + 1;
  if (keyStart === 0 || valueStart === 0) throw new Error(`the console consumer said: ${output}`);
  const written = output.subarray(0, keyStart - 1).toString();
  const headers = written === 'NO_HEADERS' ? [] : written.split(HEADER_SEPARATOR);
  return {
    key: output.subarray(keyStart, valueStart - 1),
    value: output.subarray(valueStart),
    headers: headers.map((header) => {
      const colon = header.indexOf(':');
      return [header.slice(0, colon), Buffer.from(header.slice(colon + 1))] as const;
    }),
  };
}
