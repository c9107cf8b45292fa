// CONNECT (section 3.1) and its answer. A client that has no session that outlives its connection, and wants none, is
// answered at once; else CONNACK waits until what it says is on disk. What CONNACK does not say to a v5 client is what
// the protocol takes for granted.
import { CatchUp } from '../catch-up.ts';
import type { Accepted, Client, Context } from '../client.ts';
import { principalOf, retainedSurroundings } from '../client.ts';
import { MqttError, malformed } from '../errors.ts';
import { flagsAreLegal, PACKET_TYPE } from '../framing.ts';
import type { MqttOptions } from '../options.ts';
import type { ConnackProperties } from '../packets/cold-packets.ts';
import { encodeConnack } from '../packets/cold-packets.ts';
import type { ConnectPacket, ConnectProgress } from '../packets/connect.ts';
import { readConnect, UnsupportedVersion } from '../packets/connect.ts';
import { PublishFlow } from '../publish-flow.ts';
import { CONNACK_3, REASON, REFUSAL_REASON } from '../reason-codes.ts';
import { isReservedTopic } from '../record-mapping.ts';
import { resumeRetained } from '../retained/retained-delivery.ts';
import { Session } from '../session.ts';
import type { StoredWill } from '../sessions/session-records.ts';
import { NEVER_EXPIRES } from '../sessions/session-records.ts';
import type { StoredRecords } from '../sessions/session-store.ts';
import { unwelcomeError } from '../unwelcome.ts';

/** Keep alive is one and a half times what the client says [MQTT-3.1.2-22]. */
const KEEP_ALIVE_MS_PER_SECOND = 1500;

export function handleConnect(
  client: Client,
  callbacks: PublishCallbacks,
  firstByte: number,
  bytes: Buffer,
  start: number,
  end: number,
): undefined | Promise<void> {
  const progress: ConnectProgress = { version: undefined, packetBytesMax: Number.MAX_SAFE_INTEGER };
  const refuse = (error: unknown): void => {
    if (!(error instanceof MqttError)) throw error;
    client.refuse(refusalOf(error, progress), error.message);
  };
  try {
    const packet = readConnect(bytes, start, end, progress);
    if (!flagsAreLegal(firstByte, packet.version))
      throw malformed('CONNECT with reserved flags [MQTT-2.1.3-1]');
    checkPacket(client, packet);
    const { hooks } = client.context;
    if (hooks.preConnect !== undefined || hooks.authenticate !== undefined) {
      return admit(client, packet)
        .then((principal) =>
          client.isAwaitingConnect ? accept(client, callbacks, packet, principal) : undefined,
        )
        .catch(refuse);
    }
    return accept(client, callbacks, packet, undefined)?.catch(refuse);
  } catch (error) {
    refuse(error);
    return undefined;
  }
}

/** Asks the policy. @returns the name of the principal, if the policy gives one. */
async function admit(client: Client, packet: ConnectPacket): Promise<string | undefined> {
  const { hooks, counters } = client.context;
  const { listener, remoteAddress } = client;
  const who = { clientId: packet.clientId, listener, remoteAddress };
  const refusal = await hooks.preConnect?.(who, packet);
  const identity = refusal === undefined ? await hooks.authenticate?.(who, packet) : { refusal };
  if (identity?.refusal === undefined) return identity?.principal;
  counters.hookRefusals++;
  throw new MqttError('policy', identity.refusal, 'The client may not connect');
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
  const code = RETURN_CODE_3.get(error.reasonCode);
  return version === undefined || code === undefined ? undefined : encodeConnack(version, code, false);
}

/** What versions below 5 have a return code for. */
const RETURN_CODE_3: ReadonlyMap<number, number> = new Map([
  [REASON.CLIENT_IDENTIFIER_NOT_VALID, CONNACK_3.IDENTIFIER_REJECTED],
  [REASON.SERVER_UNAVAILABLE, CONNACK_3.SERVER_UNAVAILABLE],
  [REASON.QUOTA_EXCEEDED, CONNACK_3.SERVER_UNAVAILABLE],
  [REASON.SERVER_BUSY, CONNACK_3.SERVER_UNAVAILABLE],
  [REASON.CONNECTION_RATE_EXCEEDED, CONNACK_3.SERVER_UNAVAILABLE],
  [REASON.BAD_USER_NAME_OR_PASSWORD, CONNACK_3.BAD_USER_NAME_OR_PASSWORD],
  [REASON.NOT_AUTHORIZED, CONNACK_3.NOT_AUTHORIZED],
]);

