// Shared subscriptions (section 4.8.2): who of a group gets what, when members come and go, and when the hub does.
import type { IPublishPacket } from 'mqtt-packet';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MqttFrontEnd } from '../../../../protocols/mqtt/front-end.ts';
import { createMqttFrontEnd } from '../../../../protocols/mqtt/front-end.ts';
import type { MqttOptions } from '../../../../protocols/mqtt/options.ts';
import { FakeHub } from '../../../helpers/fake-mqtt-hub.ts';
import type { RawMqtt } from '../../../helpers/raw-mqtt.ts';
import { rawMqtt } from '../../../helpers/raw-mqtt.ts';
import { connectPacket } from '../front-end-fixture.ts';

const GROUP = '$share/workers/jobs/#';

interface Options {
  readonly clientId?: string;
  readonly durable?: boolean;
  readonly receiveMaximum?: number;
  readonly version?: 4 | 5;
}

class Served {
  readonly hub = new FakeHub();
  readonly options: Partial<MqttOptions>;
  frontEnd: MqttFrontEnd | undefined;
  #port = 0;
  #ids = 0;

  constructor(options: Partial<MqttOptions>) {
    this.options = options;
  }

  static async started(options: Partial<MqttOptions> = {}): Promise<Served> {
    const served = new Served(options);
    served.hub.topics.make('jobs');
    await served.start();
    return served;
  }

  async start(): Promise<void> {
    const frontEnd = createMqttFrontEnd(this.hub, this.options);
    onTestFinished(() => frontEnd.close());
    const listener = { name: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 100 };
    this.#port = (await frontEnd.listen(listener)).port;
    this.frontEnd = frontEnd;
  }

