// PUBLISH (section 3.3): from a client's packet to a record in the log, and its answer when the record is durable.
//
// Nothing here waits, with one exception: a topic that does not exist yet. Then the packet is put back and the
// connection reads no further until the topic is there, so two publishes of one client never change their order.
import type { Published, Refused } from '../../port.ts';
import type { ConnectedClient, Handled, PacketHandler } from '../client.ts';
import { hookClientOf } from '../client.ts';
import { MqttError, protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import type { HookPublish } from '../hooks.ts';
import { MessageProperties } from '../packets/message-properties.ts';
import { PLACE } from '../packets/properties.ts';
import type { PublishBounds } from '../packets/publish.ts';
import { publishBounds, readPublish } from '../packets/publish.ts';
import { REASON, REFUSAL_REASON } from '../reason-codes.ts';
import { RecordFill } from '../record-fill.ts';
import { encodeAttributes, patchPacketId } from '../record-mapping.ts';
import type { Route } from '../routes.ts';

/** Topics of one client whose attributes are kept encoded, and how long they may be. */
const ATTRIBUTES_KEPT_MAX = 256;
const KEPT_TOPIC_BYTES_MAX = 256;

// Reused from packet to packet: a PUBLISH is handled before anything else happens.
const bounds: PublishBounds = publishBounds();
const properties = new MessageProperties();
const record = new RecordFill();
record.payloadLasts = true; // see InputBuffer

export const publishHandler: PacketHandler = {
  type: PACKET_TYPE.PUBLISH,
  name: 'PUBLISH',
  handle(client, firstByte, bytes, start, end) {
    const { version } = client.session;
    readPublish(bounds, firstByte, bytes, start, end, version);
    if (version === 5) properties.read(bytes, bounds.propertiesStart, bounds.propertiesEnd, PLACE.PUBLISH);
    const route =
      version === 5 && properties.topicAlias >= 0 ? aliased(client, bytes) : routeOf(client, bytes);
    if (bounds.qos === 2 && isRepeated(client)) return undefined;
    const refusal = route.refusal || (mayWrite(client, route) ? 0 : REASON.NOT_AUTHORIZED);
    if (route.refusal !== 0) client.context.counters.topicsRefused++;
    if (refusal !== 0) return refuse(client, refusal, `nobody publishes to ${route.key}`);
    if (version === 5 && properties.userPropertyCount > 0 && hasTooManyProperties(client)) return undefined;
    if (client.context.hooks.authorizePublish !== undefined && !isAuthorized(client, route)) return undefined;
    const partition = route.partition();
    if (partition === undefined) return awaitTopic(client, route);
    if (end - start > route.messageBytesMax) {
      return refuse(
        client,
        REFUSAL_REASON['too-large'],
        `larger than max.message.bytes of ${route.kafkaTopic}`,
      );
    }
    if (bounds.qos === 2 && client.session.durable !== undefined) {
      const written = client.context.sessions.tail.awaitPosition(partition);
      if (written !== undefined) return written;
    }
    const payloadLength = bounds.payloadEnd - bounds.payloadStart;
    bounds.retain = bounds.retain && !route.ignoresRetain;
    let stored: Promise<Published | Refused>;
    if (bounds.retain) {
      const topic = route.key.toString('utf8');
      const { retained } = client.context;
      const retainedLength = payloadLength + bounds.propertiesEnd - bounds.propertiesStart;
      const retainRefusal = retained.refusalOf(topic, retainedLength, payloadLength === 0);
      if (retainRefusal !== 0) return refuse(client, retainRefusal, `no more retained messages: ${topic}`);
      fillFrom(client, route, bytes);
      stored = retained.publish(topic, partition, record.fill);
    } else {
      fillFrom(client, route, bytes);
      stored = client.context.hub.publish(partition, record.fill);
    }
    client.context.counters.publishesReceived++;
    client.context.counters.publishBytesReceived += payloadLength;
    if (bounds.qos === 2) client.session.durable?.receiving(bounds.packetId, partition, record.offset);
    client.publishes.add(stored, bounds.qos, bounds.packetId, payloadLength);
    if (client.context.hooks.published !== undefined) announce(client, route, stored);
    return undefined;
  },
};

function hasTooManyProperties(client: ConnectedClient): boolean {
  const { options, counters } = client.context;
  const { userPropertyCount, userPropertyBytes } = properties;
  if (userPropertyCount <= options.userPropertiesMax && userPropertyBytes <= options.userPropertyBytesMax) {
    return false;
  }
  counters.userPropertiesRefused++;
  refuse(client, REASON.QUOTA_EXCEEDED, 'more user properties than there may be');
  return true;
}

function isAuthorized(client: ConnectedClient, route: Route): boolean {
  const { hooks, counters } = client.context;
  const verdict = hooks.authorizePublish?.(hookClientOf(client), hookPublishOf(route));
  if (verdict === undefined) return true;
  counters.hookRefusals++;
  refuse(client, verdict, `a policy refuses ${route.key}`);
  return false;
}

function announce(client: ConnectedClient, route: Route, stored: Promise<Published | Refused>): void {
  const publish = hookPublishOf(route);
  void stored.then((result) => {
    if (result.refused === undefined) client.context.hooks.published?.(hookClientOf(client), publish);
  });
}

function hookPublishOf(route: Route): HookPublish {
  return { topic: route.key.toString('utf8'), qos: bounds.qos, retain: bounds.retain };
}

function routeOf({ context, session, ownRoutes }: ConnectedClient, bytes: Buffer): Route {
  const route = context.routes.find(bytes, bounds.topicStart, bounds.topicEnd);
  return route.namesClient ? route.ofClient(ownRoutes, session.clientId) : route;
}

/** A topic alias is given to a topic, or stands for one (section 3.3.2.3.4). */
function aliased(client: ConnectedClient, bytes: Buffer): Route {
  const alias = properties.topicAlias;
  // [MQTT-3.3.2-8] [MQTT-3.3.2-9]
  if (alias === 0 || alias > client.context.options.topicAliasMaximum) {
    throw new MqttError('topic-alias', REASON.TOPIC_ALIAS_INVALID, `There is no topic alias ${alias}`);
  }
  if (bounds.topicEnd === bounds.topicStart) {
    const known = client.aliases.get(alias);
    if (known === undefined) throw protocolError(`Nothing has been given the topic alias ${alias}`);
    return known;
  }
  const route = routeOf(client, bytes);
  client.aliases.set(alias, route);
  return route;
}

/** A packet identifier decides, not DUP: until PUBREL it is the same message [MQTT-4.3.3-10]. */
function isRepeated({ session, publishes, context }: ConnectedClient): boolean {
  if (session.received.has(bounds.packetId)) {
    publishes.repeat(bounds.packetId);
    return true;
  }
  if (session.version === 5 && session.received.size >= context.options.receiveMaximum) {
    throw new MqttError(
      'receive-maximum',
      REASON.RECEIVE_MAXIMUM_EXCEEDED,
      'More than Receive Maximum publishes are not released [MQTT-3.3.4-9]',
    );
  }
  return false;
}

function mayWrite({ session, context }: ConnectedClient, route: Route): boolean {
  return context.hub.access.allows(session.principal, 'write', 'topic', route.kafkaTopic);
}

function refuse(client: ConnectedClient, reasonCode: number, message: string): undefined {
  client.publishes.refuse(reasonCode, message, bounds.qos, bounds.packetId);
}

/** Makes the topic; the packet comes again when that has succeeded or failed. */
function awaitTopic(client: ConnectedClient, route: Route): Handled {
  const { hub } = client.context;
  const error = client.topicError;
  client.topicError = undefined;
  if (error !== undefined) return refuse(client, REFUSAL_REASON[error.error], error.message);
  if (!hub.access.allows(client.session.principal, 'create', 'topic', route.kafkaTopic)) {
    return refuse(client, REASON.NOT_AUTHORIZED, `${route.kafkaTopic} does not exist`);
  }
  return hub.topics.ensure(route.kafkaTopic).then((made) => {
    if ('error' in made) client.topicError = made;
  });
}

function fillFrom(client: ConnectedClient, route: Route, bytes: Buffer): void {
  const withProperties = bounds.propertiesEnd > bounds.propertiesStart;
  record.key = route.recordKey;
  record.timestampMs = client.receivedAtMs;
  record.payload = bytes;
  record.payloadStart = bounds.payloadStart;
  record.payloadEnd = bounds.payloadEnd;
  record.attributesChange = bounds.qos === 2;
  record.properties = withProperties ? properties : undefined;
  record.propertyBytes = bytes;
  record.attributes =
    withProperties && properties.hasMore
      ? encodeAttributes(attributesOf(client, route), { bytes, values: properties })
      : plainAttributes(client, route);
}

function attributesOf({ session }: ConnectedClient, route: Route) {
  const { qos, retain, packetId } = bounds;
  const sessionNumber = session.durable?.sessionNumber;
  return { topic: route.key, clientId: session.clientIdBytes, qos, retain, packetId, sessionNumber };
}

/** Of a publish without properties of its own: the same every time but for the packet identifier. */
function plainAttributes(client: ConnectedClient, route: Route): Uint8Array {
  if (route.key.length > KEPT_TOPIC_BYTES_MAX) return encodeAttributes(attributesOf(client, route));
  const form = bounds.qos + (bounds.retain ? 3 : 0);
  const forms = client.attributes.get(route) ?? keepAttributes(client, route);
  const kept = forms[form] ?? encodeAttributes(attributesOf(client, route));
  forms[form] = kept;
  if (bounds.qos === 2) patchPacketId(kept, bounds.packetId);
  return kept;
}

function keepAttributes({ attributes }: ConnectedClient, route: Route): (Uint8Array | undefined)[] {
  if (attributes.size >= ATTRIBUTES_KEPT_MAX) attributes.clear();
  const forms: (Uint8Array | undefined)[] = [];
  attributes.set(route, forms);
  return forms;
}
