// Sessions that outlive their connections, over the protocol: what a client finds when it is back.
import type { IPublishPacket } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import type { Connected, Serving } from '../front-end-fixture.ts';
import { eventually, serve } from '../front-end-fixture.ts';
import { mappingRule } from '../mapping/rule-fixture.ts';
import { crash, KEPT, leave, ping, stateLogOf, subscribe } from './sessions-fixture.ts';

async function publish(client: Connected, topic: string, payload: string, qos: 0 | 1 = 1): Promise<void> {
  client.send({ cmd: 'publish', topic, payload, qos, messageId: 7, dup: false, retain: false });
  if (qos === 1) await client.expect('puback');
}

function ack(client: Connected, { messageId }: IPublishPacket): void {
  client.send({ cmd: 'puback', messageId: messageId! });
}

/** A subscriber that has gone. */
async function leftBehind(serving: Serving, filter: string, qos: 0 | 1 | 2 = 1): Promise<void> {
  const client = await serving.client(5, { clientId: 'kept', ...KEPT });
  expect(client.connack.sessionPresent).toBe(false);
  await subscribe(client, filter, qos);
  await leave(client);
}

const back = (serving: Serving) => serving.client(5, { clientId: 'kept', ...KEPT });

describe('a session that is kept', () => {
  it('gets what came while its client was away, in order, and then what comes', async () => {
    const serving = await serve();
    await leftBehind(serving, 'a/#');
    const publisher = await serving.client(4);
    for (const payload of ['1', '2', '3']) await publish(publisher, 'a/b', payload);
    await publish(publisher, 'other', 'x');
    const client = await back(serving);
    expect(client.connack.sessionPresent).toBe(true);
    for (const payload of ['1', '2', '3']) {
      const message = await client.expect('publish');
      expect(message).toMatchObject({ payload: Buffer.from(payload), qos: 1, dup: false });
      ack(client, message);
    }
    await publish(publisher, 'a/b', '4');
    expect(await client.expect('publish')).toMatchObject({ payload: Buffer.from('4') });
  });

  it('is sent what it has not acknowledged again, first, in order, under its identifiers, as a duplicate', async () => {
    const serving = await serve();
    const first = await back(serving);
    await subscribe(first, '#', 1);
    const publisher = await serving.client(4);
    for (const payload of ['1', '2', '3']) await publish(publisher, 't', payload);
    const sent = [
      await first.expect('publish'),
      await first.expect('publish'),
      await first.expect('publish'),
    ];
    ack(first, sent[1]!);
    first.send({ cmd: 'pingreq' });
    await first.expect('pingresp');
    await leave(first);
    await publish(publisher, 't', '4');
    const client = await back(serving);
    const resent = [await client.expect('publish'), await client.expect('publish')];
    expect(resent.map(({ messageId, dup, payload }) => [messageId, dup, payload.toString()])).toEqual([
      [sent[0]!.messageId, true, '1'],
      [sent[2]!.messageId, true, '3'],
    ]);
    expect(await client.expect('publish')).toMatchObject({ payload: Buffer.from('4'), dup: false });
  });

  it('ends with a clean start [MQTT-3.1.2-4]', async () => {
    const serving = await serve();
    await leftBehind(serving, '#');
    await leave(await serving.client(5, { clientId: 'kept', clean: true }));
    const client = await back(serving);
    expect(client.connack.sessionPresent).toBe(false);
  });

  it('ends when its time is over, and not before', async () => {
    const serving = await serve();
    await leftBehind(serving, '#');
    serving.hub.clock.advance(3_599_000);
    const client = await back(serving);
    expect(client.connack.sessionPresent).toBe(true);
    await leave(client);
    serving.hub.clock.advance(3_601_000);
    expect((await back(serving)).connack.sessionPresent).toBe(false);
  });

  it('that cannot be removed when its time is over is tried again after a while, and not at once', async () => {
    const serving = await serve();
    await leftBehind(serving, '#');
    const log = stateLogOf(serving);
    const { clock, log: told } = serving.hub;
    const failures = () => told.entries.filter(({ event }) => event === 'mqtt-session-not-ended').length;
    log.refusal = { refused: 'disk-full', message: 'the disk is full' };
    clock.advance(3_601_000);
    await eventually(() => failures() === 1);
    clock.advance(9_000);
    await ping(await serving.client(5, { clientId: 'other' }));
    expect(failures()).toBe(1);
    log.refusal = undefined;
    clock.advance(1_000);
    await eventually(() => log.live.size === 0);
  });

  it('that was over and could not be removed leaves nothing to the next', async () => {
    const serving = await serve();
    await leftBehind(serving, '#');
    const { hub } = serving;
    let refusals = 0;
    const refusal = { refused: 'disk-full', message: 'the disk is full' } as const;
    Object.defineProperty(stateLogOf(serving), 'refusal', {
      get: () => (refusals-- > 0 ? refusal : undefined),
    });
    refusals = 1;
    hub.clock.advance(3_601_000);
    await eventually(() => hub.log.entries.some(({ event }) => event === 'mqtt-session-not-ended'));
    refusals = 1;
    const next = await back(serving);
    expect(next.connack.sessionPresent).toBe(false);
    await leave(next);
    await hub.produce('t', { value: 'for nobody' });
    const again = await back(serving);
    expect(again.connack.sessionPresent).toBe(true);
    await ping(again);
  });

  it('of 3.1.1 never expires by itself', async () => {
    // So long a time must not be cut into intervals.
    const serving = await serve({ sysIntervalMs: 0 });
    await leave(await serving.client(4, { clientId: 'kept', clean: false }));
    serving.hub.clock.advance(1e12);
    const client = await serving.client(4, { clientId: 'kept', clean: false });
    expect(client.connack.sessionPresent).toBe(true);
  });

  it('lasts as long as DISCONNECT says, if CONNECT asked for one', async () => {
    const serving = await serve();
    const client = await back(serving);
    client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 0 } });
    await client.end();
    expect((await back(serving)).connack.sessionPresent).toBe(false);
    const without = await serving.client(5);
    without.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 10 } });
    expect(await without.expect('disconnect')).toMatchObject({ reasonCode: 0x82 });
  });

  it('leaves nothing behind when its client leaves it for good while a subscription is on its way to the disk', async () => {
    const serving = await serve();
    const client = await back(serving);
    const log = stateLogOf(serving);
    let open = (): void => undefined;
    log.gate = new Promise((resolve) => {
      open = resolve;
    });
    const count = () => log.partitions.flat().length;
    const before = count();
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 1 }] });
    await eventually(() => count() > before);
    client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 0 } });
    await client.end();
    open();
    await eventually(() => log.live.size === 0);
  });

  it('lasts no longer than the hub allows, which CONNACK says', async () => {
    const serving = await serve({ sessionExpiryMaxSeconds: 60 });
    const client = await back(serving);
    expect(client.connack.properties?.sessionExpiryInterval).toBe(60);
    await leave(client);
    serving.hub.clock.advance(61_000);
    expect((await back(serving)).connack.sessionPresent).toBe(false);
  });

  it('is one of so many at most', async () => {
    const serving = await serve({ sessionsMax: 1 });
    await leave(await back(serving));
    expect((await serving.client(5, { clientId: 'another', ...KEPT })).connack.reasonCode).toBe(0x97);
    expect((await serving.client(4, { clientId: 'another', clean: false })).connack.returnCode).toBe(3);
    expect((await serving.client(5, { clientId: 'another' })).connack.reasonCode).toBe(0);
    expect((await back(serving)).connack.sessionPresent).toBe(true);
  });

  it('goes to the newest connection of its client; the older one is told [MQTT-3.1.4-3] [FAULTS 38]', async () => {
    const serving = await serve();
    const older = await back(serving);
    await subscribe(older, '#', 1);
    const newer = await back(serving);
    expect(newer.connack.sessionPresent).toBe(true);
    expect(await older.expect('disconnect')).toMatchObject({ reasonCode: 0x8e });
    await older.end();
    await serving.hub.produce('t', { value: 'x' });
    expect(await newer.expect('publish')).toMatchObject({ topic: 't' });
  });

  it('gets nothing at QoS 0 that came while its client was away', async () => {
    const serving = await serve();
    await leftBehind(serving, '#', 0);
    const publisher = await serving.client(4);
    await publish(publisher, 't', 'missed');
    const client = await back(serving);
    await publish(publisher, 't', 'seen');
    expect(await client.expect('publish')).toMatchObject({ payload: Buffer.from('seen') });
    expect(serving.frontEnd.counters.droppedOffline).toBe(1);
  });

  it('gets all of a topic that was made while its client was away, and nothing of before it subscribed [FAULTS 56]', async () => {
    const serving = await serve();
    await serving.hub.produce('old', { value: 'history' });
    await leftBehind(serving, '#');
    await serving.hub.produce('new', { value: 'news' });
    const client = await back(serving);
    expect(await client.expect('publish')).toMatchObject({ topic: 'new', payload: Buffer.from('news') });
    client.send({ cmd: 'pingreq' });
    await client.expect('pingresp');
  });
});

