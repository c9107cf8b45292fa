// QoS 2 across connections and crashes: nothing twice, nothing never, in either direction.
import { describe, expect, it } from 'vitest';
import { eventually, serve } from '../front-end-fixture.ts';
import {
  crash,
  KEPT,
  leave,
  message,
  ping,
  publishPacket,
  recordCount,
  stateLogOf,
  subscribe,
} from './sessions-fixture.ts';

const FIRST = publishPacket('t', 'once', { qos: 2, messageId: 5 });
const AGAIN = publishPacket('t', 'once', { qos: 2, messageId: 5, dup: true });

describe('a publish at QoS 2', () => {
  it('that a crash leaves unreleased is known by its packet identifier, and not stored again [FAULTS 37]', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    const connect = await crash(serving);
    const again = await connect('p');
    expect(again.connack.sessionPresent).toBe(true);
    again.send(AGAIN);
    expect(await again.expect('pubrec')).toMatchObject({ reasonCode: 0 });
    again.send({ cmd: 'pubrel', messageId: 5 });
    expect(await again.expect('pubcomp')).toMatchObject({ reasonCode: 0 });
    expect(recordCount(serving, 't')).toBe(1);
    again.send(FIRST);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(2);
  });

  it('that was released before a crash is over: its packet identifier is another message', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    client.send({ cmd: 'pubrel', messageId: 5 });
    await client.expect('pubcomp');
    const connect = await crash(serving);
    const again = await connect('p');
    again.send({ cmd: 'pubrel', messageId: 5 });
    expect(await again.expect('pubcomp')).toMatchObject({ reasonCode: 0x92 });
    again.send(FIRST);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(2);
  });

  it('is not released on the wire before it is on disk', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    const log = stateLogOf(serving);
    let open = () => {};
    log.gate = new Promise((resolve) => {
      open = resolve;
    });
    client.send({ cmd: 'pubrel', messageId: 5 });
    await ping(client);
    log.gate = undefined;
    open();
    await client.expect('pubcomp');
  });

  it('that was on its way to the log when its connection ended is known to the next', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(publishPacket('t', 'first', { qos: 2, messageId: 1 }));
    await client.expect('pubrec');
    serving.hub.commits = 'when-told';
    client.send(FIRST);
    await ping(client);
    client.socket.destroy();
    const next = serving.client(5, { clientId: 'p', ...KEPT });
    await eventually(() => serving.frontEnd.listeners()[0]?.connections === 1);
    serving.hub.commits = 'at-once';
    (serving.hub.topics.partition('t', 0) as unknown as { commit(): void }).commit(); // the fake's own
    const again = await next;
    again.send(AGAIN);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(2);
  });

  it('of a session that a clean start has ended is another message, after a crash too', async () => {
    const serving = await serve();
    let numbers = 0;
    Object.assign(serving.hub.random, { below: () => ++numbers });
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    client.socket.destroy();
    await serving.client(5, { clientId: 'p', ...KEPT, clean: true });
    const connect = await crash(serving);
    const again = await connect('p');
    again.send(FIRST);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(2);
  });

  it('is searched for no further than the last checkpoint', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    serving.hub.clock.advance(10_001);
    const log = stateLogOf(serving);
    const tails = () => log.partitions.flat().filter(({ key }) => key[0] === 0x71);
    await eventually(() => tails().length === 2);
    const reads = serving.hub.topics.partition('t', 0) as unknown as { reads: number }; // the fake's own
    const before = reads.reads;
    const connect = await crash(serving);
    expect(reads.reads).toBe(before);
    const again = await connect('p');
    again.send(AGAIN);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(1);
  });

  it('that a full disk keeps from its session at the start keeps that session out, and no other, until there is room', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    const log = stateLogOf(serving);
    log.refusal = { refused: 'disk-full', message: 'the disk is full' };
    const connect = await crash(serving);
    expect((await connect('p')).connack).toMatchObject({ reasonCode: 0x88 });
    expect((await connect('other', { clean: true })).connack).toMatchObject({ reasonCode: 0 });
    log.refusal = undefined;
    const again = await connect('p');
    expect(again.connack).toMatchObject({ reasonCode: 0, sessionPresent: true });
    again.send(AGAIN);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(1);
  });

  it('that its session could not be given is found by the next start too, whatever checkpoints there were', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    const log = stateLogOf(serving);
    log.refusal = { refused: 'disk-full', message: 'the disk is full' };
    const connect = await crash(serving);
    log.refusal = undefined;
    const other = await connect('other');
    other.send(publishPacket('t', 'more', { qos: 2, messageId: 1 }));
    await other.expect('pubrec');
    const written = () => log.partitions.flat().filter(({ key }) => String(key) === 'rother').length;
    const before = written();
    serving.hub.clock.advance(10_001);
    await eventually(() => written() > before);
    await ping(other);
    const again = await (await crash(serving))('p');
    again.send(AGAIN);
    await again.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(2);
  });

  it('that its session could not be given is nothing to the next session of its client, nor to the search', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 'p', ...KEPT });
    client.send(FIRST);
    await client.expect('pubrec');
    const log = stateLogOf(serving);
    log.refusal = { refused: 'disk-full', message: 'the disk is full' };
    const connect = await crash(serving);
    log.refusal = undefined;
    const next = await connect('p', { ...KEPT, clean: true });
    next.send(AGAIN);
    await next.expect('pubrec');
    expect(recordCount(serving, 't')).toBe(2);
    const position = () => log.live.get('qid-of-t');
    const before = position();
    serving.hub.clock.advance(10_001);
    await eventually(() => log.live.has('rp'));
    await ping(next);
    expect(position()).toBeDefined();
    expect(position()).not.toEqual(before);
  });
});

