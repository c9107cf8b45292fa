// What is written of a session and how much of it: cursors of very many partitions, very many subscriptions; records of
// before; and that a session goes on from what is written as if nothing had been left out.
import type { IPublishPacket } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import {
  decodeCursors,
  decodeDelivery,
  encodeCursors,
  encodeDelivery,
} from '../../../../protocols/mqtt/sessions/delivery-record.ts';
import { encodePlaces, mergePlaces, writePlaces } from '../../../../protocols/mqtt/sessions/places.ts';
import { RecordUnreadable, RecordWriter } from '../../../../protocols/mqtt/sessions/record-bytes.ts';
import {
  decodeSession,
  encodeSession,
  RECORD_KIND,
  recordKey,
} from '../../../../protocols/mqtt/sessions/session-records.ts';
import { SubscriptionChunks } from '../../../../protocols/mqtt/sessions/subscription-chunks.ts';
import {
  decodeSubscriptions,
  encodeSubscriptions,
} from '../../../../protocols/mqtt/sessions/subscription-record.ts';
import { decodeGroup, encodeGroup } from '../../../../protocols/mqtt/share/share-record.ts';
import type { Connected, Serving } from '../front-end-fixture.ts';
import { eventually, serve } from '../front-end-fixture.ts';
import {
  crash,
  KEPT,
  leave,
  message,
  ping,
  publishPacket,
  stateLogOf,
  subscribe,
} from './sessions-fixture.ts';

const TOPICS = 200;

/** More topics than a delivery record names by itself, each with something in it. */
async function servingMany(): Promise<Serving> {
  const serving = await serve();
  for (let index = 0; index < TOPICS; index++) await serving.hub.produce(`t${index}`, { value: 'old' });
  return serving;
}

/** Records written since `from`, by the kind of their key. */
function written(serving: Serving, from: number): { readonly kind: string; readonly bytes: number }[] {
  return recordsOf(serving)
    .slice(from)
    .map(({ key, value }) => ({ kind: String.fromCharCode(key[0]!), bytes: value?.length ?? 0 }));
}

const recordsOf = (serving: Serving) => stateLogOf(serving).partitions.flat();

const ack = (client: Connected, { messageId }: IPublishPacket) =>
  client.send({ cmd: 'puback', messageId: messageId! });

async function passSecond({ hub }: Serving): Promise<void> {
  hub.clock.advance(1000);
  for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe('cursors of very many partitions', () => {
  it('are written when a subscription begins; then of those alone that something was sent from', async () => {
    const serving = await servingMany();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    await subscribe(client, '#', 1);
    expect(written(serving, 0).find(({ kind }) => kind === 'b')!.bytes).toBeGreaterThan(TOPICS * 3);
    const before = recordsOf(serving).length;
    for (let round = 0; round < 5; round++) {
      for (let index = 0; index < 3; index++) await serving.hub.produce(`t${index}`, { value: 'new' });
      for (let index = 0; index < 3; index++) ack(client, await message(client));
      await ping(client);
      await passSecond(serving);
    }
    const after = written(serving, before);
    expect(new Set(after.map(({ kind }) => kind))).toEqual(new Set(['c']));
    for (const { bytes } of after) expect(bytes).toBeLessThan(100);
  });

  it.each(['a crash', 'a stop', 'another connection'])('are right after %s', async (what) => {
    const serving = await servingMany();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    await subscribe(client, 't1', 1);
    await subscribe(client, 't2', 1);
    for (const topic of ['t1', 't3', 't2', 't1'])
      await serving.hub.produce(topic, { value: `first ${topic}` });
    for (const value of ['first t1', 'first t2', 'first t1']) {
      const packet = await message(client);
      expect(packet.payload.toString()).toBe(value);
      ack(client, packet);
    }
    await ping(client);
    await passSecond(serving);
    if (what !== 'a crash') await leave(client);
    const connect =
      what === 'another connection'
        ? (clientId: string) => serving.client(5, { clientId, ...KEPT })
        : await crash(serving);
    for (const topic of ['t3', 't2', 't1', 'made-meanwhile'])
      await serving.hub.produce(topic, { value: 'second' });
    const again = await connect('one');
    expect(again.connack.sessionPresent).toBe(true);
    const topics = [await message(again), await message(again)].map(({ topic }) => topic);
    expect(topics.sort()).toEqual(['t1', 't2']);
    await ping(again);
  });

  it('are not passed over where a filter comes that matches what came before', async () => {
    const serving = await servingMany();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    await subscribe(client, 't1', 1);
    await serving.hub.produce('t2', { value: 'before' });
    await serving.hub.produce('t3', { value: 'before' });
    await subscribe(client, 't2', 1);
    await serving.hub.produce('t2', { value: 'after' });
    ack(client, await message(client));
    await ping(client);
    await passSecond(serving);
    const connect = await crash(serving);
    await serving.hub.produce('t2', { value: 'later' });
    await serving.hub.produce('t3', { value: 'later' });
    const again = await connect('one');
    expect((await message(again)).payload.toString()).toBe('later');
    await ping(again);
  });

  it('are written again when they have moved for a minute, of a session that was sent nothing', async () => {
    const serving = await servingMany();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    await subscribe(client, 't1', 1);
    const before = recordsOf(serving).length;
    for (let index = 2; index < TOPICS; index++) await serving.hub.produce(`t${index}`, { value: 'new' });
    for (let second = 0; second < 62; second++) await passSecond(serving);
    expect(written(serving, before).map(({ kind }) => kind)).toEqual(['b', 'c']);
    // Nothing has moved since.
    for (let second = 0; second < 70; second++) await passSecond(serving);
    expect(written(serving, before)).toHaveLength(2);
  });

  it('share their positions: the next session writes the same bytes, and one that is back none', async () => {
    const serving = await servingMany();
    const [first, second] = [
      await serving.client(5, { clientId: 'one', ...KEPT }),
      await serving.client(5, { clientId: 'two', ...KEPT }),
    ];
    await subscribe(first, '#', 1);
    await subscribe(second, '#', 1);
    const bases = recordsOf(serving).filter(({ key }) => key[0] === RECORD_KIND.CURSORS);
    expect(bases.map(({ value }) => decodeCursors(value!).id)).toEqual([
      decodeCursors(bases[0]!.value!).id,
      decodeCursors(bases[0]!.value!).id,
    ]);
    const before = recordsOf(serving).length;
    await leave(first);
    const again = await serving.client(5, { clientId: 'one', ...KEPT });
    await leave(again);
    await eventually(() => written(serving, before).length >= 5);
    expect(written(serving, before).map(({ kind }) => kind)).not.toContain('b');
  });

  it('that could not be written are written whole when the connection ends for it', async () => {
    const serving = await servingMany();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    const log = stateLogOf(serving);
    log.refusal = { refused: 'storage', message: 'the disk is gone' };
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 1 }] });
    const ended = client.end();
    await eventually(() => serving.hub.log.entries.some(({ event }) => event === 'mqtt-disconnecting'));
    log.refusal = undefined;
    await ended;
    await serving.hub.produce('t5', { value: 'new' });
    const again = await serving.client(5, { clientId: 'one', ...KEPT });
    // SUBACK never came, so the subscription is not there; what is there can be read.
    expect(again.connack.reasonCode).toBe(0);
    await ping(again);
  });
});

