// `$SYS/broker/…`: on subscribing, then each interval what has changed; never under a leading wildcard.
import { expect, it } from 'vitest';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import { serve } from './front-end-fixture.ts';

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

it('has every name under $SYS/#, and none under #', async () => {
  const { client, hub } = await serve({ sysIntervalMs: 1000 });
  const [all, none] = [await client(5), await client(5)];
  await subscribe(none, '#');
  await subscribe(all, '$SYS/#');
  const topics = [];
  for (let count = 0; count < 15; count++) topics.push((await all.expect('publish')).topic);
  expect(topics).toContain('$SYS/broker/version');
  expect(topics).toContain('$SYS/broker/uptime');
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
