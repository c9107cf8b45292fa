// Subscriptions that ask for history: polylog.from on SUBSCRIBE, $replay below version 5.
import type { IPublishPacket } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { parseReplayStart, splitReplayFilter } from '../../../protocols/mqtt/replay.ts';
import type { FakePartition } from '../../helpers/fake-mqtt-hub.ts';
import type { Connected, Serving } from './front-end-fixture.ts';
import { serve } from './front-end-fixture.ts';

const NOW_MS = 1_700_000_000_000;

describe('where history begins', () => {
  it.each([
    ['earliest', { offset: 0 }],
    ['0', { offset: 0 }],
    ['4711', { offset: 4711 }],
    ['1699999999999', { timeMs: 1_699_999_999_999 }],
    ['-1h', { timeMs: NOW_MS - 3_600_000 }],
    ['-90s', { timeMs: NOW_MS - 90_000 }],
    ['-15m', { timeMs: NOW_MS - 900_000 }],
    ['-2d', { timeMs: NOW_MS - 172_800_000 }],
    ['-5ms', { timeMs: NOW_MS - 5 }],
    ['2023-11-14T22:13:20Z', { timeMs: NOW_MS }],
    ['2023-11-14T23:13:20.5+01:00', { timeMs: NOW_MS + 500 }],
    ['2023-11-14', { timeMs: 1_699_920_000_000 }],
  ])('%s is understood', (text, start) => {
    expect(parseReplayStart(text, NOW_MS)).toEqual(start);
  });

  it.each([
    '',
    'latest',
    '-1',
    '-1w',
    '1h',
    '-',
    '1e3',
    '9999999999999999',
    '2023-99-99',
    'x',
    '2023',
    '-1h ',
  ])('%j is not, unless it is an offset', (text) => {
    const start = parseReplayStart(text, NOW_MS);
    expect(start).toEqual(text === '2023' ? { offset: 2023 } : undefined);
  });

  it.each([
    ['$replay/-1h/a/+/b', 'a/+/b', '-1h'],
    ['$replay/earliest/#', '#', 'earliest'],
    ['$replay/earliest', '$replay/earliest', undefined],
    ['a/$replay/x', 'a/$replay/x', undefined],
  ])('the filter %s is taken apart', (filter, rest, from) => {
    expect(splitReplayFilter(filter)).toEqual({ filter: rest, from });
  });
});

/** Ten messages, one a minute, `a/0` and `a/1` in turns; the last is a minute old. */
async function history(): Promise<Serving> {
  const serving = await serve();
  const { hub } = serving;
  for (let number = 0; number < 10; number++) {
    await hub.produce('a', { key: `a/${number % 2}`, value: `${number}` });
    hub.clock.advance(60_000);
  }
  return serving;
}

async function subscribe(client: Connected, topic: string, from?: string, qos: 0 | 1 = 1): Promise<number> {
  client.send({
    cmd: 'subscribe',
    messageId: 7,
    subscriptions: client.version === 5 ? [{ topic, qos, rh: 2 }] : [{ topic, qos }],
    ...(from === undefined ? {} : { properties: { userProperties: { 'polylog.from': from } } }),
  });
  return (await client.expect('suback')).granted[0] as number;
}

async function values(client: Connected, count: number): Promise<string> {
  const received: IPublishPacket[] = [];
  while (received.length < count) {
    const packet = await client.expect('publish');
    if (packet.qos > 0) client.send({ cmd: 'puback', messageId: packet.messageId! });
    received.push(packet);
  }
  return received.map(({ payload }) => payload.toString()).join('');
}

async function expectNothingMore(client: Connected): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  client.send({ cmd: 'pingreq' });
  await client.expect('pingresp');
}

