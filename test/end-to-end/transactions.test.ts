// Transactions of a Kafka producer at MQTT subscribers, on a real hub over real sockets: what is delivered and retained
// while one is open, when it is committed, and when it is aborted.
import type { Producer, Transaction } from 'kafkajs';
import { connect as connectMqttJs, type MqttClient as MqttJs } from 'mqtt';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createMqttFrontEnd } from '../../protocols/mqtt/front-end.ts';
import { kafkajsOn } from '../helpers/kafka-clients.ts';
import { mqttJsOn, Queue } from '../helpers/mqtt-clients.ts';
import { openTestKafka, type TestKafka } from '../protocols/kafka/kafka-fixture.ts';
import { mappingRule } from '../protocols/mqtt/mapping/rule-fixture.ts';

let kafka: TestKafka;
let producer: Producer;
let plain: Producer;
beforeEach(async () => {
  kafka = await openTestKafka();
  for (const [name, partitions] of [
    ['closed', 2],
    ['open', 1],
    ['ignored', 1],
  ] as const)
    await kafka.createTopic(name, {}, partitions);
  const client = kafkajsOn(kafka.port);
  producer = client.producer({ transactionalId: 'x', maxInFlightRequests: 1, idempotent: true });
  plain = client.producer();
  for (const each of [producer, plain]) {
    await each.connect();
    onTestFinished(() => each.disconnect());
  }
});

async function startMqtt(): Promise<number> {
  const frontEnd = createMqttFrontEnd(kafka.hub, {
    mappings: [
      mappingRule({ match: 'open/#', isolation: 'read_uncommitted' }),
      mappingRule({ match: 'ignored/#', retain: 'ignore' }),
    ],
  });
  const { port } = await frontEnd.listen({ name: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 50 });
  onTestFinished(() => frontEnd.close());
  return port;
}

interface Subscriber {
  readonly mqtt: MqttJs;
  /** `payload`, or `payload, retained`. */
  next(): Promise<string>;
}

async function subscribe(port: number, filter: string): Promise<Subscriber> {
  const mqtt = await mqttJsOn(port, 5);
  onTestFinished(() => mqtt.endAsync());
  const queue = new Queue<string>();
  mqtt.on('message', (_topic, payload, { retain }) => queue.push(`${payload}${retain ? ', retained' : ''}`));
  await mqtt.subscribeAsync(filter, { qos: 1, rap: true });
  return { mqtt, next: () => queue.next() };
}

const send = (
  to: Producer | Transaction,
  topic: string,
  partition: number,
  value: string,
  headers: Record<string, string> = {},
) => to.send({ topic, messages: [{ partition, value, headers }] });