  async client({ clientId, durable = false, receiveMaximum, version = 5 }: Options = {}): Promise<RawMqtt> {
    const client = await rawMqtt(this.#port, version);
    const properties = {
      sessionExpiryInterval: durable ? 1000 : 0,
      ...(receiveMaximum === undefined ? {} : { receiveMaximum }),
    };
    client.send(
      connectPacket(version, {
        clientId: clientId ?? `member-${++this.#ids}`,
        clean: !durable,
        ...(version === 5 ? { properties } : {}),
      }),
    );
    await client.expect('connack');
    return client;
  }

  async member(
    options: Options & { readonly qos?: 0 | 1 | 2; readonly filter?: string } = {},
  ): Promise<RawMqtt> {
    const client = await this.client(options);
    await subscribe(client, options.filter ?? GROUP, options.qos ?? 1);
    return client;
  }

  async publish(...values: readonly (string | number)[]): Promise<void> {
    for (const value of values) await this.hub.produce('jobs', { key: 'jobs/1', value: String(value) });
    await this.atRest();
  }

  async atRest(): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

async function subscribe(client: RawMqtt, topic: string, qos: 0 | 1 | 2 = 1): Promise<number> {
  client.send({
    cmd: 'subscribe',
    messageId: 7,
    subscriptions: client.version === 5 ? [{ topic, qos }] : [{ topic, qos }],
  });
  return (await client.expect('suback')).granted[0] as number;
}

/** What has come and not been looked at: acknowledged or not. */
async function take(client: RawMqtt, acknowledge = true): Promise<string[]> {
  client.send({ cmd: 'pingreq' });
  const values: string[] = [];
  for (;;) {
    const packet = await client.next();
    if (packet.cmd === 'pingresp') return values;
    if (packet.cmd !== 'publish') continue;
    const publish = packet as IPublishPacket;
    values.push(publish.payload.toString());
    if (acknowledge && publish.qos === 1) client.send({ cmd: 'puback', messageId: publish.messageId! });
  }
}

const sorted = (...lists: string[][]) => lists.flat().sort((left, right) => Number(left) - Number(right));

describe('a group', () => {
  it('gives each message to one member, in turns', async () => {
    const served = await Served.started();
    const members = [await served.member(), await served.member(), await served.member({ version: 4 })];
    await served.publish(1, 2, 3, 4, 5, 6);
    const got = await Promise.all(members.map((member) => take(member)));
    expect(got.map(({ length }) => length)).toEqual([2, 2, 2]);
    expect(sorted(...got)).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  it('is another one under another name, and apart from those who are in none', async () => {
    const served = await Served.started();
    const one = await served.member();
    const other = await served.member({ filter: '$share/others/jobs/#' });
    const alone = await served.member({ filter: 'jobs/+' });
    await served.publish(1, 2);
    for (const client of [one, other, alone]) expect(await take(client)).toEqual(['1', '2']);
  });

  it('gives at the lower QoS of message and member', async () => {
    const served = await Served.started();
    const member = await served.member({ qos: 0 });
    await served.publish(1);
    expect(await take(member)).toEqual(['1']);
    const packet = member.received.find(({ cmd }) => cmd === 'publish') as IPublishPacket;
    expect(packet.qos).toBe(0);
  });

  it('passes over a member that has no room, and waits when none has', async () => {
    const served = await Served.started();
    const slow = await served.member({ receiveMaximum: 1 });
    const quick = await served.member({ receiveMaximum: 2 });
    await served.publish(1, 2, 3, 4, 5);
    const [fromSlow, fromQuick] = [await take(slow, false), await take(quick, false)];
    expect([fromSlow.length, fromQuick.length]).toEqual([1, 2]);
    for (const packet of quick.received) {
      if (packet.cmd === 'publish') quick.send({ cmd: 'puback', messageId: packet.messageId! });
    }
    await served.atRest();
    expect(sorted(fromSlow, fromQuick, await take(quick))).toEqual(['1', '2', '3', '4', '5']);
  });

  it('gives what a member has not acknowledged to another when it goes [FAULTS 45]', async () => {
    const served = await Served.started();
    const leaving = await served.member();
    const staying = await served.member();
    await served.publish(1, 2, 3, 4);
    const lost = await take(leaving, false);
    expect(lost).toHaveLength(2);
    const kept = await take(staying);
    leaving.socket.destroy();
    await served.atRest();
    expect(sorted(kept, await take(staying))).toEqual(['1', '2', '3', '4']);
  });

  it('and not what it has acknowledged', async () => {
    const served = await Served.started();
    const leaving = await served.member();
    const staying = await served.member();
    await served.publish(1, 2, 3, 4);
    await take(leaving);
    await take(staying);
    await served.atRest();
    leaving.send({ cmd: 'unsubscribe', messageId: 8, unsubscriptions: [GROUP] });
    await leaving.expect('unsuback');
    await served.publish(5);
    expect(await take(staying)).toEqual(['5']);
    expect(await take(leaving)).toEqual([]);
  });

  it('gets no retained messages [FAULTS 45]', async () => {
    const served = await Served.started();
    const publisher = await served.client();
    publisher.send({
      cmd: 'publish',
      topic: 'jobs/1',
      payload: 'kept',
      qos: 1,
      messageId: 1,
      dup: false,
      retain: true,
    });
    await publisher.expect('puback');
    const member = await served.member();
    await served.atRest();
    expect(await take(member)).toEqual([]);
  });

  it('is gone when its last member is, if no session outlives its connection', async () => {
    const served = await Served.started();
    const first = await served.member();
    await served.publish(1);
    await take(first);
    first.socket.destroy();
    await served.atRest();
    await served.publish(2);
    const second = await served.member();
    await served.publish(3);
    expect(await take(second)).toEqual(['3']);
    expect(served.hub.stateLog('__mqtt_sessions').live.has(`g${GROUP}`)).toBe(false);
  });
});

describe('a group whose members have sessions that outlive connections', () => {
  it('keeps its queue while all are offline, and loses nothing [FAULTS 45]', async () => {
    const served = await Served.started();
    const first = await served.member({ clientId: 'a', durable: true });
    await served.publish(1, 2);
    expect(await take(first, false)).toEqual(['1', '2']);
    first.socket.destroy();
    await served.atRest();
    await served.publish(3, 4);
    const again = await served.client({ clientId: 'a', durable: true });
    await served.atRest();
    expect(sorted(await take(again))).toEqual(['1', '2', '3', '4']);
  });

  it.each([['a stop'], ['a crash']])('goes on after %s of the hub', async (how) => {
    const served = await Served.started();
    const first = await served.member({ clientId: 'a', durable: true });
    await served.publish(1, 2, 3);
    await take(first);
    await served.atRest();
    served.hub.clock.advance(1000);
    await served.atRest();
    if (how === 'a stop') await served.frontEnd!.close();
    await served.publish(4);
    await served.start();
    await served.publish(5);
    const again = await served.client({ clientId: 'a', durable: true });
    await served.atRest();
    expect(await take(again)).toEqual(['4', '5']);
  });

  it('is on disk before SUBACK', async () => {
    const served = await Served.started();
    await served.member({ clientId: 'a', durable: true });
    expect(served.hub.stateLog('__mqtt_sessions').live.has(`g${GROUP}`)).toBe(true);
  });

  it.each([
    [
      'unsubscribes',
      (client: RawMqtt) => client.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: [GROUP] }),
    ],
    [
      'ends its session',
      (client: RawMqtt) => client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 0 } }),
    ],
  ])('is gone when its last member %s', async (_how, end) => {
    const served = await Served.started();
    const member = await served.member({ clientId: 'a', durable: true });
    end(member);
    await served.atRest();
    expect(served.hub.stateLog('__mqtt_sessions').live.has(`g${GROUP}`)).toBe(false);
  });

