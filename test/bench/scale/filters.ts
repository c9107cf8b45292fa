// Cost against MQTT filters that clients subscribe to: messages of one topic again and again, messages of a topic each of
// its own, which no memory of earlier matches helps, and subscriptions made and ended.
import { type Curve, count, type World } from './curve.ts';
import { MeasuredHub } from './measured-hub.ts';
import { MqttConnection, publishAll, publishesOf } from './mqtt-work.ts';

const HOLDERS = 10;
const MESSAGES = 20_000;
const MESSAGE_BYTES = 64;
const IN_FLIGHT = 500;
const SUBSCRIPTIONS = 1000;

interface FiltersWorld extends World {
  readonly hub: MeasuredHub;
  readonly publisher: MqttConnection;
  readonly subscriber: MqttConnection;
  /** Number of the message that comes next: its topic has not been there. */
  nextTopic: number;
}

async function openFilters(filters: number, directory: string): Promise<FiltersWorld> {
  const hub = await MeasuredHub.start(directory);
  const port = hub.mqttPort;
  const holders = await Promise.all(
    Array.from({ length: HOLDERS }, (_, index) => MqttConnection.open(port, { clientId: `holder-${index}` })),
  );
  for (const [index, holder] of holders.entries()) {
    const own = Array.from({ length: filters }, (_, filter) => filter).filter(
      (filter) => filter % HOLDERS === index,
    );
    await holder.subscribe(own.map((filter) => `plant/${filter % 1000}/+/of/${filter}`));
  }
  const publisher = await MqttConnection.open(port, { clientId: 'publisher' });
  const subscriber = await MqttConnection.open(port, { clientId: 'subscriber' });
  await subscriber.subscribe(['plant/#']);
  const close = async (): Promise<void> => {
    for (const each of [...holders, publisher, subscriber]) each.close();
    await hub.close();
  };
  return { hub, publisher, subscriber, nextTopic: 0, close };
}

function publish(world: FiltersWorld, topicOf: (index: number) => string): () => Promise<number> {
  const publishes = publishesOf(MESSAGES, topicOf, MESSAGE_BYTES);
  return async () => {
    const clients = { publishers: [world.publisher], subscribers: [world.subscriber] };
    await publishAll(clients, publishes, IN_FLIGHT);
    return MESSAGES;
  };
}

async function subscribeAndEnd({ subscriber }: FiltersWorld): Promise<number> {
  for (let number = 0; number < SUBSCRIPTIONS; number++) {
    const filter = `plant/${number}/+/of/nobody`;
    await subscriber.subscribe([filter]);
    await subscriber.unsubscribe(filter);
  }
  return SUBSCRIPTIONS;
}

export const filterCount: Curve<FiltersWorld> = {
  name: 'filters',
  title: 'MQTT filters',
  axis: { label: 'filters that do not match', format: count },
  points: [1, 10, 100, 1000, 10_000, 100_000],
  figures: [
    {
      name: 'publish and deliver, one topic',
      unit: 'message',
      expectation: 'flat',
      measure: (world) => world.hub.sample(publish(world, () => 'plant/7/line/of/work')),
    },
    {
      name: 'publish and deliver, each a topic of its own',
      unit: 'message',
      expectation: 'flat',
      measure: (world) => {
        const first = world.nextTopic;
        world.nextTopic += MESSAGES;
        return world.hub.sample(
          publish(world, (index) => `plant/${index % 1000}/line/of/work-${first + index}`),
        );
      },
    },
    {
      name: 'subscribe and unsubscribe',
      unit: 'pair',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => subscribeAndEnd(world)),
    },
  ],
  open: openFilters,
};
