// CONNECT (section 3.1) and its answer. CONNACK tells a v5 client what this server does not do; a session that would outlive
// its connection is one of those things, so Session Expiry Interval is 0 and Session Present never set.
import { CatchUp } from '../catch-up.ts';
import type { Accepted, Client, Context } from '../client.ts';
import { principalOf } from '../client.ts';
import { MqttError, malformed } from '../errors.ts';
import { flagsAreLegal } from '../framing.ts';
import type { ConnackProperties } from '../packets/cold-packets.ts';
import { encodeConnack } from '../packets/cold-packets.ts';
import type { ConnectPacket, ConnectProgress } from '../packets/connect.ts';
import { readConnect, UnsupportedVersion } from '../packets/connect.ts';
import { PublishFlow } from '../publish-flow.ts';
import { CONNACK_3, REASON } from '../reason-codes.ts';
import { isReservedTopic } from '../record-mapping.ts';
import { Session } from '../session.ts';

/** Keep alive is one and a half times what the client says [MQTT-3.1.2-22]. */
const KEEP_ALIVE_MS_PER_SECOND = 1500;

export function handleConnect(
  client: Client,
  callbacks: PublishCallbacks,
  firstByte: number,
  bytes: Buffer,
  start: number,
  end: number,
): void {
  const progress: ConnectProgress = { version: undefined, packetBytesMax: Number.MAX_SAFE_INTEGER };
  try {
    const packet = readConnect(bytes, start, end, progress);
    if (!flagsAreLegal(firstByte)) throw malformed('CONNECT with reserved flags [MQTT-2.1.3-1]');
    checkPacket(client, packet);
    accept(client, callbacks, packet);
  } catch (error) {
    if (!(error instanceof MqttError)) throw error;
    client.refuse(refusalOf(error, progress), error.message);
  }
}

/** What a connection does when its publishes are answered; see publish-flow.ts. */
export type PublishCallbacks = Pick<
  ConstructorParameters<typeof PublishFlow>[0],
  'onProgress' | 'onUnanswerable' | 'onRefused'
>;

/** Undefined = the connection is closed without a word: below version 5 most errors have no return code. */
function refusalOf(error: MqttError, { version, packetBytesMax }: ConnectProgress): Buffer | undefined {
  // In the form of 3.1.1, which a client of any version can read [MQTT-3.1.2-2].
  if (error instanceof UnsupportedVersion) {
    return encodeConnack(4, CONNACK_3.UNACCEPTABLE_PROTOCOL_VERSION, false);
  }
  if (version === 5) {
    const packet = encodeConnack(5, error.reasonCode, false, { reasonString: error.message });
    // [MQTT-3.2.2-19]
    return packet.length <= packetBytesMax ? packet : encodeConnack(5, error.reasonCode, false);
  }
  if (version === undefined || error.reasonCode !== REASON.CLIENT_IDENTIFIER_NOT_VALID) return undefined;
  return encodeConnack(version, CONNACK_3.IDENTIFIER_REJECTED, false);
}

function checkPacket({ context }: Client, packet: ConnectPacket): void {
  const { version, clientId, will } = packet;
  // [MQTT-3.1.3-8] of 3.1.1; 3.1 knows no empty identifier.
  if (clientId === '' && (version === 3 || (version === 4 && !packet.clean))) {
    throw badClientId('An empty client identifier');
  }
  if (Buffer.byteLength(clientId) > context.options.clientIdBytesMax) {
    throw badClientId(`A client identifier of more than ${context.options.clientIdBytesMax} bytes`);
  }
  if (packet.authenticationMethod !== undefined) {
    throw new MqttError('authentication', REASON.BAD_AUTHENTICATION_METHOD, 'There is no such method');
  }
  if (will === undefined) return;
  // [MQTT-3.2.2-13]
  if (will.retain && version === 5) {
    throw new MqttError('retain', REASON.RETAIN_NOT_SUPPORTED, 'Retained messages are not available');
  }
  if (isReservedTopic(will.topic)) {
    throw new MqttError('topic-name', REASON.TOPIC_NAME_INVALID, 'Nobody publishes to the will topic');
  }
}

