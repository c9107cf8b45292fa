// SUBSCRIBE and UNSUBSCRIBE over real sockets.
import type { ISubscription } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import { serve } from './front-end-fixture.ts';

async function subscribe(client: RawMqtt, ...subscriptions: ISubscription[]): Promise<readonly unknown[]> {
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions });
  return (await client.expect('suback')).granted;
}

describe('SUBSCRIBE', () => {
  it('grants each filter what it asks for, in order', async () => {
    const { client } = await serve();
    const filters = [0, 1, 2, 0].map((qos, index) => ({ topic: `f/${index}`, qos: qos as 0 | 1 | 2 })); // of the list
    expect(await subscribe(await client(4), ...filters)).toEqual([0, 1, 2, 0]);
    expect(await subscribe(await client(3), ...filters)).toEqual([0, 1, 2, 0]);
    expect(await subscribe(await client(5), ...filters)).toEqual([0, 1, 2, 0]);
  });

  it('is bounded in number and in depth', async () => {
    const { client } = await serve({ subscriptionsMax: 2, topicLevelsMax: 3 });
    const five = await client(5);
    const filters = ['a', 'b', 'c', 'a/b/c/d'].map((topic) => ({ topic, qos: 0 as const }));
    expect(await subscribe(five, ...filters)).toEqual([0, 0, 0x97, 0x8f]);
    // One that there is may be replaced.
    expect(await subscribe(five, { topic: 'a', qos: 2 })).toEqual([2]);
    expect(await subscribe(await client(4), ...filters)).toEqual([0, 0, 0x80, 0x80]);
  });

  it('is bounded in the memory that those of all clients take, which is free again when they go', async () => {
    const { client } = await serve({ subscriptionBytesTotalMax: 16 * 1024 });
    const filters = Array.from({ length: 30 }, (_, index) => ({ topic: `a/b/${index}`, qos: 0 as const }));
    const first = await client(5);
    const codes = await subscribe(first, ...filters);
    const granted = codes.filter((code) => code === 0).length;
    expect(granted).toBeGreaterThan(10);
    expect(codes.slice(granted)).toEqual(Array(30 - granted).fill(0x97));
    // Long ones as well, and for every client.
    expect(await subscribe(await client(5), { topic: 'x'.repeat(8000), qos: 0 })).toEqual([0x97]);
    first.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: filters.map(({ topic }) => topic) });
    await first.expect('unsuback');
    expect(await subscribe(await client(5), { topic: 'x'.repeat(8000), qos: 0 })).toEqual([0]);
  });

  it('with a broken filter among good ones takes none of them', async () => {
    const { client, hub } = await serve();
    const bad = await client(4);
    bad.send({
      cmd: 'subscribe',
      messageId: 1,
      subscriptions: [
        { topic: 'good', qos: 0 },
        { topic: 'a/#/b', qos: 0 },
      ],
    });
    expect(await bad.end()).toEqual([]);
    await hub.produce('good', { value: 'x' });
    expect(hub.log.events('error')).toEqual([]);
  });
});

describe('UNSUBSCRIBE', () => {
  it('says for each filter whether there was one', async () => {
    const { client } = await serve();
    const five = await client(5);
    await subscribe(five, { topic: 'a', qos: 0 }, { topic: 'c/#', qos: 0 });
    five.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a', 'b', 'c/#', 'a'] });
    expect(await five.expect('unsuback')).toMatchObject({ messageId: 2, granted: [0, 0x11, 0, 0x11] });
  });

  it('ends what came by the filter, and that alone', async () => {
    const { client, hub } = await serve();
    const four = await client(4);
    await subscribe(four, { topic: 'a', qos: 0 }, { topic: 'b', qos: 0 });
    four.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a'] });
    await four.expect('unsuback');
    await hub.produce('a', { value: 'not for it' });
    await hub.produce('b', { value: 'for it' });
    expect(await four.expect('publish')).toMatchObject({ topic: 'b' });
  });
});

describe('the end of a connection', () => {
  it('is the end of its subscriptions', async () => {
    const { client, hub, frontEnd } = await serve();
    const four = await client(4);
    await subscribe(four, { topic: '#', qos: 1 });
    four.socket.destroy();
    await frontEnd.close();
    await hub.produce('t', { value: 'x' });
    expect(frontEnd.counters.messagesDelivered).toBe(0);
  });

  it('leaves no session of a clean start behind: a client that comes back starts anew [FAULTS 42]', async () => {
    const { client, hub } = await serve();
    const first = await client(4, { clientId: 'same' });
    await subscribe(first, { topic: '#', qos: 1 });
    first.send({ cmd: 'disconnect' });
    await first.end();
    await hub.produce('t', { value: 'missed' });
    const second = await client(4, { clientId: 'same', clean: false });
    expect(second.connack.sessionPresent).toBe(false);
    await hub.produce('t', { value: 'nor this' });
    second.send({ cmd: 'pingreq' });
    await second.expect('pingresp');
  });
});
