// Wills (section 3.1.2.5): published when a connection ends and its client has not said goodbye. Sessions end with their
// connections in this build, so a Will Delay Interval has nothing to wait for: the earlier of the two counts.
import type { Hub, Partition } from '../port.ts';
import type { WillPacket } from './packets/connect.ts';
import { isFailure, REASON, REFUSAL_REASON } from './reason-codes.ts';
import { RecordFill } from './record-fill.ts';
import { encodeAttributes } from './record-mapping.ts';
import type { RetainedMessages } from './retained/retained-messages.ts';
import type { Route, Routes } from './routes.ts';
import type { Session } from './session.ts';

export interface WillTarget {
  readonly hub: Hub;
  readonly routes: Routes;
  readonly retained: RetainedMessages;
}

/** @returns why it was not stored, as a reason code; SUCCESS when it was. */
export async function publishWill(
  { hub, routes, retained }: WillTarget,
  session: Session,
  will: WillPacket,
): Promise<number> {
  const topic = Buffer.from(will.topic);
  const found = routes.find(topic, 0, topic.length);
  const route = found.namesClient ? found.ofClient(new Map(), session.clientId) : found;
  if (isFailure(route.refusal)) return route.refusal;
  if (!hub.access.allows(session.principal, 'write', 'topic', route.kafkaTopic)) return REASON.NOT_AUTHORIZED;
  const partition = await partitionOf(hub, route, session);
  if (typeof partition === 'number') return partition;
  if (will.bytes.length + will.payload.length > route.messageBytesMax) return REFUSAL_REASON['too-large'];
  const { fill } = fillOf(hub, session, will, route);
  const isRetained = will.retain && !route.ignoresRetain;
  if (isRetained) {
    const refusal = retained.refusalOf(
      will.topic,
      will.bytes.length + will.payload.length,
      will.payload.length === 0,
    );
    if (isFailure(refusal)) return refusal;
  }
  const published = await (isRetained
    ? retained.publish(will.topic, partition, fill)
    : hub.publish(partition, fill));
  return published.refused === undefined ? REASON.SUCCESS : REFUSAL_REASON[published.refused];
}

async function partitionOf(hub: Hub, route: Route, session: Session): Promise<Partition | number> {
  const existing = route.partition();
  if (existing) return existing;
  if (!hub.access.allows(session.principal, 'create', 'topic', route.kafkaTopic))
    return REASON.NOT_AUTHORIZED;
  const made = await hub.topics.ensure(route.kafkaTopic);
  if ('error' in made) return REFUSAL_REASON[made.error];
  return route.partition() ?? REFUSAL_REASON['unknown-topic'];
}

function fillOf(hub: Hub, session: Session, will: WillPacket, route: Route): RecordFill {
  const record = new RecordFill();
  record.key = route.recordKey;
  record.timestampMs = hub.clock.now();
  record.payload = will.payload;
  record.payloadStart = 0;
  record.payloadEnd = will.payload.length;
  record.properties = will.properties;
  record.propertyBytes = will.bytes;
  record.attributes = encodeAttributes(
    {
      topic: route.key,
      clientId: session.clientIdBytes,
      // A will has no packet identifier: the server publishes it once.
      qos: will.qos,
      retain: will.retain && !route.ignoresRetain,
      packetId: 0,
    },
    { bytes: will.bytes, values: will.properties },
  );
  return record;
}
