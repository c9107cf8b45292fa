// A session that outlives its connection is owed the retained messages of its filters like any other message (section 4.1):
// what it has not been sent when its connection ends, it is sent by the next one.
import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import type { Connected, Serving } from '../front-end-fixture.ts';
import { eventually, serve } from '../front-end-fixture.ts';
import { crash, KEPT, ping, subscribe } from '../sessions/sessions-fixture.ts';

const TOPICS = ['a', 'b', 'c', 'd', 'e'];
const NARROW = { clientId: 'one', clean: false, properties: { ...KEPT.properties, receiveMaximum: 1 } };

async function servingRetained(): Promise<Serving> {
  const serving = await serve();
  const publisher = await serving.client(5);
  for (const topic of TOPICS) await retain(publisher, topic, `of ${topic}`);
  return serving;
}

async function retain(client: Connected, topic: string, payload: string): Promise<void> {
  client.send({ cmd: 'publish', topic, payload, qos: 1, messageId: 1, dup: false, retain: true });
  await client.expect('puback');
}

/** Takes and acknowledges so many. */
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

async function atRest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

const topicsOf = (packets: readonly IPublishPacket[]) => packets.map(({ topic }) => topic);

it('in the same order and no message twice, but for the one that was on its way', async () => {
  const serving = await servingRetained();
  const first = await serving.client(5, NARROW);
  await subscribe(first, '#', 1);
  const sent = topicsOf(await take(first, 2));
  const onItsWay = await first.expect('publish');
  await breakOff(first, serving);
  const again = await serving.client(5, NARROW);
  const rest = await take(again, 3);
  expect(rest[0]).toMatchObject({ topic: onItsWay.topic, dup: true, retain: true });
  expect(rest[1]).toMatchObject({ dup: false, retain: true });
  expect([...sent, ...topicsOf(rest)]).toEqual(TOPICS);
  await ping(again);
});

it('and none that has changed meanwhile: the new one comes as a message', async () => {
  const serving = await servingRetained();
  const first = await serving.client(5, NARROW);
  await subscribe(first, '#', 1);
  await first.expect('publish');
  await breakOff(first, serving);
  await retain(await serving.client(5), 'd', 'new');
  const again = await serving.client(5, { ...NARROW, properties: KEPT.properties });
  const received = await take(again, 5);
  expect(received.filter(({ topic }) => topic === 'd').map(({ payload }) => `${payload}`)).toEqual(['new']);
  await ping(again);
});

it('after a crash of the hub too, which does not know how far it was', async () => {
  const serving = await servingRetained();
  const first = await serving.client(5, NARROW);
  await subscribe(first, '#', 1);
  await first.expect('publish');
  const connect = await crash(serving);
  const again = await connect('one');
  const received = topicsOf(await take(again, TOPICS.length));
  expect(new Set(received)).toEqual(new Set(TOPICS));
});

it('but not again once it has been sent, which is written with what changes next', async () => {
  const serving = await servingRetained();
  const first = await serving.client(5, { clientId: 'one', ...KEPT });
  await subscribe(first, '#', 1);
  await take(first, TOPICS.length);
  await ping(first);
  await atRest();
  serving.hub.clock.advance(1000);
  await atRest();
  const connect = await crash(serving);
  const again = await connect('one');
  await atRest();
  await ping(again);
});

it('and nothing of a filter that it has unsubscribed from', async () => {
  const serving = await servingRetained();
  const first = await serving.client(5, NARROW);
  await subscribe(first, '#', 1);
  const onItsWay = await first.expect('publish');
  first.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['#'] });
  await first.expect('unsuback');
  first.send({ cmd: 'puback', messageId: onItsWay.messageId! });
  await atRest();
  await breakOff(first, serving);
  const again = await serving.client(5, NARROW);
  await atRest();
  await ping(again);
});

it('at QoS 0 nothing is owed', async () => {
  const serving = await serve({ outputBytesMax: 0 });
  const publisher = await serving.client(5);
  await retain(publisher, 'a', 'x');
  const first = await serving.client(5, { clientId: 'one', ...KEPT });
  await subscribe(first, 'a', 0);
  await breakOff(first, serving);
  const again = await serving.client(5, { clientId: 'one', ...KEPT });
  await atRest();
  await ping(again);
});

it('a session that begins anew is owed nothing', async () => {
  const serving = await servingRetained();
  const first = await serving.client(5, NARROW);
  await subscribe(first, '#', 1);
  await first.expect('publish');
  await breakOff(first, serving);
  const again = await serving.client(5, { ...NARROW, clean: true });
  await atRest();
  await ping(again);
});
