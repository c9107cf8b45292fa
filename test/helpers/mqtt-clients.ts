// MQTT.js in both versions of the protocol behind one small face; programs from elsewhere take the same one.
import { connectAsync, type IClientPublishOptions, type MqttClient as MqttJs } from 'mqtt';

export interface MqttMessage {
  readonly topic: string;
  readonly payload: Buffer;
  /** In order; empty before MQTT 5. */
  readonly userProperties: readonly (readonly [name: string, value: string])[];
}

export interface MqttSubscription {
  /** The next message that arrives, or has arrived and was not asked for yet. */
  next(): Promise<MqttMessage>;
  close(): Promise<void>;
}

export interface MqttClient {
  readonly name: string;
  readonly version: 4 | 5;
  /** Resolves when the broker has acknowledged the subscription. */
  subscribe(port: number, filter: string, qos: 0 | 1): Promise<MqttSubscription>;
  /** Resolves when the broker has acknowledged the message. */
  publish(port: number, message: MqttMessage, qos: 0 | 1 | 2): Promise<void>;
}

export function mqttJsOn(port: number, version: 4 | 5): Promise<MqttJs> {
  return connectAsync(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: version,
    reconnectPeriod: 0,
    connectTimeout: 10_000,
  });
}

function mqttJs(version: 4 | 5): MqttClient {
  return {
    name: version === 5 ? 'MQTT.js 5' : 'MQTT.js 3.1.1',
    version,

    async subscribe(port, filter, qos) {
      const client = await mqttJsOn(port, version);
      const queue = new Queue<MqttMessage>();
      client.on('message', (topic, payload, packet) => {
        const userProperties = Object.entries(packet.properties?.userProperties ?? {}).flatMap(
          ([name, values]) => [values].flat().map((value) => [name, value] as const),
        );
        queue.push({ topic, payload, userProperties });
      });
      await client.subscribeAsync(filter, { qos });
      return { next: () => queue.next(), close: () => client.endAsync() };
    },

    async publish(port, { topic, payload, userProperties }, qos) {
      const client = await mqttJsOn(port, version);
      const grouped: Record<string, string[]> = {};
      for (const [name, value] of userProperties) grouped[name] = [...(grouped[name] ?? []), value];
      // Given an empty list, MQTT.js sends nothing at all.
      const hasProperties = version === 5 && userProperties.length > 0;
      const options: IClientPublishOptions = {
        qos,
        ...(hasProperties ? { properties: { userProperties: grouped } } : {}),
      };
      await client.publishAsync(topic, payload, options);
      await client.endAsync();
    },
  };
}

export const npmMqttClients: readonly MqttClient[] = [mqttJs(4), mqttJs(5)];

/** Values that come before or after they are asked for. */
export class Queue<T> {
  readonly #values: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  push(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#values.push(value);
    else waiting(value);
  }

  next(): Promise<T> {
    const value = this.#values.shift();
    return value === undefined
      ? new Promise((resolve) => this.#waiting.push(resolve))
      : Promise.resolve(value);
  }
}