describe('very many subscriptions', () => {
  it('cost as much for the last as for the first: those that share a record are written', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    const total = 500;
    for (let index = 0; index < total; index++) {
      client.send({
        cmd: 'subscribe',
        messageId: index + 1,
        subscriptions: [{ topic: `plant/${index}/commands`, qos: 1 }],
      });
    }
    for (let index = 0; index < total; index++) await client.expect('suback');
    const before = recordsOf(serving).length;
    await subscribe(client, 'the/last', 1);
    const last = written(serving, before);
    expect(last.map(({ kind }) => kind).sort()).toEqual(['c', 'u']);
    for (const { bytes } of last) expect(bytes).toBeLessThan(64 * 40);
    await leave(client);
    await serving.hub.produce('plant', { key: 'plant/7/commands', value: 'go' });
    await serving.hub.produce('plant', { key: 'the/last', value: 'no such topic' });
    const again = await serving.client(5, { clientId: 'one', ...KEPT });
    expect((await message(again)).topic).toBe('plant/7/commands');
    again.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: ['plant/7/commands'] });
    await again.expect('unsuback');
    const connect = await crash(serving);
    await serving.hub.produce('plant', { key: 'plant/7/commands', value: 'no more' });
    await serving.hub.produce('plant', { key: 'plant/8/commands', value: 'still' });
    const third = await connect('one');
    // The exchange that nobody has acknowledged, then what is new.
    const payloads = [await message(third), await message(third)].map(({ payload }) => payload.toString());
    expect(payloads).toEqual(['go', 'still']);
  });

  it('leave nothing behind when the session ends', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    for (let index = 0; index < 150; index++) await subscribe(client, `a/${index}`, 1);
    client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 0 } });
    await client.end();
    await eventually(() => stateLogOf(serving).live.size === 0);
  });

  it('keep the record that they are in, and others take the place of those that go', () => {
    const chunks = new SubscriptionChunks(new Map());
    for (let index = 0; index < 200; index++) chunks.set(`f${index}`);
    expect([...chunks.takeChanged().keys()]).toEqual([0, 1, 2, 3]);
    chunks.delete('f70');
    expect([...chunks.takeChanged()].map(([number, filters]) => [number, filters.length])).toEqual([[1, 63]]);
    chunks.set('f3');
    expect([...chunks.takeChanged().keys()]).toEqual([0]);
    for (let index = 192; index < 200; index++) chunks.delete(`f${index}`);
    expect([...chunks.takeChanged()]).toEqual([[3, []]]);
    chunks.set('x'.repeat(60_000));
    chunks.set('y'.repeat(60_000));
    expect(chunks.takeChanged().size).toBe(2);
  });
});

