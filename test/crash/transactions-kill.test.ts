// A hub that is killed in the middle of transactions, at their ends above all: after each restart every transaction is there
// whole or not at all, in every partition and in the offsets that it commits, and one whose end was answered is as it said. A
// stored MQTT session that comes back after each kill has got, in the end, all of what is committed and nothing else.
import { connect, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { errorName } from '../../protocols/kafka/error-codes.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { KafkaSocket } from '../protocols/kafka/kafka-fixture.ts';
import { api, fetchOf } from '../protocols/kafka/kafka-requests.ts';
import { rawBatch, simpleRecord } from '../protocols/kafka/records/raw-batch.ts';
import { TransactionalClient } from '../protocols/kafka/transactions/transaction-client.ts';
import { committedRecords, decodeBatches } from './record-batches.ts';

const ROUNDS = 7;
const WORKERS = 4;
const TOPIC = 'killed';
const PARTITIONS = [0, 1, 2, 3];
const options = `[[topic]]\nname = "${TOPIC}"\npartitions = ${PARTITIONS.length}\nconfig = { "segment.bytes" = "16KiB" }\n`;

const directory = temporaryDirectory();
afterAll(() => directory.remove());
beforeAll(() => expect(inject('buildError')).toBe(''));

/** What a worker knows: its transactions are numbered, and each fourth one is aborted. */
class Worker {
  readonly id: string;
  readonly index: number;
  number = 0;
  readonly answered = new Set<number>();

  constructor(index: number) {
    this.index = index;
    this.id = `worker-${index}`;
  }

  /** Transactions, one after another, until the connection ends. */
  async run(client: TransactionalClient, onEnd: () => void): Promise<void> {
    for (;;) {
      const number = ++this.number;
      await this.#produce(client, number);
      expect(await client.commitOffset(number, { topic: TOPIC, partition: this.index })).toBe('NONE');
      expect(await client.end(isCommitted(number) ? 'commit' : 'abort')).toMatch(/^epoch /);
      this.answered.add(number);
      onEnd();
    }
  }

  async #produce(client: TransactionalClient, number: number): Promise<void> {
    const { producerId, producerEpoch } = client;
    const records = rawBatch([simpleRecord(0, null, Buffer.from(`${this.id}/${number}`))], {
      ...{ attributes: 0x10, producerId: BigInt(producerId), producerEpoch, baseSequence: 0 },
    });
    const answer = await client.socket.ask(api.produce, 12, {
      ...{ transactionalId: this.id, acks: -1, timeoutMs: 10_000 },
      topicData: [{ name: TOPIC, partitionData: PARTITIONS.map((index) => ({ index, records })) }],
    });
    const codes = answer.responses[0]?.partitionResponses.map(({ errorCode }) => errorName(errorCode));
    expect(codes).toEqual(PARTITIONS.map(() => 'NONE'));
  }
}

/** What came to a session that outlives its connections: each transaction once for each partition, or again after a kill. */
class StoredSession {
  readonly received = new Map<string, number>();
  #client: MqttClient | undefined;
  #onMessage: () => void = () => undefined;

  async connect(port: number): Promise<void> {
    const client = connect(`mqtt://127.0.0.1:${port}`, {
      ...{ clientId: 'stays', clean: false, protocolVersion: 5, reconnectPeriod: 0 },
      properties: { sessionExpiryInterval: 3600 },
    });
    this.#client = client;
    client.on('error', () => undefined); // a hub that is killed
    client.on('message', (_topic, payload) => {
      const text = `${payload}`;
      this.received.set(text, (this.received.get(text) ?? 0) + 1);
      this.#onMessage();
    });
    await new Promise<void>((resolve) => client.once('connect', () => resolve()));
    await client.subscribeAsync(TOPIC, { qos: 1 });
  }

  async close(): Promise<void> {
    await this.#client?.endAsync(true);
  }

