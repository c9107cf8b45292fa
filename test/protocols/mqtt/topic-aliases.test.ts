// Topic aliases, in both directions.
import { expect, it } from 'vitest';
import { serve } from './front-end-fixture.ts';
import { publishPacket, subscribe } from './sessions/sessions-fixture.ts';

const aliased = (topic: string, alias: number) => ({
  ...publishPacket(topic, 'x'),
  properties: { topicAlias: alias },
});

it('an alias stands for the topic that it was given last [MQTT-3.3.2-12]', async () => {
  const { client, hub } = await serve();
  const publisher = await client(5);
  for (const packet of [
    aliased('a/1', 1),
    aliased('', 1),
    aliased('b/1', 1),
    aliased('', 1),
    aliased('a/1', 2),
  ]) {
    publisher.send(packet);
    expect(await publisher.expect('puback')).toMatchObject({ reasonCode: 0 });
  }
  expect(['a', 'b'].map((topic) => hub.topics.partition(topic, 0)?.logEndOffset)).toEqual([3, 2]);
});

it('aliases end with their connection [MQTT-3.3.2-7]', async () => {
  const { client } = await serve();
  const first = await client(5, { clientId: 'same' });
  first.send(aliased('a', 1));
  await first.expect('puback');
  const second = await client(5, { clientId: 'same' });
  second.send(aliased('', 1));
  expect(await second.expect('disconnect')).toMatchObject({ reasonCode: 0x82 });
});

it('a client that takes aliases gets as many as it takes, and the name with the first use of each', async () => {
  const { client, hub } = await serve();
  const subscriber = await client(5, { properties: { topicAliasMaximum: 1 } });
  await subscribe(subscriber, '#', 1);
  for (const topic of ['a', 'a', 'b', 'a']) await hub.produce(topic, { value: topic });
  const received = [];
  for (let count = 0; count < 4; count++) {
    const { topic, payload, properties } = await subscriber.expect('publish');
    received.push([payload.toString(), topic, properties?.topicAlias]);
  }
  expect(received.filter(([payload]) => payload === 'a')).toEqual([
    ['a', 'a', 1],
    ['a', '', 1],
    ['a', '', 1],
  ]);
  expect(received.filter(([payload]) => payload === 'b')).toEqual([['b', 'b', undefined]]);
});