function checkPacket({ context, unwelcome }: Client, packet: ConnectPacket): void {
  const { version, clientId, will } = packet;
  if (unwelcome !== undefined) throw unwelcomeError(unwelcome, context.counters);
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
  if (isReservedTopic(will.topic)) {
    throw new MqttError('topic-name', REASON.TOPIC_NAME_INVALID, 'Nobody publishes to the will topic');
  }
  const { userPropertiesMax, userPropertyBytesMax } = context.options;
  const { userPropertyCount, userPropertyBytes } = will.properties;
  if (userPropertyCount > userPropertiesMax || userPropertyBytes > userPropertyBytesMax) {
    context.counters.userPropertiesRefused++;
    throw new MqttError('user-properties', REASON.QUOTA_EXCEEDED, 'The will has too many user properties');
  }
}

function badClientId(message: string): MqttError {
  return new MqttError('client-id', REASON.CLIENT_IDENTIFIER_NOT_VALID, message);
}

/** How long a session may outlive its connection. */
export function grantedExpirySeconds(askedSeconds: number, { sessionExpiryMaxSeconds }: MqttOptions): number {
  return Math.min(askedSeconds, sessionExpiryMaxSeconds);
}

/** Below version 5 a session lasts as long as it may, or as long as its connection (3.1.1 section 3.1.2.4). */
function expiryOf({ version, clean, sessionExpirySeconds }: ConnectPacket, options: MqttOptions): number {
  const askedSeconds = version === 5 ? sessionExpirySeconds : clean ? 0 : NEVER_EXPIRES;
  return grantedExpirySeconds(askedSeconds, options);
}

function accept(
  client: Client,
  callbacks: PublishCallbacks,
  packet: ConnectPacket,
  principal: string | undefined,
): undefined | Promise<void> {
  const { context } = client;
  const clientId = packet.clientId === '' ? `auto-${context.hub.random.uuid()}` : packet.clientId;
  const connect: Connecting = {
    client,
    callbacks,
    packet,
    clientId,
    principal,
    expirySeconds: expiryOf(packet, context.options),
  };
  if (connect.expirySeconds === 0 && context.sessions.isUnknown(clientId)) {
    // [MQTT-3.1.4-3]
    context.clients.get(clientId)?.takeOver();
    if (checkConnack(connect)) welcome(connect, undefined, false);
    return undefined;
  }
  return context.sessions.exclusively(clientId, () => acceptDurably(connect));
}

interface Connecting {
  readonly client: Client;
  readonly callbacks: PublishCallbacks;
  readonly packet: ConnectPacket;
  readonly clientId: string;
  /** Undefined = nobody in particular. */
  readonly principal: string | undefined;
  readonly expirySeconds: number;
}

/** A client identifier that has a session which outlives connections, or is to have one. */
async function acceptDurably(connect: Connecting): Promise<void> {
  const { client, packet, clientId, expirySeconds } = connect;
  const { clients, sessions } = client.context;
  if (!sessions.isServing(clientId)) throw unavailable('The state of sessions cannot be read');
  clients.get(clientId)?.takeOver();
  await sessions.detached(clientId);
  // CONNACK too large: what the client has is left as it is.
  if (!client.isAwaitingConnect || !checkConnack(connect)) return;
  const refused = packet.clean ? undefined : await sessions.tail.give(clientId);
  if (refused !== undefined) throw unavailable(refused.message);
  const earlier = await sessions.load(clientId);
  const resumed = packet.clean ? undefined : earlier;
  if (earlier !== undefined && resumed === undefined && (await sessions.end(clientId)) !== undefined) {
    throw unavailable('The session before cannot be ended');
  }
  if (!client.isAwaitingConnect) return;
  if (expirySeconds === 0 && resumed === undefined) {
    welcome(connect, undefined, false);
    return;
  }
  if (earlier === undefined && sessions.isFull) {
    throw new MqttError('sessions', REASON.QUOTA_EXCEEDED, 'There are as many sessions as there may be');
  }
  const records = await sessions.begin(clientId, { expirySeconds, will: storedWillOf(connect) }, resumed);
  if ('refused' in records) throw unavailable(records.message);
  if (client.isAwaitingConnect) welcome(connect, records, resumed !== undefined);
  else await sessions.leave(clientId, records);
}

function unavailable(message: string): MqttError {
  return new MqttError('unavailable', REASON.SERVER_UNAVAILABLE, message);
}

function storedWillOf({ client, packet, principal }: Connecting): StoredWill | undefined {
  const { will } = packet;
  if (will === undefined) return undefined;
  const { topic, payload, qos, retain, bytes } = will;
  return {
    topic,
    payload,
    qos,
    retain,
    properties: bytes,
    delaySeconds: Math.max(will.properties.willDelaySeconds, 0),
    principal: principalOf(client.listener, client.remoteAddress, principal),
  };
}

