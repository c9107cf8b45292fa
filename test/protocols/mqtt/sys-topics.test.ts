// `$SYS/broker/…`: on subscribing, then each interval what has changed; never under a leading wildcard.
import { describe, expect, it } from 'vitest';
import {
  droppedByReason,
  messagesDropped,
  newCounters,
  packetsSent,
} from '../../../protocols/mqtt/counters.ts';
import { LoadAverages } from '../../../protocols/mqtt/sys-load.ts';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import { eventually, serve } from './front-end-fixture.ts';

async function subscribe(client: RawMqtt, topic: string): Promise<void> {
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 2 }] });
  await client.expect('suback');
}

const textOf = ({
  topic,
  payload,
  qos,
  retain,
}: {
  topic: string;
  payload: Buffer | string;
  qos: number;
  retain: boolean;
}) => `${topic} ${payload} ${qos} ${retain}`;

it.each([3, 4, 5] as const)(
  'is told at once and then when it changes, to a client of version %i',
  async (version) => {
    const { client, hub } = await serve({ sysIntervalMs: 10_000 });
    const one = await client(version);
    await subscribe(one, '$SYS/broker/clients/connected');
    expect(textOf(await one.expect('publish'))).toBe('$SYS/broker/clients/connected 1 0 true');
    hub.clock.advance(10_000);
    await client(4);
    await client(4);
    hub.clock.advance(10_000);
    const told = [await one.expect('publish'), await one.expect('publish')].map((each) => `${each.payload}`);
    expect(told).toEqual(['1', '3']);
    hub.clock.advance(10_000);
    one.send({ cmd: 'pingreq' });
    await one.expect('pingresp');
  },
);

/** As Mosquitto has them. */
const NAMES = [
  ...['version', 'uptime', 'subscriptions/count', 'retained messages/count'],
  ...['connected', 'active', 'disconnected', 'inactive', 'expired', 'total', 'maximum'].map(
    (name) => `clients/${name}`,
  ),
  ...['messages', 'bytes'].flatMap((name) => [`${name}/received`, `${name}/sent`]),
  ...['received', 'sent', 'dropped'].map((name) => `publish/messages/${name}`),
  ...[
    ...['connections', 'sockets', 'messages/received', 'messages/sent', 'bytes/received', 'bytes/sent'],
    ...['publish/received', 'publish/sent', 'publish/dropped'],
  ].flatMap((name) => [1, 5, 15].map((minutes) => `load/${name}/${minutes}min`)),
];

it('has every name under $SYS/#, and none under #', async () => {
  const { client, hub } = await serve({ sysIntervalMs: 1000 });
  const [all, none] = [await client(5), await client(5)];
  await subscribe(none, '#');
  await subscribe(all, '$SYS/#');
  const topics: string[] = [];
  for (let count = 0; count < NAMES.length; count++) topics.push((await all.expect('publish')).topic);
  expect(topics.sort()).toEqual(NAMES.map((name) => `$SYS/broker/${name}`).sort());
  hub.clock.advance(5000);
  none.send({ cmd: 'pingreq' });
  await none.expect('pingresp');
});

it('cannot be published to, and is not there when it is turned off', async () => {
  const { client, hub } = await serve({ sysIntervalMs: 0 });
  const one = await client(5);
  await subscribe(one, '$SYS/#');
  hub.clock.advance(100_000);
  one.send({
    cmd: 'publish',
    topic: '$SYS/broker/uptime',
    payload: 'x',
    qos: 1,
    messageId: 2,
    dup: false,
    retain: true,
  });
  expect(await one.expect('puback')).toMatchObject({ reasonCode: 0x90 });
});

it('counts what is sent: packets of every kind, and the bytes of them', async () => {
  const { client, hub, frontEnd } = await serve({ sysIntervalMs: 1000 });
  const one = await client(5);
  await subscribe(one, 'a');
  one.send({ cmd: 'publish', topic: 'a', payload: 'x', qos: 1, messageId: 2, dup: false, retain: false });
  const answers = [(await one.next()).cmd, (await one.next()).cmd];
  expect(answers.sort()).toEqual(['puback', 'publish']);
  one.send({ cmd: 'pingreq' });
  await one.expect('pingresp');
  // CONNACK, SUBACK, PUBACK, PINGRESP.
  expect(frontEnd.counters).toMatchObject({ messagesDelivered: 1, socketsOpened: 1 });
  expect(packetsSent(frontEnd.counters)).toBe(5);
  hub.clock.advance(1000);
  await subscribe(one, '$SYS/broker/messages/sent');
  expect(`${(await one.expect('publish')).payload}`).toBe('6'); // and the SUBACK before this
  await subscribe(one, '$SYS/broker/bytes/sent');
  const bytes = Number((await one.expect('publish')).payload);
  expect(bytes).toBeGreaterThanOrEqual(40);
  expect(bytes).toBeLessThanOrEqual(one.socket.bytesRead);
});

it('counts as dropped what is dropped for any reason', () => {
  const names = Object.keys(newCounters()).filter((name) => /^dropped[A-Z]/.test(name));
  const counters = {
    ...newCounters(),
    ...Object.fromEntries(names.map((name, index) => [name, 2 ** index])),
  };
  expect(names).toHaveLength(Object.keys(droppedByReason(counters)).length);
  expect(messagesDropped(counters)).toBe(2 ** names.length - 1);
});

it('counts a session that expires', async () => {
  const { client, hub } = await serve({ sysIntervalMs: 1000 });
  const one = await client(5, { clean: false, properties: { sessionExpiryInterval: 10 } });
  one.send({ cmd: 'disconnect' });
  await one.end();
  const watcher = await client(5);
  await subscribe(watcher, '$SYS/broker/clients/expired');
  expect(`${(await watcher.expect('publish')).payload}`).toBe('0');
  hub.clock.advance(11_000);
  await eventually(() => {
    hub.clock.advance(1000);
    return watcher.received.some((packet) => packet.cmd === 'publish' && `${packet.payload}` === '1');
  });
});

describe('a load average', () => {
  const valuesOf = (loads: LoadAverages) =>
    Object.fromEntries([...loads.values()].map(([name, read]) => [name, read()]));

  it('comes to what happens a minute, the shorter its window the sooner', () => {
    let count = 0;
    const loads = new LoadAverages({ sent: () => count }, 0);
    for (let second = 10; second <= 60; second += 10) {
      count += 20;
      loads.update(second * 1000);
    }
    const values = valuesOf(loads);
    expect(Number(values['sent/1min'])).toBeCloseTo(120 * (1 - Math.exp(-1)), 1);
    expect(Number(values['sent/15min'])).toBeCloseTo(120 * (1 - Math.exp(-1 / 15)), 1);
    loads.update(3_600_000);
    expect(Number(valuesOf(loads)['sent/1min'])).toBeLessThan(3);
  });
});