describe('a message at QoS 2 on its way to a client', () => {
  it('that an earlier connection has begun, and a later one got received, is not sent by a third', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 's', ...KEPT });
    await subscribe(client, '#', 2);
    await serving.hub.produce('t', { value: 'foreign' });
    const publisher = await serving.client(5);
    publisher.send(publishPacket('t', 'x', { qos: 2 }));
    await message(client);
    const { messageId } = await message(client);
    client.socket.destroy();
    const second = await serving.client(5, { clientId: 's', ...KEPT });
    await message(second);
    expect(await message(second)).toMatchObject({ messageId, dup: true });
    second.send({ cmd: 'pubrec', messageId: messageId! });
    await second.expect('pubrel');
    const connect = await crash(serving);
    const third = await connect('s');
    expect(await message(third)).toMatchObject({ qos: 1, payload: Buffer.from('foreign') });
    expect(await third.expect('pubrel')).toMatchObject({ messageId });
  });

  it('goes out when its packet identifier is on disk, and PUBREL when PUBREC is', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 's', ...KEPT });
    await subscribe(client, '#', 2);
    const publisher = await serving.client(5);
    const log = stateLogOf(serving);
    const gate = () => {
      let open = () => {};
      log.gate = new Promise((resolve) => {
        open = resolve;
      });
      return () => {
        log.gate = undefined;
        open();
      };
    };
    let open = gate();
    publisher.send(publishPacket('t', 'x', { qos: 2 }));
    await publisher.expect('pubrec');
    await ping(client);
    open();
    const { messageId } = await message(client);
    open = gate();
    client.send({ cmd: 'pubrec', messageId: messageId! });
    await ping(client);
    open();
    await client.expect('pubrel');
  });

  it('comes again under its identifier after a crash; once received, it is released and not sent', async () => {
    const serving = await serve();
    const client = await serving.client(5, { clientId: 's', ...KEPT });
    await subscribe(client, '#', 2);
    const publisher = await serving.client(5);
    for (const payload of ['1', '2'])
      publisher.send(publishPacket('t', payload, { qos: 2, messageId: 1 + +payload }));
    const sent = [await message(client), await message(client)];
    client.send({ cmd: 'pubrec', messageId: sent[0]!.messageId! });
    await client.expect('pubrel');
    const connect = await crash(serving);
    const again = await connect('s');
    expect(await again.expect('pubrel')).toMatchObject({ messageId: sent[0]!.messageId });
    expect(await message(again)).toMatchObject({
      messageId: sent[1]!.messageId,
      dup: true,
      qos: 2,
      payload: Buffer.from('2'),
    });
    again.send({ cmd: 'pubcomp', messageId: sent[0]!.messageId! });
    again.send({ cmd: 'pubrec', messageId: sent[1]!.messageId! });
    await again.expect('pubrel');
    again.send({ cmd: 'pubcomp', messageId: sent[1]!.messageId! });
    await ping(again);
    await leave(again);
    const last = await connect('s');
    await ping(last);
  });
});