function badClientId(message: string): MqttError {
  return new MqttError('client-id', REASON.CLIENT_IDENTIFIER_NOT_VALID, message);
}

function accept(client: Client, callbacks: PublishCallbacks, packet: ConnectPacket): void {
  const { context } = client;
  const clientId = packet.clientId === '' ? `auto-${context.hub.random.uuid()}` : packet.clientId;
  const connack = encodeConnack(
    packet.version,
    REASON.SUCCESS,
    false,
    capabilities(context, packet, clientId),
  );
  if (connack.length > packet.packetBytesMax) {
    client.refuse(undefined, 'CONNACK is larger than the Maximum Packet Size [MQTT-3.1.2-24]');
    return;
  }
  // [MQTT-3.1.4-3]
  context.clients.get(clientId)?.takeOver();
  client.output.write(connack);
  client.accept(newSession(client, callbacks, packet, clientId));
}

/** Topic Alias Maximum is left out: absent means 0 (section 3.2.2.3.8), and a small client gets a small CONNACK. */
function capabilities(context: Context, packet: ConnectPacket, clientId: string): ConnackProperties {
  const { options } = context;
  const { keepAliveMaxSeconds } = effectiveKeepAlive(context, packet);
  return {
    receiveMaximum: options.receiveMaximum,
    retainAvailable: false,
    maximumPacketSize: options.packetBytesMax,
    sharedSubscriptionAvailable: false,
    ...(packet.sessionExpirySeconds > 0 ? { sessionExpiryInterval: 0 } : {}),
    ...(packet.clientId === '' ? { assignedClientIdentifier: clientId } : {}),
    ...(keepAliveMaxSeconds === undefined ? {} : { serverKeepAlive: keepAliveMaxSeconds }),
  };
}

/** A v5 client that asks for more than the maximum is told it; older ones cannot be told, and keep their own. */
function effectiveKeepAlive(
  { options }: Context,
  { version, keepAliveSeconds }: ConnectPacket,
): { readonly keepAliveSeconds: number; readonly keepAliveMaxSeconds: number | undefined } {
  const maximum = options.keepaliveMaxSeconds;
  const isWithin = keepAliveSeconds > 0 && keepAliveSeconds <= maximum;
  if (version < 5 || maximum === 0 || isWithin) return { keepAliveSeconds, keepAliveMaxSeconds: undefined };
  return { keepAliveSeconds: maximum, keepAliveMaxSeconds: maximum };
}

function newSession(
  client: Client,
  callbacks: PublishCallbacks,
  packet: ConnectPacket,
  clientId: string,
): Accepted {
  const { context } = client;
  const { hub, options, counters } = context;
  const session = new Session({
    clientId,
    version: packet.version,
    principal: principalOf(client.listener, client.remoteAddress),
    access: hub.access,
    log: hub.log,
    output: client.output,
    counters,
    inflightMax: Math.min(packet.receiveMaximum, options.inflightMax),
    packetBytesMax: packet.packetBytesMax,
    outputBytesMax: options.outputBytesMax,
  });
  session.lag = new CatchUp(session, {
    hub,
    reader: context.catchUpReader,
    counters,
    mappings: context.mappings,
    followBytesMax: options.followBytesMax,
  });
  const publishes = new PublishFlow({
    session,
    counters,
    unstored: context.unstored,
    publishesMax: options.receiveMaximum,
    bytesMax: options.unstoredBytesMax,
    ...callbacks,
  });
  const { keepAliveSeconds } = effectiveKeepAlive(context, packet);
  return {
    session,
    publishes,
    will: packet.will,
    keepAliveMs: keepAliveSeconds * KEEP_ALIVE_MS_PER_SECOND,
    sessionExpiryAsked: packet.sessionExpirySeconds > 0,
  };
}