describe('delivery', () => {
  it('waits for a transaction that stays open in its partition alone, and not at all where a mapping says so', async () => {
    const port = await startMqtt();
    const [closed, open] = [await subscribe(port, 'closed'), await subscribe(port, 'open')];
    const transaction = await producer.transaction();
    await send(transaction, 'closed', 0, 'held back');
    await send(transaction, 'open', 0, 'not held back');
    await send(plain, 'closed', 0, 'behind it');
    await send(plain, 'closed', 1, 'beside it');
    await send(plain, 'open', 0, 'behind it');
    expect(await closed.next()).toBe('beside it');
    expect([await open.next(), await open.next()]).toEqual(['not held back', 'behind it']);
    expect(kafka.frontEnd.transactionStatistics()).toMatchObject({ open: 1, committed: 0, aborted: 0 });
    expect(kafka.frontEnd.transactions.get('x')).toMatchObject({ state: 'ongoing' });
    await transaction.commit();
    expect([await closed.next(), await closed.next()]).toEqual(['held back', 'behind it']);
    await send(plain, 'open', 0, 'last');
    expect(await open.next()).toBe('last');
  });

  it('gives a transaction to those who have subscribed while it was open, and nothing of one that is aborted', async () => {
    const port = await startMqtt();
    const kept = await producer.transaction();
    await send(kept, 'closed', 0, 'news');
    const subscribed = [await subscribe(port, 'closed'), await subscribe(port, '$share/g/closed')];
    await kept.commit();
    for (const each of subscribed) expect(await each.next()).toBe('news');
    const lost = await producer.transaction();
    await send(lost, 'closed', 0, 'void');
    const late = await subscribe(port, 'closed');
    await lost.abort();
    await send(plain, 'closed', 0, 'last');
    expect(await late.next()).toBe('last');
  });

  it('leaves out what is aborted, except where a mapping says that it does not wait', async () => {
    const port = await startMqtt();
    const [closed, open] = [await subscribe(port, 'closed'), await subscribe(port, 'open')];
    const transaction = await producer.transaction();
    await send(transaction, 'closed', 0, 'void');
    await send(transaction, 'open', 0, 'void');
    await send(plain, 'closed', 0, 'good');
    await send(plain, 'open', 0, 'good');
    await transaction.abort();
    expect(await closed.next()).toBe('good');
    expect([await open.next(), await open.next()]).toEqual(['void', 'good']);
    const statistics = (): number => kafka.frontEnd.transactionStatistics().aborted;
    while (statistics() === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(kafka.frontEnd.transactionStatistics()).toMatchObject({
      ...{ open: 0, oldestOpenMs: 0, ending: 0, markersPending: 0, aborted: 1 },
    });
  });

  it('goes on for who was away while it was open: nothing twice, nothing void', async () => {
    const port = await startMqtt();
    const connect = async (queue: Queue<string>) => {
      const session = { clientId: 'stays', clean: false, properties: { sessionExpiryInterval: 3600 } };
      const mqtt = connectMqttJs(`mqtt://127.0.0.1:${port}`, { ...session, protocolVersion: 5 });
      // Before it is connected: what waits for it comes right behind CONNACK.
      mqtt.on('message', (_topic, payload) => queue.push(`${payload}`));
      await new Promise<void>((resolve) => mqtt.once('connect', () => resolve()));
      await mqtt.subscribeAsync('closed', { qos: 1 });
      return mqtt;
    };
    const [before, after] = [new Queue<string>(), new Queue<string>()];
    const first = await connect(before);
    await send(plain, 'closed', 0, 'one');
    expect(await before.next()).toBe('one');
    const [kept, lost] = [await producer.transaction(), 'void'];
    await send(kept, 'closed', 0, 'two');
    await first.endAsync();
    await send(plain, 'closed', 0, 'three');
    await kept.commit();
    const transaction = await producer.transaction();
    await send(transaction, 'closed', 0, lost);
    await transaction.abort();
    await send(plain, 'closed', 0, 'four');
    const second = await connect(after);
    onTestFinished(() => second.endAsync());
    expect([await after.next(), await after.next(), await after.next()]).toEqual(['two', 'three', 'four']);
  });
});

describe('what is retained', () => {
  const RETAIN = { 'mqtt.retain': '1' };

  it('is what a transaction has when it is committed, also one that was open at the first start', async () => {
    const transaction = await producer.transaction();
    await send(transaction, 'closed', 0, 'early', RETAIN);
    await send(plain, 'closed', 0, 'not retained');
    const port = await startMqtt();
    const live = await subscribe(port, 'closed');
    await transaction.commit();
    await send(plain, 'closed', 0, 'last');
    const told = [await live.next(), await live.next(), await live.next()];
    expect(told).toEqual(['early, retained', 'not retained', 'last']);
    expect(await (await subscribe(port, 'closed')).next()).toBe('early, retained');
  });

  it.each([
    ['a message', 'after'],
    ['an empty one, which clears it', ''],
  ])(
    'is %s that MQTT publishes while a transaction is open, whatever that commits',
    async (_title, payload) => {
      const port = await startMqtt();
      await kafka.createTopic('one');
      const live = await subscribe(port, 'one');
      await live.mqtt.publishAsync('one', 'first', { qos: 1, retain: true });
      const transaction = await producer.transaction();
      await send(transaction, 'one', 0, 'before', RETAIN);
      await live.mqtt.publishAsync('one', payload, { qos: 1, retain: true });
      const during = await subscribe(port, 'one');
      if (payload !== '') expect(await during.next()).toBe(`${payload}, retained`);
      await transaction.commit();
      const delivered = [await live.next(), await live.next(), await live.next()];
      expect(delivered).toEqual(['first, retained', 'before, retained', `${payload}, retained`]);
      const late = await subscribe(port, 'one');
      if (payload !== '') expect(await late.next()).toBe(`${payload}, retained`);
      await send(plain, 'one', 0, 'last');
      expect(await late.next()).toBe('last');
      // All that waited for the transaction, as a Kafka consumer that begins at the end of what is committed.
      const waited = [await during.next(), await during.next(), await during.next()];
      expect(waited).toEqual(['before, retained', `${payload}, retained`, 'last']);
    },
  );

  it('does not wait where a mapping says that delivery does not', async () => {
    const port = await startMqtt();
    const transaction = await producer.transaction();
    await send(transaction, 'open', 0, 'uncommitted', RETAIN);
    expect(await (await subscribe(port, 'open')).next()).toBe('uncommitted, retained');
    await transaction.abort();
  });

  it('is nothing where a mapping ignores it, whoever asks for it', async () => {
    const port = await startMqtt();
    const live = await subscribe(port, 'ignored');
    await send(plain, 'ignored', 0, 'by Kafka', RETAIN);
    await live.mqtt.publishAsync('ignored', 'by MQTT', { qos: 1, retain: true });
    expect([await live.next(), await live.next()]).toEqual(['by Kafka', 'by MQTT']);
    const late = await subscribe(port, 'ignored');
    await send(plain, 'ignored', 0, 'later');
    expect(await late.next()).toBe('later');
  });
});
