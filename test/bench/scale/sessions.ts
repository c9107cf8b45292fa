// Cost against MQTT sessions whose clients are away: messages that they do not want, messages that all of them want and
// will get when they are back, a client that comes back, and the hub's start.
import { type Curve, count, type World } from './curve.ts';
import { MeasuredHub } from './measured-hub.ts';
import { inParallel, MqttConnection, publishAll, publishesOf } from './mqtt-work.ts';

const STORED_AT_ONCE = 200;
const EXPIRY_SECONDS = 86_400;
/** Sessions that come back and go again; no message waits for them. */
const RETURNING = 50;
const RETURNS = 300;
const RETURNS_AT_ONCE = 10;
const MESSAGES = 20_000;
const MESSAGE_BYTES = 64;
const IN_FLIGHT = 500;

interface SessionsWorld extends World {
  readonly hub: MeasuredHub;
}

async function openSessions(sessions: number, directory: string): Promise<SessionsWorld> {
  const hub = await MeasuredHub.start(directory);
  await inParallel(sessions, STORED_AT_ONCE, (index) =>
    storeSession(hub.mqttPort, `stored-${index}`, index, [`commands/${index}/#`, 'fleet/#']),
  );
  await inParallel(RETURNING, RETURNING, (index) =>
    storeSession(hub.mqttPort, `returning-${index}`, index, [`returning/${index}/#`]),
  );
  return { hub, close: () => hub.close() };
}

async function storeSession(
  port: number,
  clientId: string,
  number: number,
  filters: readonly string[],
): Promise<void> {
  const connection = await MqttConnection.open(port, { clientId, number, expirySeconds: EXPIRY_SECONDS });
  await connection.subscribe(filters);
  await connection.disconnect();
}

async function publish({ hub }: SessionsWorld, topic: string): Promise<() => Promise<number>> {
  const publisher = await MqttConnection.open(hub.mqttPort, { clientId: 'publisher' });
  const subscriber = await MqttConnection.open(hub.mqttPort, { clientId: 'subscriber' });
  await subscriber.subscribe([topic]);
  const publishes = publishesOf(MESSAGES, () => topic, MESSAGE_BYTES);
  return async () => {
    await publishAll({ publishers: [publisher], subscribers: [subscriber] }, publishes, IN_FLIGHT);
    publisher.close();
    subscriber.close();
    return MESSAGES;
  };
}

async function comeBack({ hub }: SessionsWorld): Promise<number> {
  await inParallel(RETURNS, RETURNS_AT_ONCE, async (index) => {
    const connection = await MqttConnection.open(hub.mqttPort, {
      ...{ clientId: `returning-${index % RETURNING}`, number: index },
      ...{ isBack: true, expirySeconds: EXPIRY_SECONDS },
    });
    await connection.disconnect();
  });
  return RETURNS;
}

export const storedSessions: Curve<SessionsWorld> = {
  name: 'sessions',
  title: 'Stored MQTT sessions',
  axis: { label: 'sessions whose clients are away', format: count },
  points: [1, 10, 100, 1000, 10_000, 100_000],
  figures: [
    {
      name: 'publish and deliver; none of them wants it',
      unit: 'message',
      expectation: 'flat',
      measure: async (world) => world.hub.sample(await publish(world, 'live/topic')),
    },
    {
      name: 'a client comes back and goes',
      unit: 'return',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => comeBack(world)),
    },
    {
      name: 'publish and deliver; all of them want it',
      unit: 'message',
      expectation: 'flat',
      measure: async (world) => world.hub.sample(await publish(world, 'fleet/topic')),
    },
    {
      name: 'start after a stop',
      unit: 'start',
      expectation: 'a start reads what is stored of every session once, to know who is there and until when',
      isCold: true,
      measure: ({ hub }) => hub.restart('stopped'),
    },
  ],
  open: openSessions,
};
