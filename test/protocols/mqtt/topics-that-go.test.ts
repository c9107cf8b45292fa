// Kafka topics that come by the hundreds and are deleted again, while clients are subscribed to everything and sessions have
// their cursors in them: nothing of other topics is lost, and nothing of those that are gone is held on to.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Connected, Serving } from './front-end-fixture.ts';
import { serve } from './front-end-fixture.ts';
import { crash, KEPT, leave, message, ping, publishPacket, subscribe } from './sessions/sessions-fixture.ts';

const TOPICS = 1000;
const DELETED = 300;

/** One publish to each topic, none of which exists; all answered. */
async function storm(publisher: Connected, count = TOPICS): Promise<void> {
  for (let index = 0; index < count; index++) {
    publisher.send(publishPacket(`storm-${index}/x`, `${index}`, { messageId: index + 1 }));
  }
  for (let index = 0; index < count; index++) {
    expect(await publisher.expect('puback')).toMatchObject({ messageId: index + 1 });
  }
}

async function takeAll(client: Connected, count: number): Promise<string[]> {
  const topics: string[] = [];
  for (let index = 0; index < count; index++) {
    const packet = await message(client);
    topics.push(packet.topic);
    client.send({ cmd: 'puback', messageId: packet.messageId! });
  }
  return topics;
}

async function deleteAll({ hub }: Serving, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await hub.topics.delete(`storm-${index}`);
}

const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};

async function pass({ hub }: Serving, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    hub.clock.advance(1000);
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

describe('a thousand topics that come at once', () => {
  it('reach who is subscribed to everything, and a session that is away, each once', async () => {
    const serving = await serve();
    const away = await serving.client(5, { clientId: 'away', ...KEPT });
    await subscribe(away, '#', 1);
    await leave(away);
    const [here, publisher] = [await serving.client(5), await serving.client(5)];
    await subscribe(here, '#', 1);
    await storm(publisher);
    const expected = Array.from({ length: TOPICS }, (_, index) => `storm-${index}/x`).sort();
    expect((await takeAll(here, TOPICS)).sort()).toEqual(expected);
    const back = await serving.client(5, { clientId: 'away', ...KEPT });
    expect((await takeAll(back, TOPICS)).sort()).toEqual(expected);
    await ping(back);
    await ping(here);
  });

  it('and are deleted leave nothing behind, and lose nothing of others', async () => {
    const serving = await serve();
    const { hub } = serving;
    await hub.produce('stays', { value: 'before' });
    const options = { clientId: 'away', ...KEPT };
    const away = await serving.client(5, options);
    await subscribe(away, '#', 1);
    await leave(away);
    const slow = await serving.client(5, {
      clientId: 'slow',
      ...KEPT,
      properties: { ...KEPT.properties, receiveMaximum: 1 },
    });
    await subscribe(slow, '#', 1);
    const [here, publisher] = [
      await serving.client(5, { clientId: 'here', ...KEPT }),
      await serving.client(5, { clientId: 'publisher', ...KEPT }),
    ];
    await subscribe(here, '#', 1);
    await storm(publisher, DELETED);
    publisher.send(publishPacket('storm-7/x', 'exactly once', { qos: 2, messageId: 9 }));
    await publisher.expect('pubrec');
    publisher.send({ cmd: 'pubrel', messageId: 9 });
    await publisher.expect('pubcomp');
    await takeAll(here, DELETED + 1);
    const inFlight = await message(slow);
    await hub.produce('stays', { value: 'meanwhile' });
    await takeAll(here, 1);
    const gone = hub.topics
      .list()
      .filter(({ name }) => name.startsWith('storm-'))
      .flatMap(({ partitions }) => partitions.map((partition) => new WeakRef(partition)));
    expect(gone).toHaveLength(DELETED);
    await deleteAll(serving, DELETED);
    slow.send({ cmd: 'puback', messageId: inFlight.messageId! });
    expect(`${(await message(slow)).payload}`).toBe('meanwhile');
    await hub.produce('stays', { value: 'after' });
    expect(await takeAll(here, 1)).toEqual(['stays']);
    const back = await serving.client(5, options);
    expect(await takeAll(back, 2)).toEqual(['stays', 'stays']);
    // What is written now and then is written without them.
    await pass(serving, 75);
    await hub.produce('stays', { value: 'and after' });
    await pass(serving, 75);
    collectGarbage();
    const held = gone.filter((partition) => partition.deref() !== undefined);
    // A reader stands where it has stood last.
    expect(held.length).toBeLessThan(5);
  });

  it('leave a session that was connected when the hub was killed with what is left', async () => {
    const serving = await serve();
    const publisher = await serving.client(5);
    await storm(publisher, 100);
    const client = await serving.client(5, { clientId: 'one', ...KEPT });
    await subscribe(client, '#', 1);
    await serving.hub.produce('storm-3', { value: 'in flight' });
    await message(client);
    await deleteAll(serving, 90);
    const connect = await crash(serving);
    await serving.hub.produce('storm-95', { value: 'left' });
    const back = await connect('one');
    expect(`${(await message(back)).payload}`).toBe('left');
    await ping(back);
  });
});
