// A hub that is killed in the middle of a load, again and again on one data directory: every record that was
// acknowledged through either door is there once after the restart, and consumers go on where they committed.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type HubProcess, startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { kafkajsOn } from '../helpers/kafka-clients.ts';
import { mqttJsOn } from '../helpers/mqtt-clients.ts';
import { Bytes, Cursor, type FetchedRecord, RawKafka, recordBatch } from '../helpers/raw-kafka.ts';

const ROUNDS = 10;
const TOPIC = 'crash';
const GROUP = 'crash-group';
/** Small segments and checkpoints, so that kills meet segments being closed and checkpoints being written. */
const options = [
  '[kafka]\ngroup_initial_rebalance_delay = "0s"\n',
  '[storage]\ncheckpoint_size = "64KiB"\n',
  `[[topic]]\nname = "${TOPIC}"\nconfig = { "segment.bytes" = "64KiB" }\n`,
].join('\n');

const directory = temporaryDirectory();
// A process that a failing test leaves behind ends with this one.
afterAll(() => directory.remove());
beforeAll(() => expect(inject('buildError')).toBe(''));

/** What clients know: values sent, values acknowledged, the last offset committed and acknowledged. */
class Witness {
  readonly sent = new Set<string>();
  readonly acknowledged = new Set<string>();
  acknowledgedOffset = 0;
  attemptedOffset = 0;
  #left = Number.POSITIVE_INFINITY;
  #reached: () => void = () => undefined;

  /** Resolves, in the same tick, when `count` more records have been acknowledged. */
  afterAcknowledgements(count: number): Promise<void> {
    this.#left = count;
    return new Promise((resolve) => {
      this.#reached = resolve;
    });
  }

  acknowledge(values: readonly string[]): void {
    for (const value of values) this.acknowledged.add(value);
    this.#left -= values.length;
    if (this.#left <= 0) this.#reached();
  }
}

it(`${ROUNDS} kills: nothing acknowledged is lost, nothing is there twice`, {
  timeout: 180_000,
}, async () => {
  const witness = new Witness();
  let checked = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const hub = await startHubProcess(directory.path, options, ['kafka', 'mqtt']);
    checked = await checkLog(hub, witness, checked);
    await checkCommitted(hub, witness);
    // Somewhere between a few and a thousand records into the load; another place in each round and each run.
    const acknowledgements = 10 + Math.floor(Math.random() * 1_000);
    const reached = witness.afterAcknowledgements(acknowledgements);
    const writers = await startWriters(hub, witness, `${round}`);
    // A writer that fails ends the wait as well.
    await Promise.race([reached, writers.ended]);
    await hub.kill();
    await writers.ended;
  }
  const hub = await startHubProcess(directory.path, options, ['kafka', 'mqtt']);
  await checkLog(hub, witness, 0);
  await checkCommitted(hub, witness);
  await checkResumes(hub, witness);
  expect((await hub.stop()).code).toBe(0);
  // Enough happened for this to say something.
  expect(witness.acknowledged.size).toBeGreaterThan(ROUNDS * 10);
});

// ------------------------------------------------------------------------------------------------ writers

/** Two Kafka producers, two MQTT publishers and a committer, each with requests in flight, none retrying. */
async function startWriters(
  hub: HubProcess,
  witness: Witness,
  round: string,
): Promise<{ ended: Promise<unknown> }> {
  const ended = [
    await startProducer(hub, witness, `${round}-kafka-a`, 1),
    await startProducer(hub, witness, `${round}-kafka-b`, 10),
    await startPublisher(hub, witness, `${round}-mqtt-4`, 4),
    await startPublisher(hub, witness, `${round}-mqtt-5`, 5),
    await startCommitter(hub, witness),
  ];
  return { ended: Promise.all(ended.map(({ done }) => done)) };
}

/** Five produce requests in flight, until the connection ends. */
async function startProducer(
  hub: HubProcess,
  witness: Witness,
  name: string,
  batchSize: number,
): Promise<Loop> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  let sequence = 0;
  return loops(5, async () => {
    const values = Array.from({ length: batchSize }, () => `${name}-${sequence++}`);
    for (const value of values) witness.sent.add(value);
    const records = values.map((value) => ({ key: null, value: Buffer.from(value), headers: [] }));
    const { error } = await raw.produce(TOPIC, 0, recordBatch(records));
    expect(error).toBe(0);
    witness.acknowledge(values);
  });
}

/** Twenty messages of QoS 1 in flight, until the connection ends. */
async function startPublisher(
  hub: HubProcess,
  witness: Witness,
  name: string,
  version: 4 | 5,
): Promise<Loop> {
  const client = await mqttJsOn(hub.mqttPort, version);
  const closed = new Promise<never>((_resolve, reject) => {
    client.once('close', () => reject(new ConnectionEnded()));
  });
  closed.catch(() => undefined);
  client.on('error', () => undefined);
  let sequence = 0;
  return loops(20, async () => {
    const value = `${name}-${sequence++}`;
    witness.sent.add(value);
    // MQTT.js leaves a publish without an answer pending when the connection ends.
    await Promise.race([client.publishAsync(`${TOPIC}/${name}`, value, { qos: 1 }), closed]);
    witness.acknowledge([value]);
  });
}

