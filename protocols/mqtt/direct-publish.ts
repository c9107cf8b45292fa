// A message that no PUBLISH of a connection brings, on its way to the log: a will, or what an operator publishes. It goes
// where a client's would go, under the same rules.
import type { Hub, Partition, Principal, Published, Refused } from '../port.ts';
import type { WillPacket } from './packets/connect.ts';
import { REASON, REFUSAL_REASON } from './reason-codes.ts';
import { RecordFill } from './record-fill.ts';
import { encodeAttributes } from './record-mapping.ts';
import type { RetainedMessages } from './retained/retained-messages.ts';
import type { Route, Routes } from './routes.ts';

export interface DirectTarget {
  readonly hub: Hub;
  readonly routes: Routes;
  readonly retained: RetainedMessages;
}

/** Whose message it is. */
export interface Author {
  readonly clientId: string;
  readonly principal: Principal;
}

export interface DirectRefusal {
  readonly reasonCode: number;
  readonly message: string;
  /** What MQTT has one reason code for, and others tell apart. */
  readonly isTooLarge?: boolean;
}

export interface DirectlyPublished {
  readonly reasonCode?: undefined;
  readonly partition: Partition;
  readonly offset: number;
  /** Resolves when the log has it, or never will. Never rejects. */
  readonly stored: Promise<Published | Refused>;
  /** The same of the retained message that it is to be; of any other as `stored`. */
  readonly settled: Promise<Published | Refused>;
}

type Outcome = DirectlyPublished | DirectRefusal;

/**
 * At once, unless the Kafka topic has to be made first: so messages keep the order of the calls.
 * @throws MqttError when no client may send such a topic name.
 */
export function publishDirectly(
  target: DirectTarget,
  author: Author,
  message: WillPacket,
): Outcome | Promise<Outcome> {
  const { hub } = target;
  const route = routeOf(target, author, message.topic);
  if (route.refusal !== 0) return refusal(route.refusal, `nobody publishes to ${message.topic}`);
  if (!hub.access.allows(author.principal, 'write', 'topic', route.kafkaTopic)) {
    return refusal(REASON.NOT_AUTHORIZED, `${author.principal.name} may not write to ${route.kafkaTopic}`);
  }
  const partition = route.partition();
  if (partition !== undefined) return publishTo(target, author, message, route, partition);
  return partitionOf(hub, route, author).then((made) =>
    'reasonCode' in made ? made : publishTo(target, author, message, route, made),
  );
}

function publishTo(
  { hub, retained }: DirectTarget,
  author: Author,
  message: WillPacket,
  route: Route,
  partition: Partition,
): Outcome {
  const { payload, bytes } = message;
  if (bytes.length + payload.length > route.messageBytesMax) {
    const why = `larger than max.message.bytes of ${route.kafkaTopic}`;
    return { ...refusal(REFUSAL_REASON['too-large'], why), isTooLarge: true };
  }
  const record = recordOf(hub, author, message, route);
  if (!message.retain || route.ignoresRetain) {
    const stored = hub.publish(partition, record.fill);
    return { partition, offset: record.offset, stored, settled: stored };
  }
  const retainRefusal = retained.refusalOf(
    message.topic,
    bytes.length + payload.length,
    payload.length === 0,
  );
  if (retainRefusal !== 0) return refusal(retainRefusal, 'beyond a limit of retained messages');
  const appended = retained.append(message.topic, partition, record.fill);
  return { partition, offset: record.offset, stored: appended.stored, settled: appended.retained };
}

function refusal(reasonCode: number, message: string): DirectRefusal {
  return { reasonCode, message };
}

function routeOf({ routes }: DirectTarget, { clientId }: Author, name: string): Route {
  const topic = Buffer.from(name);
  const found = routes.find(topic, 0, topic.length);
  return found.namesClient ? found.ofClient(new Map(), clientId) : found;
}

async function partitionOf(hub: Hub, route: Route, author: Author): Promise<Partition | DirectRefusal> {
  if (!hub.access.allows(author.principal, 'create', 'topic', route.kafkaTopic)) {
    return refusal(REASON.NOT_AUTHORIZED, `${route.kafkaTopic} does not exist`);
  }
  const made = await hub.topics.ensure(route.kafkaTopic);
  if ('error' in made) return refusal(REFUSAL_REASON[made.error], made.message);
  return route.partition() ?? refusal(REFUSAL_REASON['unknown-topic'], `${route.kafkaTopic} is gone`);
}

function recordOf(hub: Hub, author: Author, message: WillPacket, route: Route): RecordFill {
  const record = new RecordFill();
  record.key = route.recordKey;
  record.timestampMs = hub.clock.now();
  record.payload = message.payload;
  record.payloadStart = 0;
  record.payloadEnd = message.payload.length;
  record.properties = message.properties;
  record.propertyBytes = message.bytes;
  record.attributes = encodeAttributes(
    {
      topic: route.key,
      clientId: Buffer.from(author.clientId),
      // There is no packet identifier: the server publishes it once.
      qos: message.qos,
      retain: message.retain && !route.ignoresRetain,
      packetId: 0,
    },
    { bytes: message.bytes, values: message.properties },
  );
  return record;
}
