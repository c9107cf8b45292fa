// A filter that matches a large part of very many topics: its messages come in the order of the table's log, and each of them
// once all the same, whatever happens meanwhile.
import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import type { Connected, Serving } from '../front-end-fixture.ts';
import { eventually, serve } from '../front-end-fixture.ts';
import { KEPT, ping, subscribe } from '../sessions/sessions-fixture.ts';

const TOPICS = Array.from({ length: 120 }, (_, number) => `site/${number % 10}/${number}`);
/** Every message has to be read from the log. */
const UNCACHED = { retainedCacheBytesMax: 0 };
const NARROW = { clientId: 'one', clean: false, properties: { ...KEPT.properties, receiveMaximum: 1 } };

const logOf = ({ hub }: Serving) => hub.stateLog('__mqtt_retained');

async function retainAll(serving: Serving): Promise<Connected> {
  const publisher = await serving.client(5);
  const emptied = TOPICS.slice(20, 22);
  for (const topic of TOPICS) send(publisher, topic, 'old');
  for (const topic of TOPICS.slice(0, 20)) send(publisher, topic, 'new');
  for (const topic of emptied) send(publisher, topic, '');
  for (let left = TOPICS.length + 22; left > 0; left--) await publisher.expect('puback');
  return publisher;
}

let packetIds = 0;

function send(client: Connected, topic: string, payload: string): void {
  const messageId = (packetIds++ % 65_000) + 1;
  client.send({ cmd: 'publish', topic, payload, qos: 1, dup: false, retain: true, messageId });
}

async function retain(client: Connected, topic: string, payload: string): Promise<void> {
  send(client, topic, payload);
  await client.expect('puback');
}

async function take(client: Connected, count: number): Promise<IPublishPacket[]> {
  const received: IPublishPacket[] = [];
  while (received.length < count) {
    const packet = await client.expect('publish');
    received.push(packet);
    if (packet.qos === 1) client.send({ cmd: 'puback', messageId: packet.messageId! });
  }
  return received;
}

async function breakOff(client: Connected, { frontEnd }: Serving): Promise<void> {
  const connections = () => frontEnd.listeners()[0]?.connections;
  const before = connections() ?? 0;
  client.socket.destroy();
  await eventually(() => connections() === before - 1);
}

const topicsOf = (packets: readonly IPublishPacket[]) => packets.map(({ topic }) => topic).sort();
const LEFT = TOPICS.filter((topic) => topic !== TOPICS[20] && topic !== TOPICS[21]).sort();

it('is sent the newest of each topic, and none of those that have none any more', async () => {
  const serving = await serve(UNCACHED);
  await retainAll(serving);
  const client = await serving.client(5);
  await subscribe(client, 'site/#', 1);
  const received = await take(client, LEFT.length);
  expect(topicsOf(received)).toEqual(LEFT);
  const isNew = ({ payload }: IPublishPacket) => `${payload}` === 'new';
  expect(topicsOf(received.filter(isNew))).toEqual(TOPICS.slice(0, 20).sort());
  expect(logOf(serving)).toMatchObject({ reads: 0 });
  await ping(client);
});

it('is sent what it matches and nothing else', async () => {
  const serving = await serve(UNCACHED);
  await retainAll(serving);
  const client = await serving.client(5);
  await subscribe(client, 'site/7/+', 1);
  const matching = LEFT.filter((topic) => topic.startsWith('site/7/'));
  expect(topicsOf(await take(client, matching.length))).toEqual(matching);
  expect(logOf(serving)).toMatchObject({ reads: 0 });
  await ping(client);
});

it('goes on where its connection broke off, and gets what has changed meanwhile as a message', async () => {
  const serving = await serve(UNCACHED);
  const publisher = await retainAll(serving);
  const first = await serving.client(5, NARROW);
  await subscribe(first, '#', 1);
  const sent = await take(first, 40);
  const onItsWay = await first.expect('publish');
  await breakOff(first, serving);
  const taken = new Set(topicsOf([...sent, onItsWay]));
  const changed = LEFT.filter((topic) => !taken.has(topic)).slice(0, 5);
  for (const topic of changed) await retain(publisher, topic, 'changed');
  const again = await serving.client(5, { ...NARROW, properties: KEPT.properties });
  const rest = await take(again, LEFT.length - sent.length);
  expect(topicsOf([...sent, ...rest])).toEqual(LEFT);
  const isChanged = ({ payload }: IPublishPacket) => `${payload}` === 'changed';
  expect(topicsOf(rest.filter(isChanged))).toEqual(changed);
  await ping(again);
});

it('is sent them one by one where reading all that was ever retained costs more', async () => {
  const serving = await serve(UNCACHED);
  const publisher = await serving.client(5);
  for (let turn = 0; turn < 40; turn++) {
    for (const topic of TOPICS.slice(0, 10)) send(publisher, topic, `${turn}`);
    for (let left = 10; left > 0; left--) await publisher.expect('puback');
  }
  const client = await serving.client(5);
  await subscribe(client, '#', 1);
  expect((await take(client, 10)).map(({ payload }) => `${payload}`)).toEqual(Array(10).fill('39'));
  expect(logOf(serving)).toMatchObject({ reads: 10, scans: 0 });
});

it('is sent what memory has without a look at the log', async () => {
  const serving = await serve();
  await retainAll(serving);
  const client = await serving.client(5);
  await subscribe(client, '#', 1);
  expect(topicsOf(await take(client, LEFT.length))).toEqual(LEFT);
  expect(logOf(serving)).toMatchObject({ reads: 0, scans: 0 });
});
