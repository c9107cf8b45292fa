// CONNECT (section 3.1).
//
//   protocol name | protocol level | connect flags | keep alive | properties (v5)
//   client identifier | will properties (v5), will topic, will payload | user name | password
import { MqttError, malformed, protocolError } from '../errors.ts';
import { REASON } from '../reason-codes.ts';
import { hasWildcard, MessageProperties } from './message-properties.ts';
import { PacketReader } from './packet-reader.ts';
import { PLACE, PROPERTY, PropertyCursor } from './properties.ts';
import type { QoS, Version } from './publish.ts';

export interface ConnectPacket {
  readonly version: Version;
  /** Clean Session of 3.1.1, Clean Start of 5. */
  readonly clean: boolean;
  readonly keepAliveSeconds: number;
  readonly clientId: string;
  readonly will: WillPacket | undefined;
  readonly userName: string | undefined;
  readonly password: Buffer | undefined;
  readonly sessionExpirySeconds: number;
  /** Absent = 65,535 (section 3.1.2.11.3). */
  readonly receiveMaximum: number;
  /** Absent = what the protocol can say. */
  readonly packetBytesMax: number;
  readonly topicAliasMaximum: number;
  /** Reason strings and user properties of packets other than PUBLISH, CONNACK and DISCONNECT (section 3.1.2.11.7). */
  readonly wantsProblemInformation: boolean;
  readonly wantsResponseInformation: boolean;
  readonly authenticationMethod: string | undefined;
}

/** A will keeps its bytes: the packet's own are let go. The properties' positions are indices into `bytes`. */
export interface WillPacket {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly bytes: Buffer;
  readonly properties: MessageProperties;
}

/** CONNECT of a protocol that is not served: answered in the form that every version can read. */
export class UnsupportedVersion extends MqttError {
  constructor(message: string) {
    super('unsupported-version', REASON.PROTOCOL_ERROR, message);
  }
}

/** What is known of a CONNECT by the time something in it is found to be wrong: how to answer. */
export interface ConnectProgress {
  version: Version | undefined;
  packetBytesMax: number;
}

const FLAG = { RESERVED: 1, CLEAN: 2, WILL: 4, WILL_RETAIN: 32, PASSWORD: 64, USER_NAME: 128 } as const;

/** @param progress is told what an answer depends on, as soon as it is read. */
export function readConnect(
  bytes: Buffer,
  start: number,
  end: number,
  progress: ConnectProgress,
): ConnectPacket {
  const reader = new PacketReader(bytes, start, end);
  const version = readVersion(reader, progress);
  progress.version = version;
  const flags = readFlags(reader, version);
  const keepAliveSeconds = reader.twoByteInteger('Keep Alive');
  const properties = readConnectProperties(reader, version);
  progress.packetBytesMax = properties.packetBytesMax;
  const clientId = reader.string('Client Identifier', 'refused');
  const will = (flags & FLAG.WILL) !== 0 ? readWill(reader, flags, version) : undefined;
  const userName = present(reader, flags, FLAG.USER_NAME, version)
    ? reader.string('User Name', 'refused')
    : undefined;
  const password = present(reader, flags, FLAG.PASSWORD, version) ? reader.binary('Password') : undefined;
  reader.expectEnd('CONNECT');
  const clean = (flags & FLAG.CLEAN) !== 0;
  return { version, clean, keepAliveSeconds, clientId, will, userName, password, ...properties };
}

/** 3.1 lets a user name or password be missing although its flag is set (3.1 section 3.1). */
function present(reader: PacketReader, flags: number, flag: number, version: Version): boolean {
  return (flags & flag) !== 0 && !(version === 3 && reader.remaining === 0);
}

/** [MQTT-3.1.2-1], [MQTT-3.1.2-2]; 3.1 called itself MQIsdp. */
function readVersion(reader: PacketReader, progress: ConnectProgress): Version {
  const name = reader.string('Protocol Name', 'allowed');
  const level = reader.byte('Protocol Level');
  if (name !== 'MQTT' && name !== 'MQIsdp') {
    // At the level of MQTT 5 it is told so; below, it may be no protocol that reads an answer of ours [MQTT-3.1.2-1].
    if (level === 5) progress.version = 5;
    throw new MqttError(
      'protocol-name',
      REASON.UNSUPPORTED_PROTOCOL_VERSION,
      'CONNECT of a protocol that is not MQTT',
    );
  }
  if (name === 'MQTT' && (level === 4 || level === 5)) return level;
  if (name === 'MQIsdp' && level === 3) return level;
  throw new UnsupportedVersion(`protocol ${name} level ${level}`);
}

