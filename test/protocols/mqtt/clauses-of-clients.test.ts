// What clients see of a server that keeps to the standard, behaviour by behaviour, each under the clauses that ask for it.
// Where both versions ask for the same the test is of both; numbers are those of MQTT 5 unless said otherwise.
import type { IConnectPacket, IPublishPacket, ISubscription } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { type Connected, eventually, type Serving, serve } from './front-end-fixture.ts';

type QoS = 0 | 1 | 2;
const QOS = [0, 1, 2] as const;

let identifiers = 100;

async function subscribe(
  client: Connected,
  topic: string,
  options: Partial<ISubscription> = {},
  properties: { readonly subscriptionIdentifier?: number } = {},
): Promise<number> {
  const messageId = identifiers++;
  const subscriptions = [{ topic, qos: 2 as const, ...options }];
  client.send({ cmd: 'subscribe', messageId, subscriptions, properties });
  const suback = await client.expect('suback');
  expect(suback.messageId).toBe(messageId);
  return Number(suback.granted[0]);
}

async function unsubscribe(client: Connected, ...unsubscriptions: string[]): Promise<void> {
  const messageId = identifiers++;
  client.send({ cmd: 'unsubscribe', messageId, unsubscriptions });
  expect(await client.expect('unsuback')).toMatchObject({ messageId });
}

/** Until all that its QoS brings has come. */
async function publish(
  client: Connected,
  topic: string,
  payload: string,
  more: Partial<IPublishPacket> = {},
): Promise<void> {
  const messageId = identifiers++;
  const packet = { cmd: 'publish', topic, payload, qos: 1, dup: false, retain: false, ...more } as const;
  client.send(packet.qos === 0 ? packet : { ...packet, messageId });
  if (packet.qos === 0) await nothing(client);
  else if (packet.qos === 1) expect(await client.expect('puback')).toMatchObject({ messageId });
  else {
    expect(await client.expect('pubrec')).toMatchObject({ messageId });
    client.send({ cmd: 'pubrel', messageId });
    expect(await client.expect('pubcomp')).toMatchObject({ messageId });
  }
}

/** The next message, acknowledged. */
async function receive(client: Connected): Promise<IPublishPacket> {
  const packet = await client.expect('publish');
  const { messageId = 0 } = packet;
  if (packet.qos === 1) client.send({ cmd: 'puback', messageId });
  if (packet.qos === 2) {
    client.send({ cmd: 'pubrec', messageId });
    expect(await client.expect('pubrel')).toMatchObject({ messageId });
    client.send({ cmd: 'pubcomp', messageId });
  }
  return packet;
}

const told = ({ topic, payload, qos, retain }: IPublishPacket) => `${topic} ${payload} ${qos} ${retain}`;

/** Nothing has come that nobody has looked at. */
async function nothing(client: Connected): Promise<void> {
  client.send({ cmd: 'pingreq' });
  await client.expect('pingresp');
}

async function goodbye(client: Connected, properties: object = {}): Promise<void> {
  client.send({ cmd: 'disconnect', reasonCode: 0, properties });
  expect(await client.end()).toEqual([]);
}

/** A session that lives on in either version. */
const KEPT: Partial<IConnectPacket> = { clean: false, properties: { sessionExpiryInterval: 3600 } };

const willOf = (more: object = {}) => ({
  will: { topic: 'will', payload: Buffer.from('gone'), qos: 1 as const, retain: false, ...more },
});

/** Its connection has ended for the hub too. */
async function cut(serving: Serving, client: Connected): Promise<void> {
  client.socket.destroy();
  await serving.expectAlive();
  await serving.expectAlive();
}