describe('records', () => {
  const place = (topicId: string, partition: number, offset: number) => ({ topicId, partition, offset });

  it('say cursors against others', () => {
    const base = [place('a', 0, 5), place('a', 1, 6), place('b', 0, 7)];
    expect(mergePlaces(base, [place('a', 1, 0), place('c', 0, 9)])).toEqual([
      place('a', 0, 5),
      place('a', 1, 0),
      place('b', 0, 7),
      place('c', 0, 9),
    ]);
    expect(decodeCursors(encodeCursors({ id: 'x', places: base }))).toEqual({ id: 'x', places: base });
  });

  it('of version 1 are read: a delivery that names all cursors', () => {
    const delivery = { cursors: [place('a', 0, 5)], lastPacketId: 3, exchanges: [] };
    const value = encodeDelivery(delivery);
    expect(value[0]).toBe(2);
    value[0] = 1;
    expect(decodeDelivery(value)).toEqual(delivery);
  });

  it('of a later version are refused in words', () => {
    const value = encodeSession({ sessionNumber: 1, expirySeconds: 2, disconnectedAtMs: 3, will: undefined });
    expect(value[0]).toBe(2);
    value[0] = 3;
    expect(() => decodeSession(value)).toThrow(RecordUnreadable);
    expect(() => decodeSession(value)).toThrow('it has version 3; versions up to 2 are understood');
  });

  it('of a group: version 2, and both layouts that version 1 has had', () => {
    const group = {
      named: [place('a', 0, 5)],
      owed: [place('a', 0, 3)],
      memberIds: new Set(['one', 'two']),
    };
    const value = encodeGroup(group);
    expect(value[0]).toBe(2);
    const base = encodeCursors({ id: 'x', places: [place('a', 0, 1), place('b', 0, 2)] });
    expect(decodeGroup(value, base)).toMatchObject({
      ...group,
      cursors: [place('a', 0, 5), place('b', 0, 2)],
    });
    value[0] = 1;
    expect(decodeGroup(value, undefined)).toMatchObject({ ...group, cursors: group.named });
    const first = new RecordWriter();
    first.byte(1);
    first.bytes(encodePlaces(group.named));
    first.integer(2);
    first.string('one');
    first.string('two');
    expect(decodeGroup(first.finish(), undefined)).toMatchObject({
      ...group,
      owed: [],
      cursors: group.named,
    });
  });

  it('of a session of version 1 become what they are now when its client is back', async () => {
    const serving = await serve();
    await serving.hub.produce('a', { value: 'old' });
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    await subscribe(client, 'a', 1);
    await subscribe(client, 'b', 1);
    await leave(client);
    await eventually(() => stateLogOf(serving).live.size === 4);
    toVersionOne(serving, 'one');
    const connect = await crash(serving);
    await serving.hub.produce('a', { value: 'new' });
    const again = await connect('one');
    expect(again.connack.sessionPresent).toBe(true);
    expect((await message(again)).payload.toString()).toBe('new');
    again.send(publishPacket('b', 'more', { qos: 0 }));
    expect((await message(again)).topic).toBe('b');
    const kinds = [...stateLogOf(serving).live.keys()].map((key) => key[0]);
    expect(kinds.sort()).toEqual(['c', 'r', 's', 'u']);
  });
});

/** Rewrites what is on disk as it was before subscriptions had records of their own. */
function toVersionOne(serving: Serving, clientId: string): void {
  const log = stateLogOf(serving);
  const key = recordKey(RECORD_KIND.SESSION, clientId);
  const chunkKey = [...log.live.keys()].find((each) => each.startsWith('u'))!;
  const subscriptions = decodeSubscriptions(log.live.get(chunkKey)!);
  const { session } = decodeSession(log.live.get(key.toString('latin1'))!);
  const delivery = recordKey(RECORD_KIND.DELIVERY, clientId);
  const oldDelivery = Buffer.from(log.live.get(delivery.toString('latin1'))!);
  oldDelivery[0] = 1;
  const writer = new RecordWriter();
  writer.byte(1);
  writer.byte(0);
  writer.integer(session.sessionNumber);
  writer.integer(session.expirySeconds);
  writer.integer(session.disconnectedAtMs);
  writer.integer(subscriptions.length);
  for (const { filter, qos, identifier, starts } of subscriptions) {
    writer.string(filter);
    writer.byte(qos);
    writer.integer(identifier);
    writePlaces(writer, starts);
  }
  const partition = log.partitions.find((records) => records.some((record) => record.key.equals(key)))!;
  partition.push(
    { key, value: writer.finish() },
    { key: delivery, value: oldDelivery },
    { key: Buffer.from(chunkKey, 'latin1'), value: null },
  );
}

it('subscriptions are read as they were written', () => {
  const subscription = {
    filter: 'a/+',
    qos: 2,
    noLocal: true,
    retainAsPublished: true,
    identifier: 70_000,
    starts: [{ topicId: 'x', partition: 3, offset: 2 ** 40 }],
  } as const;
  expect(decodeSubscriptions(encodeSubscriptions([subscription]))).toEqual([subscription]);
});
