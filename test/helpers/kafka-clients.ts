// The Kafka clients of npm behind one small face, so that a test of "each Kafka client" is a loop.
import { Consumer, Producer } from '@platformatic/kafka';
import { Kafka, logLevel } from 'kafkajs';

export interface PlainRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** In order, duplicates kept, as far as the client can show it. */
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

export interface KafkaClient {
  readonly name: string;
  /** Headers of one name stay in order, but not among those of other names. */
  readonly groupsHeaders: boolean;
  produce(port: number, topic: string, records: readonly PlainRecord[]): Promise<void>;
  /** The next `count` records of a topic for a group without commits, from the beginning. */
  consume(port: number, groupId: string, topic: string, count: number): Promise<PlainRecord[]>;
}

export const kafkajs: KafkaClient = {
  name: 'kafkajs',
  groupsHeaders: true,

  async produce(port, topic, records) {
    const producer = kafkajsOn(port).producer();
    await producer.connect();
    try {
      const messages = records.map(({ key, value, headers }) => ({
        key,
        value,
        headers: groupedHeaders(headers),
      }));
      await producer.send({ topic, messages });
    } finally {
      await producer.disconnect();
    }
  },

  async consume(port, groupId, topic, count) {
    const consumer = kafkajsOn(port).consumer({ groupId });
    await consumer.connect();
    try {
      await consumer.subscribe({ topic, fromBeginning: true });
      const records: PlainRecord[] = [];
      await new Promise<void>((resolve, reject) => {
        const eachMessage = async ({ message }: { message: KafkajsMessage }): Promise<void> => {
          const headers = Object.entries(message.headers ?? {}).flatMap(([name, values]) =>
            (Array.isArray(values) ? values : [values]).map(
              (value) => [name, value === undefined ? null : Buffer.from(value)] as const,
            ),
          );
          records.push({ key: message.key, value: message.value, headers });
          if (records.length === count) resolve();
        };
        consumer.run({ eachMessage }).catch(reject);
      });
      return records;
    } finally {
      await consumer.disconnect();
    }
  },
};

interface KafkajsMessage {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
}

export function kafkajsOn(port: number): Kafka {
  return new Kafka({
    clientId: 'kafkajs',
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 8 },
  });
}

function groupedHeaders(headers: PlainRecord['headers']): Record<string, Buffer[]> {
  const grouped: Record<string, Buffer[]> = {};
  for (const [name, value] of headers) {
    if (value === null) throw new Error('kafkajs cannot write a null header');
    grouped[name] = [...(grouped[name] ?? []), value];
  }
  return grouped;
}

export const platformatic: KafkaClient = {
  name: '@platformatic/kafka',
  groupsHeaders: false,

  async produce(port, topic, records) {
    const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
      clientId: 'platformatic',
      bootstrapBrokers: [`127.0.0.1:${port}`],
      autocreateTopics: true,
    });
    try {
      await producer.send({
        acks: -1,
        messages: records.map(({ key, value, headers }) => ({
          topic,
          // The client writes a missing key or value as null.
          ...(key === null ? {} : { key }),
          ...(value === null ? {} : { value }),
          // Keyed by object, not by text: this is how the client takes duplicates.
          headers: new Map(headers.map(([name, text]) => [Buffer.from(name), text as Buffer])),
        })),
      });
    } finally {
      await producer.close();
    }
  },

  async consume(port, groupId, topic, count) {
    const consumer = new Consumer({
      clientId: 'platformatic',
      groupId,
      bootstrapBrokers: [`127.0.0.1:${port}`],
      autocommit: true,
    });
    try {
      const stream = await consumer.consume({ topics: [topic], mode: 'earliest', maxWaitTime: 500 });
      const records: PlainRecord[] = [];
      for await (const message of stream) {
        records.push({
          key: message.key ?? null,
          value: message.value ?? null,
          headers: [...message.headers].map(([name, value]) => [`${name}`, value]),
        });
        if (records.length === count) break;
      }
      return records;
    } finally {
      await consumer.close(true);
    }
  },
};

export const npmKafkaClients: readonly KafkaClient[] = [kafkajs, platformatic];