describe.each([4, 5] as const)('a client of version %i', (version) => {
  it('is given messages of each QoS, in order [MQTT-4.6.0-6] [MQTT-4.3.1-1] [MQTT-4.3.2-1] [MQTT-4.3.3-1]', async () => {
    const { client } = await serve();
    const [one, other] = [await client(version), await client(version)];
    expect(await subscribe(one, 'basic/#')).toBe(2);
    for (const qos of QOS) await publish(other, 'basic/x', `at ${qos}`, { qos });
    for (const qos of QOS) expect(told(await receive(one))).toBe(`basic/x at ${qos} ${qos} false`);
    await nothing(one);
  });

  it('is given what is retained when it subscribes, until that is cleared [MQTT-3.3.1-5] [MQTT-3.3.1-6] [MQTT-3.3.1-8]', async () => {
    const { client } = await serve();
    const [one, other] = [await client(version), await client(version)];
    for (const qos of QOS) await publish(other, `kept/${qos}`, `at ${qos}`, { qos, retain: true });
    await subscribe(one, 'kept/+');
    const seen: string[] = [];
    for (const _qos of QOS) seen.push(told(await receive(one)));
    expect(seen.sort()).toEqual(QOS.map((qos) => `kept/${qos} at ${qos} ${qos} true`));
    await unsubscribe(one, 'kept/+');
    for (const qos of QOS) await publish(other, `kept/${qos}`, '', { qos, retain: true });
    await subscribe(one, 'kept/+');
    await nothing(one);
  });

  it('finds what was retained replaced by what was retained later [MQTT-3.3.1-5]', async () => {
    const { client } = await serve();
    const one = await client(version);
    for (const payload of ['first', 'second']) await publish(one, 'kept', payload, { retain: true });
    await publish(one, 'kept', 'passing');
    await subscribe(one, 'kept');
    expect(told(await receive(one))).toBe('kept second 1 true');
    await nothing(one);
  });

  it('is given at QoS 1 and 2 what came while it was away [MQTT-3.1.2-5] of 3.1.1 (4.1)', async () => {
    const { client } = await serve();
    const away = await client(version, { ...KEPT, clientId: 'away' });
    expect(away.connack.sessionPresent).toBe(false);
    await subscribe(away, 'queue/+');
    await goodbye(away);
    const other = await client(version);
    for (const qos of [1, 2] as const) await publish(other, `queue/${qos}`, `at ${qos}`, { qos });
    const back = await client(version, { ...KEPT, clientId: 'away' });
    expect(back.connack.sessionPresent).toBe(true);
    const seen = [told(await receive(back)), told(await receive(back))];
    expect(seen.sort()).toEqual(['queue/1 at 1 1 false', 'queue/2 at 2 2 false']);
    await nothing(back);
  });

  it('has nothing of a session that it starts anew [MQTT-3.1.2-4]', async () => {
    const { client } = await serve();
    const before = await client(version, { ...KEPT, clientId: 'anew' });
    await subscribe(before, 't');
    await goodbye(before);
    const after = await client(version, { clientId: 'anew' });
    expect(after.connack.sessionPresent).toBe(false);
    await publish(await client(version), 't', 'x');
    await nothing(after);
  });

  it('is given one copy by filters that overlap, at the highest QoS [MQTT-3.3.4-2], 3.1.1 [MQTT-3.3.5-1]', async () => {
    const { client } = await serve();
    const one = await client(version);
    await subscribe(one, 'over/#', { qos: 2 });
    await subscribe(one, 'over/+', { qos: 1 });
    await publish(await client(version), 'over/x', 'once', { qos: 2 });
    expect(told(await receive(one))).toBe('over/x once 2 false');
    await nothing(one);
  });

  it('that is silent for one and a half times its keep alive is ended, and leaves its will [MQTT-3.1.2-22] [MQTT-3.1.2-8]', async () => {
    const { client, hub } = await serve();
    const heir = await client(version);
    await subscribe(heir, 'will');
    const silent = await client(version, { keepalive: 5, ...willOf() });
    hub.clock.advance(7_499);
    await nothing(heir);
    hub.clock.advance(2);
    expect(told(await receive(heir))).toBe('will gone 1 false');
    await silent.end();
  });

  it('that says goodbye leaves no will [MQTT-3.1.2-10]', async () => {
    const serving = await serve();
    const heir = await serving.client(version);
    await subscribe(heir, 'will');
    await goodbye(await serving.client(version, willOf()));
    await serving.expectAlive();
    await nothing(heir);
  });

  it('that breaks off leaves a will that is retained, if it said so [MQTT-3.1.2-15]', async () => {
    const serving = await serve();
    const heir = await serving.client(version);
    await subscribe(heir, 'will');
    await cut(serving, await serving.client(version, willOf({ retain: true, qos: 2 })));
    expect(told(await receive(heir))).toBe('will gone 2 false');
    const later = await serving.client(version);
    await subscribe(later, 'will');
    expect(told(await receive(later))).toBe('will gone 2 true');
  });

  it('is sent again what it had not acknowledged, under the same identifiers [MQTT-4.4.0-1] [MQTT-3.3.1-1]', async () => {
    const serving = await serve();
    const before = await serving.client(version, { ...KEPT, clientId: 'again' });
    await subscribe(before, 'again');
    const other = await serving.client(version);
    await publish(other, 'again', 'one', { qos: 1 });
    await publish(other, 'again', 'two', { qos: 2 });
    const unacknowledged = [await before.expect('publish'), await before.expect('publish')];
    await cut(serving, before);
    const after = await serving.client(version, { ...KEPT, clientId: 'again' });
    for (const { payload, messageId, qos } of unacknowledged) {
      expect(await receive(after)).toMatchObject({ payload, messageId, qos, dup: true });
    }
    await nothing(after);
  });

  it('is sent PUBREL again where its PUBCOMP is missing [MQTT-4.4.0-1]', async () => {
    const serving = await serve();
    const before = await serving.client(version, { ...KEPT, clientId: 'released' });
    await subscribe(before, 't');
    await publish(await serving.client(version), 't', 'x', { qos: 2 });
    const { messageId = 0 } = await before.expect('publish');
    before.send({ cmd: 'pubrec', messageId });
    await before.expect('pubrel');
    await cut(serving, before);
    const after = await serving.client(version, { ...KEPT, clientId: 'released' });
    expect(await after.expect('pubrel')).toMatchObject({ messageId });
    after.send({ cmd: 'pubcomp', messageId });
    await nothing(after);
  });

  it('that sends a QoS 2 publish again on a new connection has published once [MQTT-4.3.3-10] [MQTT-4.4.0-1]', async () => {
    const serving = await serve();
    const heir = await serving.client(version);
    await subscribe(heir, 't');
    const packet = {
      cmd: 'publish',
      topic: 't',
      payload: 'once',
      qos: 2,
      retain: false,
      messageId: 9,
    } as const;
    const before = await serving.client(version, { ...KEPT, clientId: 'twice' });
    before.send({ ...packet, dup: false });
    await before.expect('pubrec');
    await cut(serving, before);
    const after = await serving.client(version, { ...KEPT, clientId: 'twice' });
    after.send({ ...packet, dup: true });
    await after.expect('pubrec');
    after.send({ cmd: 'pubrel', messageId: 9 });
    await after.expect('pubcomp');
    expect(told(await receive(heir))).toBe('t once 2 false');
    await nothing(heir);
  });

  it('is given topics that begin with $ by filters that do so alone [MQTT-4.7.2-1]', async () => {
    const { client, hub } = await serve({ sysIntervalMs: 1000 });
    const [all, one, system] = [await client(version), await client(version), await client(version)];
    await subscribe(all, '#');
    await subscribe(one, '+/broker/version');
    await subscribe(system, '$SYS/broker/version');
    expect((await receive(system)).topic).toBe('$SYS/broker/version');
    hub.clock.advance(2000);
    await nothing(all);
    await nothing(one);
  });

  it('is given nothing more by filters that it unsubscribes from [MQTT-3.10.4-2] [MQTT-3.10.4-6]', async () => {
    const { client } = await serve();
    const [one, other] = [await client(version), await client(version)];
    for (const topic of ['a', 'b', 'c']) await subscribe(one, topic);
    await unsubscribe(one, 'a', 'c');
    for (const topic of ['a', 'b', 'c']) await publish(other, topic, 'x');
    expect(told(await receive(one))).toBe('b x 1 false');
    await nothing(one);
  });

  it('is told of each filter whether it was granted, in order [MQTT-3.8.4-6] [MQTT-3.9.3-1]', async () => {
    const { client } = await serve({ topicLevelsMax: 3 });
    const one = await client(version);
    const subscriptions = ['a', 'a/b/c/d', 'b'].map((topic) => ({ topic, qos: 1 as const }));
    one.send({ cmd: 'subscribe', messageId: 7, subscriptions });
    const { granted } = await one.expect('suback');
    expect(granted).toEqual([1, version === 5 ? 0x8f : 0x80, 1]);
    await publish(await client(version), 'b', 'x');
    expect(told(await receive(one))).toBe('b x 1 false');
  });

  it('takes over from another one of its name, which is ended [MQTT-3.1.4-3], 3.1.1 [MQTT-3.1.4-2]', async () => {
    const { client } = await serve();
    const before = await client(version, { clientId: 'same' });
    const after = await client(version, { clientId: 'same' });
    const rest = await before.end();
    expect(rest).toMatchObject(version === 5 ? [{ cmd: 'disconnect', reasonCode: 0x8e }] : []);
    await nothing(after);
  });
});