/** Commits the offset behind what is acknowledged, as a consumer that reads along does. */
async function startCommitter(hub: HubProcess, witness: Witness): Promise<Loop> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  return loops(1, async () => {
    const { offset } = await raw.listOffset(TOPIC, -1);
    witness.attemptedOffset = offset;
    await commitOffset(raw, offset);
    witness.acknowledgedOffset = offset;
  });
}

class ConnectionEnded extends Error {}

interface Loop {
  readonly done: Promise<unknown>;
}

/** `width` repetitions at once, each until its step meets the end of the connection. */
function loops(width: number, step: () => Promise<void>): Loop {
  const repeat = async (): Promise<void> => {
    try {
      for (;;) await step();
    } catch (error) {
      const isEnd = error instanceof ConnectionEnded || /clos|disconnect/i.test(String(error));
      if (!isEnd) throw error;
    }
  };
  return { done: Promise.all(Array.from({ length: width }, repeat)) };
}

// ------------------------------------------------------------------------------------------------- checks

/** Checks the log from `fromOffset` on, and the acknowledged records as a whole when it starts at 0. */
async function checkLog(hub: HubProcess, witness: Witness, fromOffset: number): Promise<number> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  await raw.ensureTopic(TOPIC);
  const records = await raw.fetchAll(TOPIC, 0, fromOffset);
  const end = (await raw.listOffset(TOPIC, -1)).offset;
  raw.close();
  expect(records.map(({ offset }) => offset)).toEqual(records.map((_record, index) => fromOffset + index));
  expect(end).toBe(fromOffset + records.length);
  const stored = records.map(({ value }) => `${value}`);
  expect(new Set(stored).size).toBe(stored.length);
  expect(stored.filter((value) => !witness.sent.has(value))).toEqual([]);
  checkOrder(records);
  const seen = new Set(stored);
  const isWhole = fromOffset === 0;
  const missing = [...witness.acknowledged].filter(
    (value) => !seen.has(value) && (isWhole || !found.has(value)),
  );
  expect(missing).toEqual([]);
  for (const value of seen) found.add(value);
  return end;
}

/** Values found by earlier checks. */
const found = new Set<string>();

/** What one MQTT publisher sent is in the order in which it was sent. */
function checkOrder(records: readonly FetchedRecord[]): void {
  const last = new Map<string, number>();
  for (const { value } of records) {
    const [, name = '', sequence = ''] = /^(.*-mqtt-\d)-(\d+)$/.exec(`${value}`) ?? [];
    if (name === '') continue;
    expect(Number(sequence)).toBeGreaterThan(last.get(name) ?? -1);
    last.set(name, Number(sequence));
  }
}

/** The committed offset is the last acknowledged one, or the one that was on its way. */
async function checkCommitted(hub: HubProcess, witness: Witness): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  const committed = await committedOffset(raw);
  raw.close();
  if (witness.acknowledgedOffset === 0 && committed === -1) return;
  expect([witness.acknowledgedOffset, witness.attemptedOffset]).toContain(committed);
  witness.acknowledgedOffset = committed;
}

/** A real consumer of the group gets the record at the committed offset first. */
async function checkResumes(hub: HubProcess, witness: Witness): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  await raw.produce(TOPIC, 0, recordBatch([{ key: null, value: Buffer.from('afterwards'), headers: [] }]));
  raw.close();
  const consumer = kafkajsOn(hub.kafkaPort).consumer({ groupId: GROUP });
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  const first = await new Promise<string>((resolve, reject) => {
    const eachMessage = async ({ message }: { message: { offset: string } }): Promise<void> =>
      resolve(message.offset);
    consumer.run({ autoCommit: false, eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  expect(Number(first)).toBe(witness.acknowledgedOffset);
}

// ------------------------------------------------------------------------------- offsets, as a lone consumer

async function commitOffset(raw: RawKafka, offset: number): Promise<void> {
  const body = new Bytes().string(GROUP).i32(-1).string('').i64(-1);
  body.i32(1).string(TOPIC).i32(1).i32(0).i64(offset).string('');
  const answer = new Cursor(await raw.request(8, 2, body.done()));
  answer.skip(4).string();
  answer.skip(4 + 4);
  expect(answer.i16()).toBe(0);
}

async function committedOffset(raw: RawKafka): Promise<number> {
  const body = new Bytes().string(GROUP).i32(1).string(TOPIC).i32(1).i32(0);
  const answer = new Cursor(await raw.request(9, 1, body.done()));
  answer.skip(4).string();
  answer.skip(4 + 4);
  return answer.i64();
}