function readFlags(reader: PacketReader, version: Version): number {
  const flags = reader.byte('Connect Flags');
  // 3.1 leaves the bit unused (3.1 section 3.1).
  if (version > 3 && (flags & FLAG.RESERVED) !== 0)
    throw malformed('CONNECT with its reserved flag [MQTT-3.1.2-3]');
  const willQos = (flags >> 3) & 3;
  if ((flags & FLAG.WILL) === 0 && (willQos > 0 || (flags & FLAG.WILL_RETAIN) !== 0)) {
    throw malformed('CONNECT with flags of a will and no will [MQTT-3.1.2-11] [MQTT-3.1.2-13]');
  }
  if (willQos === 3) throw malformed('CONNECT with will QoS 3 [MQTT-3.1.2-12]');
  const withPasswordOnly = (flags & (FLAG.USER_NAME | FLAG.PASSWORD)) === FLAG.PASSWORD;
  // MQTT 5 allows it (section 3.1.2.9).
  if (version < 5 && withPasswordOnly) throw malformed('CONNECT with a password alone [MQTT-3.1.2-22]');
  return flags;
}

function readConnectProperties(reader: PacketReader, version: Version) {
  const values = {
    sessionExpirySeconds: 0,
    receiveMaximum: 65_535,
    packetBytesMax: Number.MAX_SAFE_INTEGER,
    topicAliasMaximum: 0,
    wantsProblemInformation: true,
    wantsResponseInformation: false,
    authenticationMethod: undefined as string | undefined, // the literal alone would fix the type to undefined
  };
  if (version < 5) return values;
  const end = reader.propertiesEnd();
  const cursor = new PropertyCursor();
  let withAuthenticationData = false;
  cursor.open(reader.bytes, reader.at, end, PLACE.CONNECT);
  while (cursor.next()) {
    if (cursor.id === PROPERTY.SESSION_EXPIRY_INTERVAL) values.sessionExpirySeconds = cursor.number;
    else if (cursor.id === PROPERTY.RECEIVE_MAXIMUM) values.receiveMaximum = cursor.number;
    else if (cursor.id === PROPERTY.MAXIMUM_PACKET_SIZE) values.packetBytesMax = cursor.number;
    else if (cursor.id === PROPERTY.TOPIC_ALIAS_MAXIMUM) values.topicAliasMaximum = cursor.number;
    else if (cursor.id === PROPERTY.REQUEST_PROBLEM_INFORMATION) {
      values.wantsProblemInformation = cursor.number === 1;
    } else if (cursor.id === PROPERTY.REQUEST_RESPONSE_INFORMATION) {
      values.wantsResponseInformation = cursor.number === 1;
    } else if (cursor.id === PROPERTY.AUTHENTICATION_DATA) withAuthenticationData = true;
    else if (cursor.id === PROPERTY.AUTHENTICATION_METHOD) {
      values.authenticationMethod = reader.bytes.toString('utf8', cursor.valueStart, cursor.valueEnd);
    }
  }
  // Section 3.1.2.11.10.
  if (withAuthenticationData && values.authenticationMethod === undefined) {
    throw protocolError('CONNECT with authentication data and no method');
  }
  reader.at = end;
  return values;
}

function readWill(reader: PacketReader, flags: number, version: Version): WillPacket {
  const properties = new MessageProperties();
  let bytes = Buffer.alloc(0);
  if (version === 5) {
    const end = reader.propertiesEnd();
    bytes = Buffer.from(reader.bytes.subarray(reader.at, end));
    properties.read(bytes, 0, bytes.length, PLACE.WILL);
    reader.at = end;
  }
  const topicStart = reader.at + 2;
  const topic = reader.string('Will Topic', 'refused');
  if (topic === '' || hasWildcard(reader.bytes, topicStart, reader.at)) {
    throw new MqttError('topic-name', REASON.TOPIC_NAME_INVALID, 'The will topic is no topic name');
  }
  const payload = reader.binary('Will Payload');
  const qos = ((flags >> 3) & 3) as QoS; // 3 has been refused
  return { topic, payload, qos, retain: (flags & FLAG.WILL_RETAIN) !== 0, bytes, properties };
}