describe('a subscription with history', () => {
  it.each([
    ['earliest', '0123456789'],
    ['0', '0123456789'],
    ['7', '789'],
    ['99', ''],
    ['-3m', '789'],
    [String(NOW_MS + 8 * 60_000), '89'],
    ['-1s', ''],
    ['-1h', '0123456789'],
  ])('from %s gets it in order, then what comes, without a gap or a repeat', async (from, expected) => {
    const { hub, client } = await history();
    const reader = await client(5);
    expect(await subscribe(reader, 'a/#', from)).toBe(1);
    void hub.produce('a', { key: 'a/0', value: 'x' });
    expect(await values(reader, expected.length + 1)).toBe(`${expected}x`);
    await expectNothingMore(reader);
  });

  it('is paced by the Receive Maximum', async () => {
    const { client } = await history();
    const reader = await client(5, { properties: { receiveMaximum: 2 } });
    await subscribe(reader, 'a/#', 'earliest');
    expect(await values(reader, 10)).toBe('0123456789');
    await expectNothingMore(reader);
  });

  it('is had below version 5 by $replay', async () => {
    const { hub, client } = await history();
    const reader = await client(4);
    expect(await subscribe(reader, '$replay/-3m/a/1', undefined, 0)).toBe(0);
    expect(await values(reader, 2)).toBe('79');
    void hub.produce('a', { key: 'a/1', value: 'x' });
    expect(await values(reader, 1)).toBe('x');
    reader.send({ cmd: 'unsubscribe', messageId: 8, unsubscriptions: ['$replay/-3m/a/1'] });
    await reader.expect('unsuback');
    await hub.produce('a', { key: 'a/1', value: 'y' });
    await expectNothingMore(reader);
  });

  it('repeats nothing for the other subscriptions of the client', async () => {
    const { hub, client } = await history();
    const reader = await client(5);
    await subscribe(reader, 'a/0');
    await hub.produce('a', { key: 'a/0', value: 'x' });
    expect(await values(reader, 1)).toBe('x');
    await subscribe(reader, 'a/1', 'earliest');
    expect(await values(reader, 5)).toBe('13579');
    await hub.produce('a', { key: 'a/0', value: 'y' });
    await hub.produce('a', { key: 'a/1', value: 'z' });
    expect(await values(reader, 2)).toBe('yz');
    await expectNothingMore(reader);
  });

  it('can be asked for again, and from further back while it is being read', async () => {
    const { client } = await history();
    const reader = await client(5, { properties: { receiveMaximum: 1 } });
    await subscribe(reader, 'a/#', '8');
    const first = await reader.expect('publish');
    expect(first.payload.toString()).toBe('8');
    await subscribe(reader, 'a/#', '5');
    reader.send({ cmd: 'puback', messageId: first.messageId! });
    expect(await values(reader, 5)).toBe('56789');
    await expectNothingMore(reader);
  });

  it('begins where retention has left something', async () => {
    const { hub, client } = await history();
    await (hub.topics.partition('a', 0) as FakePartition).deleteRecords(6);
    const reader = await client(5);
    await subscribe(reader, 'a/#', 'earliest');
    expect(await values(reader, 4)).toBe('6789');
  });

  it('goes on after it with an empty history', async () => {
    const { hub, client } = await serve();
    hub.topics.make('a');
    const reader = await client(5);
    await subscribe(reader, 'a/#', 'earliest');
    await hub.produce('a', { value: 'x' });
    await hub.produce('b', { value: 'not for it' });
    expect(await values(reader, 1).catch(() => '')).toBe('x');
  });

  it.each([
    ['that is not understood', 'a/#', 'yesterday', 0x83],
    ['of a group', '$share/g/a', 'earliest', 0x9e],
  ])('%s is refused', async (_what, topic, from, code) => {
    const { client } = await history();
    const reader = await client(5);
    expect(await subscribe(reader, topic, from)).toBe(code);
    await expectNothingMore(reader);
  });
});

it('where a mapping rule forbids it, history is refused with 0x9E', async () => {
  const { client } = await serve({
    mappings: [
      {
        match: 'secret/#',
        topic: 'secrets',
        key: '{mqttTopic}',
        qos: 1,
        retain: 'store',
        direction: 'both',
        isolation: 'read_committed',
        replay: false,
      },
    ],
  });
  const reader = await client(5);
  expect(await subscribe(reader, 'secret/1', 'earliest')).toBe(0x9e);
  expect(await subscribe(reader, '#', '-1h')).toBe(0x9e);
  expect(await subscribe(reader, 'open/#', '-1h')).toBe(1);
  expect(await subscribe(reader, 'secret/1')).toBe(1);
});