describe('a client without a name', () => {
  it('of 3.1.1 is let in when its session is clean [MQTT-3.1.3-7], and not when it is to be kept [MQTT-3.1.3-8]', async () => {
    const { client, raw } = await serve();
    await nothing(await client(4, { clientId: '', clean: true }));
    const refused = await raw(4);
    refused.send('10 0c 0004 4d515454 04 00 003c 0000');
    expect(await refused.expect('connack')).toMatchObject({ returnCode: 2 });
    await refused.end();
  });

  it('of 5 is given one that nobody has, and can come back by it [MQTT-3.2.2-16] [MQTT-3.1.3-6]', async () => {
    const { client } = await serve();
    const nameless = { ...KEPT, clean: true, clientId: '' };
    const [one, other] = [await client(5, nameless), await client(5, nameless)];
    const name = one.connack.properties?.assignedClientIdentifier;
    expect(name).toBeTruthy();
    expect(other.connack.properties?.assignedClientIdentifier).not.toBe(name);
    await goodbye(one);
    const again = await client(5, { ...KEPT, clientId: name! });
    expect(again.connack.sessionPresent).toBe(true);
    expect(again.connack.properties?.assignedClientIdentifier).toBeUndefined();
  });
});

describe('a client of version 5', () => {
  const ask = async (connect: Partial<IConnectPacket> = {}, options = {}) => {
    const serving = await serve(options);
    return { ...serving, one: await serving.client(5, connect), other: await serving.client(5) };
  };

  it('is given payload format and content type as they were [MQTT-3.3.2-4] [MQTT-3.3.2-20]', async () => {
    const { one, other } = await ask();
    await subscribe(one, 't');
    const properties = { payloadFormatIndicator: true, contentType: 'text/x; a=☃' };
    await publish(other, 't', 'x', { properties });
    expect((await receive(one)).properties).toEqual(properties);
  });

  it('is given a message with what is left of its life, or not at all [MQTT-3.3.2-5] [MQTT-3.3.2-6]', async () => {
    const { one, other, client, hub } = await ask({ ...KEPT, clientId: 'late' });
    await subscribe(one, 'life');
    await goodbye(one);
    for (const seconds of [5, 60])
      await publish(other, 'life', `${seconds}`, { properties: { messageExpiryInterval: seconds } });
    await publish(other, 'life', 'ever');
    hub.clock.advance(10_000);
    const late = await client(5, { ...KEPT, clientId: 'late' });
    expect(await receive(late)).toMatchObject({ properties: { messageExpiryInterval: 50 } });
    expect((await receive(late)).payload.toString()).toBe('ever');
    await nothing(late);
  });

  it('is given a retained message with what is left of its life, or not at all (3.3.2.3.3)', async () => {
    const { one, other, hub } = await ask();
    await publish(other, 'kept', 'x', { retain: true, properties: { messageExpiryInterval: 20 } });
    hub.clock.advance(15_000);
    await subscribe(one, 'kept');
    expect(await receive(one)).toMatchObject({ retain: true, properties: { messageExpiryInterval: 5 } });
    hub.clock.advance(6_000);
    await subscribe(other, 'kept');
    await nothing(other);
  });

  it('is not given its own messages if it says so [MQTT-3.8.3-3]', async () => {
    const { one, other } = await ask();
    await subscribe(one, 'nl', { nl: true });
    await publish(one, 'nl', 'own');
    await publish(other, 'nl', 'other');
    expect((await receive(one)).payload.toString()).toBe('other');
    await nothing(one);
  });

  it.each([
    [true, true],
    [false, false],
  ])(
    'with Retain As Published %s sees RETAIN %s live [MQTT-3.3.1-12] [MQTT-3.3.1-13]',
    async (rap, retain) => {
      const { one, other } = await ask();
      await subscribe(one, 'rap', { rap });
      await publish(other, 'rap', 'x', { retain: true });
      expect((await receive(one)).retain).toBe(retain);
    },
  );

  it.each([
    [0, 2],
    [1, 1],
    [2, 0],
  ] as const)(
    'with Retain Handling %i is sent a retained message %i times by two SUBSCRIBE [MQTT-3.3.1-9] [MQTT-3.3.1-10] [MQTT-3.3.1-11]',
    async (rh, count) => {
      const { one, other } = await ask();
      await publish(other, 'rh', 'x', { retain: true });
      for (let time = 0; time < 2; time++) {
        await subscribe(one, 'rh', { rh });
        if (time < count) expect(told(await receive(one))).toBe('rh x 1 true');
        await nothing(one);
      }
    },
  );

  it('is given the identifiers of all its filters that match [MQTT-3.3.4-3] [MQTT-3.3.4-4] [MQTT-3.3.4-5]', async () => {
    const { one, other } = await ask();
    await subscribe(one, 'id/#', {}, { subscriptionIdentifier: 1 });
    await subscribe(one, 'id/+', {}, { subscriptionIdentifier: 456_789 });
    await subscribe(one, 'id/none', {});
    const identifiersOf = async (topic: string) => {
      await publish(other, topic, 'x');
      return [(await receive(one)).properties?.subscriptionIdentifier].flat().sort();
    };
    expect(await identifiersOf('id/x')).toEqual([1, 456_789]);
    expect(await identifiersOf('id/x/y')).toEqual([1]);
  });

  it('asks and is answered by response topic and correlation data [MQTT-3.3.2-15] [MQTT-3.3.2-16]', async () => {
    const { one, other } = await ask();
    await subscribe(one, 'answer/one');
    await subscribe(other, 'ask');
    const correlationData = Buffer.from([0, 255, 7]);
    await publish(one, 'ask', 'how much', { properties: { responseTopic: 'answer/one', correlationData } });
    const { properties } = await receive(other);
    expect(properties).toEqual({ responseTopic: 'answer/one', correlationData });
    await publish(other, properties!.responseTopic!, 'so much', {
      properties: { correlationData: properties!.correlationData! },
    });
    expect(await receive(one)).toMatchObject({ topic: 'answer/one', properties: { correlationData } });
  });

  it('gives topics numbers, on this connection alone [MQTT-3.3.2-7] [MQTT-3.3.2-12]', async () => {
    const { one, client } = await ask({ clientId: 'numbers' });
    expect(one.connack.properties?.topicAliasMaximum).toBeGreaterThan(0);
    const heir = await client(5);
    await subscribe(heir, 'alias/+');
    await publish(one, 'alias/a', '1', { properties: { topicAlias: 1 } });
    await publish(one, '', '2', { properties: { topicAlias: 1 } });
    await publish(one, 'alias/b', '3', { properties: { topicAlias: 1 } });
    await publish(one, '', '4', { properties: { topicAlias: 1 } });
    const seen: string[] = [];
    for (let count = 0; count < 4; count++) seen.push((await receive(heir)).topic);
    expect(seen).toEqual(['alias/a', 'alias/a', 'alias/b', 'alias/b']);
    const again = await client(5, { clientId: 'numbers' });
    again.send({
      cmd: 'publish',
      topic: '',
      payload: '5',
      qos: 0,
      dup: false,
      retain: false,
      properties: { topicAlias: 1 },
    });
    expect(await again.expect('disconnect')).toMatchObject({ reasonCode: 0x82 });
  });

  it('is given numbers for topics, no more than it allows [MQTT-3.1.2-26] [MQTT-3.1.2-27]', async () => {
    const { one, other, client } = await ask({ properties: { topicAliasMaximum: 1 } });
    const none = await client(5);
    await subscribe(one, 'sent/+');
    await subscribe(none, 'sent/+');
    const names = new Map<number, string>();
    for (const topic of ['sent/a', 'sent/b', 'sent/a', 'sent/b', 'sent/a']) {
      await publish(other, topic, 'x');
      const { topic: name, properties } = await receive(one);
      const alias = properties?.topicAlias;
      expect(alias ?? 1).toBe(1);
      if (alias !== undefined && name !== '') names.set(alias, name);
      expect(name === '' ? names.get(alias!) : name).toBe(topic);
      expect(await receive(none)).toMatchObject({ topic });
    }
    expect(names.size).toBe(1);
  });

  it('that sends more than Maximum Packet Size is ended with 0x95 [MQTT-3.2.2-15]', async () => {
    const { one } = await ask({}, { packetBytesMax: 200 });
    expect(one.connack.properties?.maximumPacketSize).toBe(200);
    one.send({ cmd: 'publish', topic: 't', payload: 'x'.repeat(300), qos: 0, dup: false, retain: false });
    expect(await one.expect('disconnect')).toMatchObject({ reasonCode: 0x95 });
    await one.end();
  });

  it('is not sent more than its Maximum Packet Size, and all else [MQTT-3.1.2-24] [MQTT-3.1.2-25]', async () => {
    const { one, other } = await ask({ properties: { maximumPacketSize: 64 } });
    await subscribe(one, 't');
    for (const length of [10, 100, 11]) await publish(other, 't', 'x'.repeat(length));
    expect((await receive(one)).payload.length).toBe(10);
    expect((await receive(one)).payload.length).toBe(11);
    await nothing(one);
  });

  it.each([0, 100])(
    'that asks for a keep alive of %i is told what it has [MQTT-3.2.2-21]',
    async (keepalive) => {
      const { one, hub } = await ask({ keepalive }, { keepaliveMaxSeconds: 60 });
      expect(one.connack.properties?.serverKeepAlive).toBe(60);
      hub.clock.advance(90_001);
      expect(await one.expect('disconnect')).toMatchObject({ reasonCode: 0x8d });
    },
  );

  it('has no more on its way than its Receive Maximum [MQTT-3.3.4-9]', async () => {
    const { one, other } = await ask({ properties: { receiveMaximum: 2 } });
    await subscribe(one, 't');
    const levels: QoS[] = [1, 2, 1, 2, 1];
    for (const [index, qos] of levels.entries()) await publish(other, 't', `${index}`, { qos });
    const first = await one.expect('publish');
    const second = await one.expect('publish');
    await nothing(one);
    one.send({ cmd: 'puback', messageId: first.messageId! });
    const third = await one.expect('publish');
    await nothing(one);
    // At QoS 2 it is on its way until PUBCOMP, and at its end with a PUBREC that refuses (4.9).
    one.send({ cmd: 'pubrec', messageId: second.messageId! });
    await one.expect('pubrel');
    await nothing(one);
    one.send({ cmd: 'pubcomp', messageId: second.messageId! });
    const fourth = await one.expect('publish');
    one.send({ cmd: 'pubrec', messageId: fourth.messageId!, reasonCode: 0x80 });
    const fifth = await one.expect('publish');
    expect([first, second, third, fourth, fifth].map(({ payload }) => `${payload}`)).toEqual([
      '0',
      '1',
      '2',
      '3',
      '4',
    ]);
  });

  it('that has more on its way than the server’s Receive Maximum is ended with 0x93 [MQTT-3.3.4-8]', async () => {
    const { one } = await ask({}, { receiveMaximum: 2 });
    expect(one.connack.properties?.receiveMaximum).toBe(2);
    for (const messageId of [1, 2, 3])
      one.send({ cmd: 'publish', topic: 't', payload: 'x', qos: 2, dup: false, retain: false, messageId });
    await one.expect('pubrec');
    await one.expect('pubrec');
    expect(await one.expect('disconnect')).toMatchObject({ reasonCode: 0x93 });
  });

  it('leaves its will after the delay, or at the end of its session if that is sooner [MQTT-3.1.2-8] (3.1.3.2.2)', async () => {
    const serving = await serve();
    const heir = await serving.client(5);
    await subscribe(heir, 'will/#');
    const delayed = { properties: { willDelayInterval: 60 } };
    for (const [name, sessionExpiryInterval] of [
      ['late', 600],
      ['soon', 10],
    ] as const) {
      const will = willOf({ ...delayed, topic: `will/${name}` });
      await cut(serving, await serving.client(5, { properties: { sessionExpiryInterval }, ...will }));
    }
    await nothing(heir);
    serving.hub.clock.advance(11_000);
    expect((await receive(heir)).topic).toBe('will/soon');
    await nothing(heir);
    serving.hub.clock.advance(50_000);
    expect((await receive(heir)).topic).toBe('will/late');
  });

  it('takes back its will when it comes back in time [MQTT-3.1.3-9]', async () => {
    const serving = await serve();
    const heir = await serving.client(5);
    await subscribe(heir, 'will');
    const will = willOf({ properties: { willDelayInterval: 60 } });
    await cut(serving, await serving.client(5, { ...KEPT, clientId: 'w', ...will }));
    await goodbye(await serving.client(5, { ...KEPT, clientId: 'w' }));
    serving.hub.clock.advance(120_000);
    await serving.expectAlive();
    await nothing(heir);
  });

  it('leaves its will by DISCONNECT 0x04, with all its properties (3.14.2.1) [MQTT-3.1.3-10]', async () => {
    const { one, client } = await ask();
    await subscribe(one, 'will');
    const properties = { contentType: 'c', responseTopic: 'r', userProperties: { a: ['1', '2'], b: '3' } };
    const leaving = await client(5, willOf({ properties }));
    leaving.send({ cmd: 'disconnect', reasonCode: 0x04 });
    expect((await receive(one)).properties).toEqual(properties);
  });

  it('has a session as long as it asked for at last [MQTT-3.1.2-23] (3.14.2.2.2)', async () => {
    const serving = await serve();
    const present = async (clientId: string) => {
      const back = await serving.client(5, { ...KEPT, clientId });
      const { sessionPresent } = back.connack;
      await goodbye(back, { sessionExpiryInterval: 0 });
      return sessionPresent;
    };
    const leave = async (clientId: string, seconds: number, properties: object = {}) =>
      goodbye(
        await serving.client(5, { clientId, clean: false, properties: { sessionExpiryInterval: seconds } }),
        properties,
      );
    await leave('short', 5);
    await leave('long', 60);
    await leave('longer', 5, { sessionExpiryInterval: 60 });
    await leave('over', 60, { sessionExpiryInterval: 0 });
    await leave('none', 0);
    serving.hub.clock.advance(6_000);
    expect(await present('short')).toBe(false);
    expect(await present('long')).toBe(true);
    expect(await present('longer')).toBe(true);
    expect(await present('over')).toBe(false);
    expect(await present('none')).toBe(false);
  });

  it('shares a subscription: each message is for one member, and others have theirs besides [MQTT-4.8.2-4] [MQTT-4.8.2-6]', async () => {
    const { one, other, client } = await ask();
    const beside = await client(5);
    await subscribe(one, '$share/g/shared/+');
    await subscribe(other, '$share/g/shared/+');
    await subscribe(beside, 'shared/#');
    const publisher = await client(5);
    const payloads = Array.from({ length: 8 }, (_none, index) => `${index}`);
    for (const payload of payloads) await publish(publisher, 'shared/x', payload);
    const seen: string[] = [];
    for (const _payload of payloads) seen.push((await receive(beside)).payload.toString());
    expect(seen).toEqual(payloads);
    const members = [one, other];
    await eventually(
      () => members.flatMap(({ received }) => received.filter(({ cmd }) => cmd === 'publish')).length === 8,
    );
    const shares = members.map(({ received }) =>
      received.flatMap((packet) => (packet.cmd === 'publish' ? [packet.payload.toString()] : [])),
    );
    expect(shares.flat().sort()).toEqual(payloads);
    expect(shares.every((share) => share.length > 0)).toBe(true);
  });

  it('is given user properties in order, doubles too, and may say them with every packet [MQTT-3.3.2-17] [MQTT-3.3.2-18]', async () => {
    const { one, other } = await ask({ properties: { userProperties: { of: 'connect' } } });
    const subscriptions = [{ topic: 't', qos: 0 as const }];
    one.send({
      cmd: 'subscribe',
      messageId: 1,
      subscriptions,
      properties: { userProperties: { of: 'subscribe' } },
    });
    await one.expect('suback');
    other.send('30 12 0001 74 0e 26 0001 62 0001 31 26 0001 61 0001 32', 'c000');
    await other.expect('pingresp');
    const { properties } = await receive(one);
    expect(Object.entries(properties?.userProperties ?? {})).toEqual([
      ['b', '1'],
      ['a', '2'],
    ]);
    await publish(other, 't', 'x', { properties: { userProperties: { a: ['2', '1', '2'] } } });
    expect((await receive(one)).properties?.userProperties).toEqual({ a: ['2', '1', '2'] });
    one.send({
      cmd: 'unsubscribe',
      messageId: 2,
      unsubscriptions: ['t'],
      properties: { userProperties: { a: 'b' } },
    });
    await one.expect('unsuback');
    await goodbye(one, { userProperties: { of: 'disconnect' } });
  });

  it.each([
    [undefined, true],
    [false, false],
  ])(
    'with Request Problem Information %s is told reasons in words: %s [MQTT-3.1.2-29]',
    async (asked, inWords) => {
      const { one } = await ask(
        asked === undefined ? {} : { properties: { requestProblemInformation: asked } },
      );
      one.send({
        cmd: 'publish',
        topic: '$SYS/x',
        payload: 'x',
        qos: 1,
        dup: false,
        retain: false,
        messageId: 1,
      });
      const puback = await one.expect('puback');
      expect(puback.reasonCode).toBe(0x90);
      expect(puback.properties?.['reasonString'] !== undefined).toBe(inWords);
    },
  );

  it('is told 0x11 where there was no subscription [MQTT-3.11.3-1] (3.11.3)', async () => {
    const { one } = await ask();
    await subscribe(one, 'a');
    one.send({ cmd: 'unsubscribe', messageId: 5, unsubscriptions: ['b', 'a'] });
    expect(await one.expect('unsuback')).toMatchObject({ granted: [0x11, 0] });
  });
});
