// What an operator publishes, through the admin API: the same checks, the same record and the same promise as a client's
// publish at QoS 1.
import type {
  MessageNotPublished,
  MessagePublished,
  MessagePublisher,
  MessageToPublish,
} from '../../port.ts';
import type { Context } from '../client.ts';
import { publishDirectly } from '../direct-publish.ts';
import { MqttError } from '../errors.ts';
import type { WillPacket } from '../packets/connect.ts';
import { MessageProperties } from '../packets/message-properties.ts';
import { PLACE, PROPERTY } from '../packets/properties.ts';
import { REASON } from '../reason-codes.ts';

/** Client identifier of what comes by here. */
const AUTHOR = '$admin';
const STRING_BYTES_MAX = 65_535;

export function messagePublisher(context: Context): MessagePublisher {
  const { counters } = context;
  return {
    async publish(principal, message, onAppended): Promise<MessagePublished | MessageNotPublished> {
      try {
        const packet = packetOf(message, context.options);
        if ('refused' in packet) return packet;
        const author = { clientId: message.clientId ?? AUTHOR, principal };
        const publishing = publishDirectly(context, author, packet);
        // No turn passes between the append and its being told, where nothing has to be waited for.
        const direct = publishing instanceof Promise ? await publishing : publishing;
        if (direct.reasonCode !== undefined) {
          counters.publishesRefused++;
          const refused = direct.isTooLarge === true ? 'too-large' : REFUSED_AS[direct.reasonCode];
          return { refused: refused ?? 'storage', message: direct.message };
        }
        const { topic, partition } = direct.partition;
        const place = { topic, partition, offset: direct.offset };
        onAppended?.(place);
        const settled = await direct.settled;
        if (settled.refused !== undefined) {
          counters.publishesRefused++;
          return {
            refused: settled.refused === 'too-large' ? 'too-large' : 'storage',
            message: settled.message,
          };
        }
        counters.publishesReceived++;
        return place;
      } catch (error) {
        if (error instanceof MqttError) return { refused: 'invalid', message: error.message };
        context.hub.log.error('mqtt-publish-failed', { topic: message.topic, error });
        return { refused: 'storage', message: 'the message could not be published' };
      }
    },
  };
}

const REFUSED_AS: Readonly<Record<number, MessageNotPublished['refused']>> = {
  [REASON.TOPIC_NAME_INVALID]: 'invalid',
  [REASON.NOT_AUTHORIZED]: 'forbidden',
  [REASON.QUOTA_EXCEEDED]: 'limit',
};

interface PublisherLimits {
  readonly userPropertiesMax: number;
  readonly userPropertyBytesMax: number;
}

/** @throws MqttError when no client may say so. */
function packetOf(message: MessageToPublish, limits: PublisherLimits): WillPacket | MessageNotPublished {
  const { topic, payload, qos, retain } = message;
  const bytes = propertyBytes(message);
  if (bytes === undefined) return { refused: 'too-large', message: 'a property is longer than MQTT can say' };
  const properties = new MessageProperties();
  properties.read(bytes, 0, bytes.length, PLACE.PUBLISH);
  const { userPropertyCount, userPropertyBytes } = properties;
  if (userPropertyCount > limits.userPropertiesMax || userPropertyBytes > limits.userPropertyBytesMax) {
    return { refused: 'limit', message: 'more user properties than there may be' };
  }
  return { topic, payload, qos, retain, bytes, properties };
}

/** As a PUBLISH of MQTT 5 has them (section 3.3.2.3). Undefined = something does not fit. */
function propertyBytes(message: MessageToPublish): Buffer | undefined {
  const { contentType, responseTopic, correlationData, expirySeconds, isText, userProperties } = message;
  const parts: Buffer[] = [];
  let fits = true;
  const field = (value: string | Buffer): Buffer => {
    const bytes = Buffer.from(value);
    fits &&= bytes.length <= STRING_BYTES_MAX;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length & 0xffff);
    return Buffer.concat([length, bytes]);
  };
  const add = (id: number, ...values: Buffer[]): void => void parts.push(Buffer.from([id]), ...values);
  if (isText !== undefined) add(PROPERTY.PAYLOAD_FORMAT_INDICATOR, Buffer.from([isText ? 1 : 0]));
  if (expirySeconds !== undefined) {
    const seconds = Buffer.alloc(4);
    seconds.writeUInt32BE(expirySeconds);
    add(PROPERTY.MESSAGE_EXPIRY_INTERVAL, seconds);
  }
  if (contentType !== undefined) add(PROPERTY.CONTENT_TYPE, field(contentType));
  if (responseTopic !== undefined) add(PROPERTY.RESPONSE_TOPIC, field(responseTopic));
  if (correlationData !== undefined) add(PROPERTY.CORRELATION_DATA, field(correlationData));
  for (const [name, value] of userProperties) add(PROPERTY.USER_PROPERTY, field(name), field(value));
  return fits ? Buffer.concat(parts) : undefined;
}
