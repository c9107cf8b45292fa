// Sessions under chaos: clients that publish to each other at QoS 1 and 2 while connections are torn, taken over, and the hub
// is stopped and killed. At QoS 1 nothing is lost and at QoS 2 everything comes exactly once; both in order, per topic. The
// members of a group get everything too, among them; and what was retained last of each topic is what is retained.
// POLYLOG_CHAOS_CLIENTS and POLYLOG_CHAOS_SECONDS make it larger.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type HubProcess, startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { rawMqtt } from '../helpers/raw-mqtt.ts';
import { ChaosClient } from './mqtt-chaos-client.ts';

const CLIENTS = Number(process.env['POLYLOG_CHAOS_CLIENTS'] ?? 10);
/** Of the shared subscription. */
const MEMBERS = Math.ceil(CLIENTS / 5);
const SECONDS = Number(process.env['POLYLOG_CHAOS_SECONDS'] ?? 2);
/** Messages that are received between one end of the hub and the next. */
const MESSAGES_PER_LIFE = 30 * CLIENTS;

const directory = temporaryDirectory();
// A process that a failing test leaves behind ends with this one.
afterAll(() => directory.remove());
beforeAll(() => expect(inject('buildError')).toBe(''));

/** What has been sent and received, by topic. */
class Model {
  readonly sent = new Map<string, number>();
  readonly received = new Map<string, number[]>();
  /** By topic: what its publisher has retained last, and what members of the group have received. */
  readonly retained = new Map<string, string>();
  readonly shared = new Map<string, Set<number>>();
  readonly faults: string[] = [];
  receivedCount = 0;

  next(topic: string): number {
    const sequence = this.sent.get(topic) ?? 0;
    this.sent.set(topic, sequence + 1);
    return sequence;
  }

  receive(topic: string, sequence: number): void {
    const all = this.received.get(topic) ?? [];
    all.push(sequence);
    this.received.set(topic, all);
    this.receivedCount++;
  }

  receiveShared(topic: string, sequence: number): void {
    const all = this.shared.get(topic) ?? new Set();
    this.shared.set(topic, all.add(sequence));
  }

  get isComplete(): boolean {
    return [...this.sent].every(
      ([topic, count]) =>
        new Set(this.received.get(topic)).size === count && this.shared.get(topic)?.size === count,
    );
  }
}

it('sessions through chaos: QoS 1 loses nothing, QoS 2 comes exactly once, in order', {
  timeout: (2 * SECONDS + 150) * 1000,
}, async () => {
  const model = new Model();
  let hub: HubProcess = await startHubProcess(directory.path, '', ['mqtt']);
  let ready: Promise<unknown> = Promise.resolve();
  let isOver = false;
  let progressed = (): void => {};
  let lifeEnds = MESSAGES_PER_LIFE;
  let endOfLife = (): void => {};

  const onReceived = (topic: string, payload: string): void => {
    model.receive(topic, Number(payload));
    if (model.receivedCount >= lifeEnds) endOfLife();
    if (!isOver) disturb();
    progressed();
  };
  const port = async (): Promise<number> => {
    await ready;
    return hub.mqttPort;
  };
  const onFault = (message: string) => model.faults.push(message);
  const clients: ChaosClient[] = Array.from(
    { length: CLIENTS },
    (_, index) =>
      new ChaosClient({
        clientId: `client-${index}`,
        filter: `chaos/+/${(index + 1) % CLIENTS}`,
        port,
        onReceived,
        onIdle: () => {
          // The group is there from its first member on, and is to get everything.
          if (!isOver && members.some(({ isIdle }) => isIdle)) publishSome(index);
          progressed();
        },
        onFault,
      }),
  );
  const members: ChaosClient[] = Array.from(
    { length: MEMBERS },
    (_, index) =>
      new ChaosClient({
        clientId: `member-${index}`,
        filter: '$share/members/chaos/#',
        port,
        onReceived: (topic, payload) => {
          model.receiveShared(topic, Number(payload));
          progressed();
        },
        onIdle: () => {
          if (index === 0 && model.sent.size === 0)
            for (let each = 0; each < CLIENTS; each++) publishSome(each);
          progressed();
        },
        onFault,
      }),
  );
  const everybody = [...clients, ...members];
  const publishSome = (index: number): void => {
    for (let count = 0; count < 10; count++) {
      const qos = Math.random() < 0.5 ? 1 : 2;
      const topic = `chaos/qos${qos}/${index}`;
      const payload = String(model.next(topic));
      const retain = Math.random() < 0.2;
      if (retain) model.retained.set(topic, payload);
      clients[index]?.publish(topic, payload, qos, retain);
    }
  };
  /** Tears a connection, or takes one over, now and then. */
  const disturb = (): void => {
    const chance = Math.random();
    const client = everybody[Math.floor(Math.random() * everybody.length)];
    if (chance < 0.01) client?.disconnect();
    else if (chance < 0.02) client?.connect();
  };

  const endsAtMs = Date.now() + SECONDS * 1000;
  let lives = 0;
  do {
    lifeEnds = model.receivedCount + MESSAGES_PER_LIFE;
    await new Promise<void>((resolve) => {
      endOfLife = resolve;
    });
    const last = hub;
    // Three are killed, and the fourth may say goodbye.
    const ended = lives++ % 4 === 3 ? last.stop() : last.kill();
    ready = ended.then(async () => {
      hub = await startHubProcess(directory.path, '', ['mqtt']);
    });
    await ready;
  } while (Date.now() < endsAtMs);
  isOver = true;
  while (!(everybody.every(({ isIdle }) => isIdle) && model.isComplete)) {
    await new Promise<void>((resolve) => {
      progressed = resolve;
    });
  }
  for (const client of everybody) client.close();
  const retained = await retainedOf(hub, model.retained.size);
  expect((await hub.stop()).code).toBe(0);

  expect(model.faults).toEqual([]);
  expect(retained).toEqual(model.retained);
  for (const [topic, count] of model.sent) {
    const received = model.received.get(topic) ?? [];
    const all = Array.from({ length: count }, (_, sequence) => sequence);
    if (topic.includes('qos2')) expect(received, topic).toEqual(all);
    // The first time that each comes; after a crash some come again.
    else expect([...new Set(received)], topic).toEqual(all);
  }
  expect(lives).toBeGreaterThan(0);
});

/** What a new subscriber is told of each topic. */
async function retainedOf(hub: HubProcess, count: number): Promise<Map<string, string>> {
  const client = await rawMqtt(hub.mqttPort, 5);
  client.send(
    { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clientId: 'late', clean: true, keepalive: 0 },
    { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'chaos/#', qos: 0 }] },
  );
  await client.expect('connack');
  await client.expect('suback');
  const retained = new Map<string, string>();
  while (retained.size < count) {
    const { topic, payload } = await client.expect('publish');
    retained.set(topic, payload.toString());
  }
  return retained;
}
