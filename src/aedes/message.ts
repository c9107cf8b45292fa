// A packet of aedes as the hub's message.
import type { MessageToPublish } from '../../protocols/port.ts';
import type { PacketProperties } from './packets.ts';

/** Emitters take whatever has a topic; of a packet it is these. */
export function messageOf(message: {
  readonly topic: string;
  readonly payload?: unknown;
  readonly [field: string]: unknown;
}): MessageToPublish {
  const { topic, payload, qos, retain, clientId } = message;
  // What is no object has none.
  const properties = (message['properties'] ?? {}) as PacketProperties;
  const { contentType, responseTopic, correlationData, messageExpiryInterval } = properties;
  return {
    topic,
    payload: bytesOf(payload),
    qos: qos === 1 || qos === 2 ? qos : 0,
    retain: retain === true,
    userProperties: Object.entries(properties.userProperties ?? {}).flatMap(([name, values]) =>
      [values].flat().map((value) => [name, value] as const),
    ),
    contentType,
    responseTopic,
    correlationData,
    expirySeconds: messageExpiryInterval,
    isText: properties.payloadFormatIndicator,
    clientId: typeof clientId === 'string' ? clientId : '',
  };
}

/** Bytes and text as they are; anything else, which only the application itself emits, as JSON. */
function bytesOf(payload: unknown): Buffer {
  if (payload === undefined || payload === null) return Buffer.alloc(0);
  if (typeof payload === 'string') return Buffer.from(payload);
  if (payload instanceof Uint8Array) return Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return Buffer.from(JSON.stringify(payload));
}
