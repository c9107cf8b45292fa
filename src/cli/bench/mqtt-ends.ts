// Both ends of a load over MQTT 5: publishes to one topic, and a subscriber of it.
import type { MqttClient } from 'mqtt';
import type { Load, Sender } from './load.ts';

type Qos = 0 | 1 | 2;

/** Fewer where the hub takes fewer at once. */
const WINDOW_MAX = 1_000;
const REFUSED = 0x80;

export function mqttSender(client: MqttClient, topic: string, qos: Qos): Sender {
  const receiveMaximum = client.serverProperties?.receiveMaximum ?? WINDOW_MAX;
  return {
    batchMax: 1,
    windowMax: qos === 0 ? WINDOW_MAX : Math.min(WINDOW_MAX, receiveMaximum),
    async send(payloads) {
      for (const payload of payloads) {
        const packet = await client.publishAsync(topic, payload, { qos });
        const reason = packet !== undefined && 'reasonCode' in packet ? (packet.reasonCode ?? 0) : 0;
        if (reason >= REFUSED) throw new Error(`the hub refuses: 0x${reason.toString(16)}`);
      }
    },
  };
}

export async function mqttReceiver(client: MqttClient, topic: string, qos: Qos, load: Load): Promise<void> {
  client.handleMessage = (packet, taken) => {
    load.take(Buffer.from(packet.payload));
    taken();
  };
  const [granted] = await client.subscribeAsync(topic, { qos });
  if (granted === undefined || granted.qos >= REFUSED)
    throw new Error(`the subscription to ${topic} is refused`);
}

/** A connection that is lost ends the load. */
export function watch(client: MqttClient, load: Load): void {
  client.once('disconnect', ({ reasonCode, properties }) => {
    load.fail(new Error(`the hub disconnected: ${properties?.reasonString ?? reasonCode}`));
  });
  client.once('close', () => load.fail(new Error('the MQTT connection was lost')));
}