  it('gives a QoS 2 message to one member for good [MQTT-4.8.2-5]', async () => {
    const served = await Served.started();
    const leaving = await served.member({ clientId: 'a', durable: true, qos: 2 });
    const publisher = await served.client();
    publisher.send({
      cmd: 'publish',
      topic: 'jobs/1',
      payload: 'x',
      qos: 2,
      messageId: 1,
      dup: false,
      retain: false,
    });
    await publisher.expect('pubrec');
    expect((await leaving.expect('publish')).qos).toBe(2);
    const other = await served.member({ clientId: 'b', durable: true, qos: 2 });
    leaving.socket.destroy();
    await served.atRest();
    expect(await take(other)).toEqual([]);
    const again = await served.client({ clientId: 'a', durable: true });
    expect(await again.expect('publish')).toMatchObject({ qos: 2, dup: true });
  });
});

describe('what waits for a group', () => {
  it.each([
    ['by count', { queueCountMax: 2 }],
    ['by age', { queueAgeMaxMs: 10_000 }],
  ])('while all are offline is limited %s: the oldest are skipped', async (_how, options) => {
    const served = await Served.started(options);
    const first = await served.member({ clientId: 'a', durable: true });
    first.socket.destroy();
    await served.atRest();
    for (const value of [1, 2, 3, 4]) {
      await served.publish(value);
      served.hub.clock.advance(4000);
    }
    const again = await served.client({ clientId: 'a', durable: true });
    await served.atRest();
    expect(await take(again)).toEqual(['3', '4']);
    expect(served.frontEnd!.counters.droppedQueueLimit).toBe(2);
  });

  it('is limited too while its members are here and have no room', async () => {
    const served = await Served.started({ queueCountMax: 2 });
    const member = await served.member({ receiveMaximum: 1 });
    await served.publish(1);
    expect(await take(member, false)).toEqual(['1']);
    await served.publish(2, 3, 4, 5);
    served.hub.clock.advance(4000);
    member.send({ cmd: 'puback', messageId: 1 });
    await served.atRest();
    expect(await take(member)).toEqual(['4']);
    await served.atRest();
    expect(await take(member)).toEqual(['5']);
  });
});

it('a group of very many partitions writes those that something was given from, and goes on after a crash', async () => {
  const served = await Served.started();
  for (let index = 0; index < 200; index++) await served.hub.produce(`t${index}`, { value: 'old' });
  await served.publish('old');
  const filter = '$share/workers/#';
  const member = await served.member({ clientId: 'a', durable: true, filter });
  const log = served.hub.stateLog('__mqtt_sessions');
  const values = () => log.partitions.flat().filter(({ key }) => key[0] === 0x67);
  served.hub.clock.advance(1000);
  await served.atRest();
  for (let round = 0; round < 3; round++) {
    await served.publish(round);
    await take(member);
    served.hub.clock.advance(1000);
    await served.atRest();
  }
  expect(values().at(-1)!.value!.length).toBeLessThan(200);
  await served.start();
  await served.publish('after');
  await served.hub.produce('t7', { value: 'after too' });
  const again = await served.client({ clientId: 'a', durable: true });
  await served.atRest();
  expect((await take(again)).sort()).toEqual(['after', 'after too']);
});

it('a group whose write was refused says all of its cursors with the next', async () => {
  const served = await Served.started();
  for (let index = 0; index < 200; index++) await served.hub.produce(`t${index}`, { value: 'old' });
  const filter = '$share/workers/#';
  const stored = await served.member({ clientId: 'a', durable: true, filter });
  const other = await served.member({ clientId: 'b', filter });
  const log = served.hub.stateLog('__mqtt_sessions');
  const send = async (payload: string, member: RawMqtt): Promise<void> => {
    await served.publish(payload);
    expect(await take(member)).toEqual([payload]);
    // What it has acknowledged is known.
    await take(member);
    served.hub.clock.advance(1000);
    await served.atRest();
  };
  await send('first', stored);
  log.refusal = { refused: 'disk-full', message: 'the disk is full' };
  await send('second', other);
  log.refusal = undefined;
  const before = log.partitions.flat().length;
  await send('third', stored);
  const written = log.partitions.flat().slice(before);
  expect(written.map(({ key }) => String.fromCharCode(key[0]!))).toContain('h');
});

it('there are as many groups as there may be: 0x97', async () => {
  const hub = new FakeHub();
  const frontEnd = createMqttFrontEnd(hub, { sharedGroupsMax: 1 });
  onTestFinished(() => frontEnd.close());
  const { port } = await frontEnd.listen({ name: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 10 });
  const client = await rawMqtt(port, 5);
  client.send(connectPacket(5));
  await client.expect('connack');
  expect(await subscribe(client, '$share/a/x')).toBe(1);
  expect(await subscribe(client, '$share/b/x')).toBe(0x97);
  expect(await subscribe(client, '$share/a/x', 2)).toBe(2);
});