/** 3.1 has no flag for it. */
function encodeAccepted({ client, packet, clientId, expirySeconds }: Connecting, isPresent: boolean): Buffer {
  const properties = capabilities(client.context, packet, clientId, expirySeconds);
  return encodeConnack(packet.version, REASON.SUCCESS, isPresent && packet.version > 3, properties);
}

/** False when the client cannot be told that it is welcome. */
function checkConnack(connect: Connecting): boolean {
  const { client, packet } = connect;
  if (encodeAccepted(connect, false).length <= packet.packetBytesMax) return true;
  client.refuse(undefined, 'CONNACK is larger than the Maximum Packet Size [MQTT-3.1.2-24]');
  return false;
}

/** @param isPresent whether the client has been told by an earlier CONNACK what is in the records [MQTT-3.2.2-3] */
function welcome(connect: Connecting, records: StoredRecords | undefined, isPresent: boolean): void {
  const { client } = connect;
  client.context.counters.sent[PACKET_TYPE.CONNACK]!++;
  client.output.write(encodeAccepted(connect, isPresent));
  const accepted = newSession(connect);
  client.accept(accepted);
  if (records === undefined) return;
  client.context.sessions.attach(accepted.session, records, (refused) =>
    client.fail(new MqttError('unstorable', REFUSAL_REASON[refused.refused], refused.message)),
  );
  client.context.shared.rejoin(accepted.session);
  resumeRetained(accepted.session, records.subscriptions, retainedSurroundings(client.context));
}

function capabilities(
  context: Context,
  packet: ConnectPacket,
  clientId: string,
  expirySeconds: number,
): ConnackProperties {
  const { options } = context;
  const { keepAliveMaxSeconds } = effectiveKeepAlive(context, packet);
  return {
    receiveMaximum: options.receiveMaximum,
    ...(options.topicAliasMaximum > 0 ? { topicAliasMaximum: options.topicAliasMaximum } : {}),
    retainAvailable: true,
    maximumPacketSize: options.packetBytesMax,
    sharedSubscriptionAvailable: true,
    ...(packet.sessionExpirySeconds === expirySeconds ? {} : { sessionExpiryInterval: expirySeconds }),
    ...(packet.wantsResponseInformation ? { responseInformation: responseInformationOf(clientId) } : {}),
    ...(packet.clientId === '' ? { assignedClientIdentifier: clientId } : {}),
    ...(keepAliveMaxSeconds === undefined ? {} : { serverKeepAlive: keepAliveMaxSeconds }),
  };
}

/** What a client may begin its response topics with (section 4.10.1): its own, as far as that can be a topic name. */
function responseInformationOf(clientId: string): string {
  return `response/${clientId.replaceAll(/[+#/]/g, '_')}/`;
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

function newSession({ client, callbacks, packet, clientId, principal }: Connecting): Accepted {
  const { context, listener, remoteAddress } = client;
  const who = { clientId, listener, remoteAddress };
  const { hub, options, counters } = context;
  const { keepAliveSeconds } = effectiveKeepAlive(context, packet);
  const session = new Session({
    clientId,
    version: packet.version,
    principal: principalOf(listener, remoteAddress, principal),
    opening: { atMs: hub.clock.now(), keepAliveSeconds, clean: packet.clean },
    access: hub.access,
    log: hub.log,
    output: client.output,
    counters,
    inflightMax: Math.min(packet.receiveMaximum, options.inflightMax),
    packetBytesMax: packet.packetBytesMax,
    outputBytesMax: options.outputBytesMax,
    wantsProblemInformation: packet.wantsProblemInformation,
    topicAliasMaximum: packet.topicAliasMaximum,
    ...(context.hooks.authorizeForward && {
      mayForward: (topic) => context.hooks.authorizeForward?.(who, topic) !== false,
    }),
  });
  session.lag = new CatchUp(session, {
    hub,
    reader: context.catchUpReader,
    counters,
    mappings: context.mappings,
    followBytesMax: options.followBytesMax,
    limits: context.queueLimits,
  });
  const publishes = new PublishFlow({
    session,
    counters,
    unstored: context.unstored,
    publishesMax: options.receiveMaximum,
    bytesMax: options.unstoredBytesMax,
    ...callbacks,
  });
  return {
    session,
    publishes,
    will: packet.will,
    keepAliveMs: keepAliveSeconds * KEEP_ALIVE_MS_PER_SECOND,
    sessionExpiryAsked: packet.sessionExpirySeconds > 0,
  };
}