describe('what is written of a session', () => {
  const bytesWritten = (serving: Serving): number =>
    stateLogOf(serving)
      .partitions.flat()
      .reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);

  it('does not name partitions that have never had anything', async () => {
    const serving = await serve();
    for (let index = 0; index < 1000; index++) serving.hub.topics.make(`empty-${index}`);
    await leftBehind(serving, '#');
    expect(bytesWritten(serving)).toBeLessThan(500);
    await serving.hub.produce('empty-7', { value: 'first' });
    expect((await (await back(serving)).expect('publish')).payload.toString()).toBe('first');
  });
});

describe('what waits for a client', () => {
  const skippedOf = ({ properties }: IPublishPacket): unknown =>
    properties?.userProperties?.['polylog.skipped'];

  it('and retention has removed is counted, and told with the next message', async () => {
    const serving = await serve();
    await serving.hub.produce('t', { value: 'before' });
    await leftBehind(serving, '#');
    for (const value of ['1', '2', '3']) await serving.hub.produce('t', { value });
    await serving.hub.topics.partition('t', 0)?.deleteRecords(3);
    const client = await back(serving);
    const first = await client.expect('publish');
    expect([first.payload.toString(), skippedOf(first)]).toEqual(['3', '2']);
    ack(client, first);
    await serving.hub.produce('t', { value: '4' });
    expect(skippedOf(await client.expect('publish'))).toBeUndefined();
    expect(serving.frontEnd.counters.droppedRetention).toBe(2);
  });

  it('is no more than so many messages: the oldest are skipped', async () => {
    const serving = await serve({ queueCountMax: 2 });
    await serving.hub.produce('t', { value: 'before' });
    await leftBehind(serving, 't');
    for (const value of ['1', '2', '3', '4']) {
      await serving.hub.produce('t', { value });
      await serving.hub.produce('other', { value });
      serving.hub.clock.advance(1);
    }
    const client = await back(serving);
    const first = await client.expect('publish');
    expect([first.payload.toString(), skippedOf(first)]).toEqual([
      '3',
      String(serving.frontEnd.counters.droppedQueueLimit),
    ]);
    expect((await client.expect('publish')).payload.toString()).toBe('4');
  });

  it('is no older than the limit says: what is older is skipped', async () => {
    const serving = await serve({ queueAgeMaxMs: 10_000 });
    await serving.hub.produce('t', { value: 'before' });
    await leftBehind(serving, 't');
    for (const value of ['1', '2', '3', '4']) {
      await serving.hub.produce('t', { value });
      serving.hub.clock.advance(4000);
    }
    // 1 and 2 are 16 and 12 seconds old.
    const client = await back(serving);
    const first = await client.expect('publish');
    expect([first.payload.toString(), skippedOf(first)]).toEqual(['3', '2']);
    expect((await client.expect('publish')).payload.toString()).toBe('4');
    expect(serving.frontEnd.counters.droppedQueueLimit).toBe(2);
  });

  it.each([
    ['count', { queueCountMax: 2 }],
    ['age', { queueAgeMaxMs: 10_000 }],
  ])('is limited by %s for a client too that is here and does not acknowledge', async (_name, limit) => {
    const serving = await serve(limit);
    const client = await serving.client(5, { properties: { receiveMaximum: 1 } });
    await subscribe(client, 't', 1);
    await serving.hub.produce('t', { value: 'first' });
    const first = await client.expect('publish');
    for (const value of ['1', '2', '3', '4']) {
      await serving.hub.produce('t', { value });
      serving.hub.clock.advance(4000);
    }
    ack(client, first);
    const next = await client.expect('publish');
    expect([next.payload.toString(), skippedOf(next)]).toEqual(['3', '2']);
    ack(client, next);
    expect((await client.expect('publish')).payload.toString()).toBe('4');
  });

  it('is not limited where it is history that was asked for', async () => {
    const serving = await serve({ queueCountMax: 2, queueAgeMaxMs: 10_000 });
    for (const value of ['1', '2', '3', '4']) await serving.hub.produce('t', { value });
    serving.hub.clock.advance(60_000);
    const client = await serving.client(5, { properties: { receiveMaximum: 1 } });
    client.send({
      cmd: 'subscribe',
      messageId: 1,
      subscriptions: [{ topic: 't', qos: 1 }],
      properties: { userProperties: { 'polylog.from': 'earliest' } },
    });
    await client.expect('suback');
    for (const value of ['1', '2', '3', '4']) {
      const packet = await client.expect('publish');
      expect(packet.payload.toString()).toBe(value);
      ack(client, packet);
    }
  });

  it('of a topic that was deleted and made again is what the new one has', async () => {
    const serving = await serve();
    const client = await back(serving);
    await subscribe(client, '#', 1);
    await serving.hub.produce('t', { value: 'in flight' });
    await client.expect('publish');
    await leave(client);
    await serving.hub.topics.delete('t');
    const again = await back(serving);
    await eventually(() => serving.frontEnd.counters.droppedRetention === 1);
    await serving.hub.produce('t', { value: 'new' });
    expect(await again.expect('publish')).toMatchObject({ payload: Buffer.from('new'), dup: false });
  });

  it('is resent within the Receive Maximum of the new connection', async () => {
    const serving = await serve();
    const client = await back(serving);
    await subscribe(client, '#', 1);
    for (const value of ['1', '2', '3']) await serving.hub.produce('t', { value });
    for (let count = 0; count < 3; count++) await client.expect('publish');
    await leave(client);
    const narrow = { ...KEPT, properties: { ...KEPT.properties, receiveMaximum: 1 } };
    const again = await serving.client(5, { clientId: 'kept', ...narrow });
    const received: string[] = [];
    for (let count = 0; count < 3; count++) {
      const resent = await again.expect('publish');
      received.push(resent.payload.toString());
      again.send({ cmd: 'pingreq' });
      await again.expect('pingresp');
      ack(again, resent);
    }
    expect(received).toEqual(['1', '2', '3']);
  });

  it('gets nothing after a crash that it did not match before mapping rules were replaced', async () => {
    const mappings = [mappingRule({ match: 'device/{id}/state', topic: 'states', key: '{id}' })];
    const serving = await serve();
    await serving.hub.produce('states', { key: '42', value: 'first' });
    const client = await back(serving);
    await subscribe(client, 'device/#', 1);
    await serving.hub.produce('states', { key: '42', value: 'of nobody' });
    await ping(client);
    serving.hub.clock.advance(1);
    serving.frontEnd.reconfigure({ mappings });
    const { partitions } = stateLogOf(serving);
    const before = partitions.flat().length;
    serving.hub.clock.advance(11_000);
    await eventually(() => partitions.flat().length > before);
    const again = await (await crash(serving, { mappings }))('kept');
    await serving.hub.produce('states', { key: '42', value: 'new' });
    expect(await again.expect('publish')).toMatchObject({
      topic: 'device/42/state',
      payload: Buffer.from('new'),
    });
  });
});
