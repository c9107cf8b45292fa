// What is written to `__mqtt_sessions`. A key is one byte that names its kind, then the client identifier (UTF-8); a value
// begins with its version. All records of a client lie in the partition of its identifier, and what changes together is
// written as one batch.
//
//   s  the session: its number, expiry, when its connection ended, will
//   u  some of its subscriptions; which is said by two bytes behind the kind
//   b  a cursor per partition
//   c  delivery: cursors that differ from those, packet identifiers on their way to the client, in the order they were sent
//   r  QoS 2 publishes of the client that it has not released, and up to where of each partition that list is complete
//   q  (of a topic, not of a client) from where on its logs are searched for QoS 2 publishes after a crash
//
// This is `s` and `r`; see subscription-record.ts, delivery-record.ts and places.ts.
import type { Principal } from '../../port.ts';
import type { QoS } from '../packets/publish.ts';
import type { Place } from './places.ts';
import { openRecord, readList, readPlaces, writePlaces } from './places.ts';
import type { RecordParser } from './record-bytes.ts';
import { RecordWriter } from './record-bytes.ts';
import type { StoredSubscription } from './subscription-record.ts';
import { qosOf, readSubscription } from './subscription-record.ts';

export const SESSIONS_TOPIC = '__mqtt_sessions';

/** First byte of a key. `g` and `h` are shared subscriptions', see share/share-record.ts. */
export const RECORD_KIND = {
  SESSION: 0x73,
  SUBSCRIPTIONS: 0x75,
  CURSORS: 0x62,
  DELIVERY: 0x63,
  RECEIVED: 0x72,
  TAIL: 0x71,
  SHARED: 0x67,
  SHARED_CURSORS: 0x68,
} as const;
export type RecordKind = (typeof RECORD_KIND)[keyof typeof RECORD_KIND];

/** Version 1 has the subscriptions in it, and does not say whose a will is. */
const SESSION_VERSION = 2;
const RECEIVED_VERSION = 1;
/** Session Expiry Interval of a session that never expires (section 3.1.2.11.2). */
export const NEVER_EXPIRES = 0xffff_ffff;

export interface StoredSession {
  /** Tells the sessions that a client identifier has had one after another apart; below 2^48. */
  readonly sessionNumber: number;
  readonly expirySeconds: number;
  /** Milliseconds since the epoch; −1 while its client is connected. */
  readonly disconnectedAtMs: number;
  readonly will: StoredWill | undefined;
}

export interface StoredWill {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  /** The will properties as CONNECT had them, without their length. */
  readonly properties: Buffer;
  readonly delaySeconds: number;
  /** Who may publish it; undefined = version 1 did not say. */
  readonly principal: Principal | undefined;
}

export interface StoredReceived {
  /** In these partitions, publishes of the session below `offset` are known: released, or in `publishes`. */
  readonly known: readonly Place[];
  readonly publishes: readonly ReceivedPublish[];
}

export interface ReceivedPublish extends Place {
  readonly packetId: number;
}

// ------------------------------------------------------------------------------------------------------- keys

export function recordKey(kind: RecordKind, id: string): Buffer {
  const key = Buffer.allocUnsafe(1 + Buffer.byteLength(id));
  key[0] = kind;
  key.write(id, 1, 'utf8');
  return key;
}

export function idOfKey(key: Buffer): string {
  return key.toString('utf8', 1);
}

// ---------------------------------------------------------------------------------------------------- session

const FLAG = { WILL: 1, CONNECTED: 2 } as const;

export function encodeSession(session: StoredSession): Buffer {
  const { will, disconnectedAtMs } = session;
  const writer = new RecordWriter();
  writer.byte(SESSION_VERSION);
  writer.byte((will ? FLAG.WILL : 0) | (disconnectedAtMs < 0 ? FLAG.CONNECTED : 0));
  writer.integer(session.sessionNumber);
  writer.integer(session.expirySeconds);
  writer.integer(Math.max(0, disconnectedAtMs));
  if (will) writeWill(writer, will);
  return writer.finish();
}

/** The beginning of {@link encodeSession}. */
type SessionHead = Pick<StoredSession, 'sessionNumber' | 'expirySeconds' | 'disconnectedAtMs'> & {
  readonly hasWill: boolean;
};

/** Subscriptions of a record of version 1 are there to be written as what they are now; else undefined. */
export function decodeSession(value: Buffer): {
  readonly session: StoredSession;
  readonly subscriptions: readonly StoredSubscription[] | undefined;
} {
  const { version, parser } = openRecord(value, SESSION_VERSION);
  const { hasWill, ...head } = readHead(parser);
  const will = hasWill ? readWill(parser, version) : undefined;
  const session = { ...head, will };
  if (version > 1) return { session, subscriptions: undefined };
  return { session, subscriptions: readList(parser, 4, () => readSubscription(parser)) };
}

function readHead(parser: RecordParser): SessionHead {
  const flags = parser.byte();
  const sessionNumber = parser.integer();
  const expirySeconds = parser.integer();
  const endedAtMs = parser.integer();
  const disconnectedAtMs = (flags & FLAG.CONNECTED) === 0 ? endedAtMs : -1;
  return { sessionNumber, expirySeconds, disconnectedAtMs, hasWill: (flags & FLAG.WILL) !== 0 };
}

function writeWill(writer: RecordWriter, will: StoredWill): void {
  writer.string(will.topic);
  writer.bytes(will.payload);
  writer.byte(will.qos | (will.retain ? 4 : 0));
  writer.bytes(will.properties);
  writer.integer(will.delaySeconds);
  const { name = '', listener = '', remoteAddress = '' } = will.principal ?? {};
  writer.string(name);
  writer.string(listener);
  writer.string(remoteAddress);
}

function readWill(parser: RecordParser, version: number): StoredWill {
  const topic = parser.string();
  const payload = parser.bytes();
  const bits = parser.byte();
  const properties = parser.bytes();
  const delaySeconds = parser.integer();
  const principal = version === 1 ? undefined : readPrincipal(parser);
  return { topic, payload, qos: qosOf(bits), retain: (bits & 4) !== 0, properties, delaySeconds, principal };
}

function readPrincipal(parser: RecordParser): Principal | undefined {
  const name = parser.string();
  const listener = parser.string();
  const remoteAddress = parser.string();
  return name === '' ? undefined : { name, listener, remoteAddress };
}

// --------------------------------------------------------------------------------------------------- received

export function encodeReceived(received: StoredReceived): Buffer {
  const writer = new RecordWriter();
  writer.byte(RECEIVED_VERSION);
  writePlaces(writer, received.known);
  writer.integer(received.publishes.length);
  for (const { packetId, topicId, partition, offset } of received.publishes) {
    writer.integer(packetId);
    writer.topicId(topicId);
    writer.integer(partition);
    writer.integer(offset);
  }
  return writer.finish();
}

export function decodeReceived(value: Buffer): StoredReceived {
  const { parser } = openRecord(value, RECEIVED_VERSION);
  const known = readPlaces(parser);
  const publishes = readList(parser, 5, () => ({
    packetId: parser.integer(),
    topicId: parser.topicId(),
    partition: parser.integer(),
    offset: parser.integer(),
  }));
  return { known, publishes };
}