  /** Resolves when each of the texts has come as often as it is there. */
  async has(texts: readonly string[]): Promise<void> {
    const isThere = (text: string): boolean => (this.received.get(text) ?? 0) >= PARTITIONS.length;
    while (!texts.every(isThere))
      await new Promise<void>((resolve) => {
        this.#onMessage = resolve;
      });
  }
}

it(`${ROUNDS} kills: transactions are there whole, or not at all`, { timeout: 180_000 }, async () => {
  const workers = Array.from({ length: WORKERS }, (_, index) => new Worker(index));
  const session = new StoredSession();
  const committed: string[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const hub = await startHubProcess(directory.path, options, ['kafka', 'mqtt']);
    await session.connect(hub.mqttPort);
    const clients = await Promise.all(
      workers.map(async ({ id }) => new TransactionalClient(await KafkaSocket.connect(hub.kafkaPort), id)),
    );
    // Whoever begins has what was decided completed, and aborts what was not.
    for (const client of clients) expect(await client.begin()).toMatch(/^epoch /);
    for (const worker of workers) {
      const numbers = await compare(clients[0]!.socket, worker);
      if (round === ROUNDS) committed.push(...numbers.map((number) => `${worker.id}/${number}`));
    }
    if (round === ROUNDS) {
      await session.has(committed);
      expect([...session.received.keys()].sort()).toEqual(committed.sort());
      await session.close();
      await hub.stop();
      break;
    }
    let left = 1 + Math.floor(Math.random() * 25);
    await new Promise<void>((reached, failed) => {
      const work = workers.map((worker, index) =>
        worker.run(clients[index]!, () => {
          if (--left === 0) reached();
        }),
      );
      for (const each of work) each.catch(failed);
    });
    await hub.kill();
    await Promise.all(clients.map(({ socket }) => socket.closed));
    await session.close();
  }
  expect(workers.every(({ answered }) => answered.size > 0)).toBe(true);
});

function isCommitted(number: number): boolean {
  return number % 4 !== 0;
}

/** @returns numbers of its transactions that are committed. */
async function compare(
  socket: KafkaSocket,
  { id, index, number, answered }: Worker,
): Promise<readonly number[]> {
  const found = await Promise.all(PARTITIONS.map((partition) => committedOf(socket, partition, id)));
  const [first = []] = found;
  for (const numbers of found) expect(numbers).toEqual(first);
  expect(first.filter((each) => !isCommitted(each))).toEqual([]);
  const expected = [...answered].filter(isCommitted);
  expect(expected.filter((each) => !first.includes(each))).toEqual([]);
  expect(first.every((each) => each <= number)).toBe(true);
  const answer = await socket.ask(api.offsetFetch, 8, {
    groups: [{ groupId: 'g', topics: [{ name: TOPIC, partitionIndexes: [index] }] }],
    requireStable: true,
  });
  expect(answer.groups[0]?.topics[0]?.partitions[0]).toMatchObject({
    ...{ errorCode: 0, committedOffset: first.at(-1) ?? -1 },
  });
  return first;
}

/** Numbers of the worker's transactions that a reader of committed records sees; nothing is unstable. */
async function committedOf(socket: KafkaSocket, partition: number, id: string): Promise<number[]> {
  const numbers: number[] = [];
  for (let offset = 0; ; ) {
    const request = fetchOf(TOPIC, offset, { partition, isolationLevel: 1 });
    const { responses } = await socket.ask(api.fetch, 11, request);
    const { errorCode, lastStableOffset, highWatermark, records, abortedTransactions } =
      responses[0]!.partitions[0]!; // of one partition
    expect([errorCode, lastStableOffset]).toEqual([0, highWatermark]);
    const batches = decodeBatches(records ?? Buffer.alloc(0));
    for (const { value } of committedRecords(batches, abortedTransactions ?? [], offset)) {
      const [worker, number] = value.split('/');
      if (worker === id) numbers.push(Number(number));
    }
    const last = batches.at(-1);
    if (last === undefined) return numbers;
    offset = last.nextOffset;
  }
}
