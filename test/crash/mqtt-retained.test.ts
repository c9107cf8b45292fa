// Retained messages of a hub that is killed while more come: all that were acknowledged are there, those that were cleared are
// not, and each topic has what was acknowledged last, or what was on its way then.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { type RawMqtt, rawMqtt } from '../helpers/raw-mqtt.ts';

const LIVES = 2;
const TOPICS = 40;
/** Publishes that are acknowledged before the hub is killed in the middle of others. */
const ACKNOWLEDGED_PER_LIFE = 300;
const IN_FLIGHT = 50;

const directory = temporaryDirectory();
afterAll(() => directory.remove());
beforeAll(() => expect(inject('buildError')).toBe(''));

/** What may be retained of a topic: what was acknowledged last, and all that was sent behind it. Empty = nothing. */
type Possible = Map<string, string[]>;

async function connected(port: number, clientId: string): Promise<RawMqtt> {
  const client = await rawMqtt(port, 5);
  client.send({
    ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clientId, clean: true, keepalive: 0 },
    properties: { receiveMaximum: 1000 },
  });
  await client.expect('connack');
  return client;
}

/** Sends without end until so many are acknowledged; each topic's answers come in the order of its publishes. */
async function publishSome(client: RawMqtt, possible: Possible, next: () => number): Promise<void> {
  const sent: { readonly topic: string; readonly payload: string }[] = [];
  const send = () => {
    const number = next();
    const topic = `site/${number % TOPICS}/state`;
    // Every third clears.
    const payload = number % 3 === 0 ? '' : `${number}`;
    sent.push({ topic, payload });
    possible.set(topic, [...(possible.get(topic) ?? ['']), payload]);
    const messageId = (sent.length % 65_000) + 1;
    client.send({ cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: true });
  };
  for (let count = 0; count < IN_FLIGHT; count++) send();
  for (let acknowledged = 0; acknowledged < ACKNOWLEDGED_PER_LIFE; acknowledged++) {
    expect((await client.expect('puback')).reasonCode ?? 0).toBeLessThan(0x80);
    const { topic, payload } = sent[acknowledged]!;
    const after = possible.get(topic)!;
    possible.set(topic, after.slice(after.indexOf(payload)));
    send();
  }
}

async function retainedIn(client: RawMqtt): Promise<Map<string, string>> {
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'site/#', qos: 0 }] });
  // A filter of its own behind the others: when its message is here, all of theirs are.
  client.send({ cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'end', qos: 0 }] });
  const found = new Map<string, string>();
  for (;;) {
    const packet = await client.next();
    if (packet.cmd !== 'publish') continue;
    if (packet.topic === 'end') return found;
    expect(packet.retain).toBe(true);
    found.set(packet.topic, packet.payload.toString());
  }
}

it('after each kill: acknowledged ones are there, cleared ones are not', { timeout: 120_000 }, async () => {
  const possible: Possible = new Map();
  let number = 0;
  for (let life = 0; life <= LIVES; life++) {
    const hub = await startHubProcess(directory.path, '', ['mqtt']);
    const client = await connected(hub.mqttPort, `life-${life}`);
    client.send({
      cmd: 'publish',
      topic: 'end',
      payload: 'x',
      qos: 1,
      messageId: 1,
      dup: false,
      retain: true,
    });
    await client.expect('puback');
    const found = await retainedIn(await connected(hub.mqttPort, `reader-${life}`));
    for (const [topic, payloads] of possible) {
      expect([topic, payloads.includes(found.get(topic) ?? '')]).toEqual([topic, true]);
      // It cannot be taken back any more.
      possible.set(topic, [found.get(topic) ?? '']);
    }
    expect([...found.keys()].filter((topic) => !possible.has(topic))).toEqual([]);
    if (life < LIVES) await publishSome(client, possible, () => number++);
    await hub.kill();
  }
  expect(possible.size).toBe(TOPICS);
});
