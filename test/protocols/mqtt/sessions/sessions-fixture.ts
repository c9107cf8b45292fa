// Sessions that are kept, and a hub that ends without a word.
import type { IPublishPacket } from 'mqtt-packet';
import { onTestFinished } from 'vitest';
import { createMqttFrontEnd } from '../../../../protocols/mqtt/front-end.ts';
import type { MqttOptions } from '../../../../protocols/mqtt/options.ts';
import { rawMqtt } from '../../../helpers/raw-mqtt.ts';
import type { Connected, Serving } from '../front-end-fixture.ts';
import { connectPacket } from '../front-end-fixture.ts';

export const KEPT = { clean: false, properties: { sessionExpiryInterval: 3600 } };

export const stateLogOf = ({ hub }: Serving) => hub.stateLog('__mqtt_sessions');

export async function subscribe(client: Connected, topic: string, qos: 0 | 1 | 2): Promise<void> {
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] });
  await client.expect('suback');
}

export async function leave(client: Connected): Promise<void> {
  client.send({ cmd: 'disconnect' });
  await client.end();
}

/** The next packet, which is a message. */
export const message = (client: Connected): Promise<IPublishPacket> => client.expect('publish');

export function publishPacket(
  topic: string,
  payload: string,
  options: { qos?: 0 | 1 | 2; messageId?: number; dup?: boolean } = {},
): IPublishPacket {
  const { qos = 1, messageId = 7, dup = false } = options;
  return { cmd: 'publish', topic, payload, qos, dup, retain: false, ...(qos > 0 ? { messageId } : {}) };
}

/** The client's connection is there and everything sent before has been dealt with. */
export async function ping(client: Connected): Promise<void> {
  client.send({ cmd: 'pingreq' });
  await client.expect('pingresp');
}

/** What the log has of a topic. */
export function recordCount({ hub }: Serving, topic: string): number {
  return hub.topics.get(topic)?.partitions[0]?.logEndOffset ?? 0;
}

/**
 * The hub is killed now, and started again on what is on its disk: what the old one does afterwards is undone.
 * @returns a way to connect to the new one.
 */
export async function crash(
  serving: Serving,
  options: Partial<MqttOptions> = {},
): Promise<(clientId: string, connect?: object) => Promise<Connected>> {
  const { partitions } = stateLogOf(serving);
  const disk = partitions.map((records) => [...records]);
  await serving.frontEnd.close();
  for (const [index, records] of partitions.entries()) records.splice(0, records.length, ...disk[index]!);
  const frontEnd = createMqttFrontEnd(serving.hub, { closeTimeoutMs: 1000, ...options });
  const { port } = await frontEnd.listen({ name: 'again', host: '127.0.0.1', port: 0, connectionsMax: 100 });
  onTestFinished(() => frontEnd.close());
  return async (clientId, connect = KEPT) => {
    const raw = await rawMqtt(port, 5);
    raw.send(connectPacket(5, { clientId, ...connect }));
    return Object.assign(raw, { connack: await raw.expect('connack') });
  };
}
