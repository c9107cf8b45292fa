// What is seen of a topic into which transactions write: by Apache's reader of committed records, and by an MQTT
// subscriber, which sees everything that is committed and nothing else.
import { deepEqual, equal } from 'node:assert/strict';
import { mqttJsOn } from '../helpers/mqtt-clients.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { runJava } from './java.ts';

export type Isolation = 'read_committed' | 'read_uncommitted';

/** What Java's reader says of each record, in order within each partition. */
export async function readRecords(port: number, topic: string, isolation: Isolation): Promise<SaidRecord[]> {
  const output = `${await runJava('ReaderProgram', [`${port}`, topic, isolation], { timeoutMs: 120_000 })}`;
  const records = output.split('\n').filter((line) => line.startsWith('record: '));
  // Its own form (Report.java).
  return records.map((line) => JSON.parse(line.slice('record: '.length)) as SaidRecord);
}

interface SaidRecord {
  readonly key: string | null;
  readonly value: string | null;
}

export const readValues = async (port: number, topic: string, isolation: Isolation): Promise<string[]> =>
  (await readRecords(port, topic, isolation)).map(({ value }) => value ?? '');

export interface CommittedView {
  /** Ends the topic with a record to each partition, and compares all values that came before with these, as a bag. */
  check(values: readonly string[]): Promise<void>;
}

const END = 'the end of the partition';

/** The topic is made by subscribing's end. */
export async function subscribeToCommitted(
  ports: { readonly kafkaPort: number; readonly mqttPort: number },
  topic: string,
): Promise<CommittedView> {
  const client = await mqttJsOn(ports.mqttPort, 5);
  const seen: string[] = [];
  let ends = 0;
  let wanted = Number.POSITIVE_INFINITY;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  client.on('message', (_topic, payload) => {
    if (`${payload}` === END) ends += 1;
    else seen.push(`${payload}`);
    if (ends >= wanted) finish();
  });
  await client.subscribeAsync(topic, { qos: 1 });
  return {
    async check(values) {
      const raw = await RawKafka.connect(ports.kafkaPort);
      const record = { key: null, value: Buffer.from(END), headers: [] };
      let partitions = 0;
      while ((await raw.produce(topic, partitions, recordBatch([record]))).error === 0) partitions += 1;
      raw.close();
      equal(partitions > 0, true);
      wanted = partitions;
      if (ends >= wanted) finish();
      await finished;
      await client.endAsync();
      deepEqual(seen.toSorted(), values.toSorted());
    },
  };
}
