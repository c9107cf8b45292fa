// What is written to `__mqtt_sessions`. A key is one byte that names its kind, then the client identifier (UTF-8); a value
// begins with its version. All records of a client lie in the partition of its identifier, and what changes together is
// written as one batch.
//
//   s  the session: its number, expiry, when its connection ended, will, subscriptions
//   c  delivery: a cursor per partition, packet identifiers on their way to the client, in the order they were sent
//   r  QoS 2 publishes of the client that it has not released, and up to where of each partition that list is complete
//   q  (of a partition, not of a client) from where on its log is searched for QoS 2 publishes after a crash
import type { QoS } from '../packets/publish.ts';
import { RecordParser, RecordUnreadable, RecordWriter } from './record-bytes.ts';

export const SESSIONS_TOPIC = '__mqtt_sessions';

/** First byte of a key. `g` is taken too, by shared subscriptions. */
export const RECORD_KIND = {
  SESSION: 0x73,
  DELIVERY: 0x63,
  RECEIVED: 0x72,
  TAIL: 0x71,
  SHARED: 0x67,
} as const;
export type RecordKind = (typeof RECORD_KIND)[keyof typeof RECORD_KIND];

const VERSION = 1;
/** Session Expiry Interval of a session that never expires (section 3.1.2.11.2). */
export const NEVER_EXPIRES = 0xffff_ffff;

export interface StoredSession {
  /** Tells the sessions that a client identifier has had one after another apart; below 2^48. */
  readonly sessionNumber: number;
  readonly expirySeconds: number;
  /** Milliseconds since the epoch; −1 while its client is connected. */
  readonly disconnectedAtMs: number;
  readonly will: StoredWill | undefined;
  readonly subscriptions: readonly StoredSubscription[];
}

export interface StoredWill {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  /** The will properties as CONNECT had them, without their length. */
  readonly properties: Buffer;
  readonly delaySeconds: number;
}

export interface StoredSubscription {
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  /** 0 = none. */
  readonly identifier: number;
  /** Where it begins, in partitions in which the session's cursor may be before that. */
  readonly starts: readonly Place[];
}

/** A place in the log. A topic that is deleted and made again has another id. */
export interface Place {
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
}

export interface StoredDelivery {
  /**
   * Next offset to send, per partition. Undefined while the session has no subscription; else a partition that is not
   * named was made later, and all of it is news.
   */
  readonly cursors: readonly Place[] | undefined;
  readonly lastPacketId: number;
  /** In the order in which they were sent first. */
  readonly exchanges: readonly StoredExchange[];
}

export type Awaited = 'puback' | 'pubrec' | 'pubcomp';

/** A message on its way to the client. */
export interface StoredExchange extends Place {
  readonly packetId: number;
  readonly awaited: Awaited;
  /** Its RETAIN flag, which is not told by its record. */
  readonly retain: boolean;
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
  writer.byte(VERSION);
  writer.byte((will ? FLAG.WILL : 0) | (disconnectedAtMs < 0 ? FLAG.CONNECTED : 0));
  writer.integer(session.sessionNumber);
  writer.integer(session.expirySeconds);
  writer.integer(Math.max(0, disconnectedAtMs));
  if (will) writeWill(writer, will);
  writer.integer(session.subscriptions.length);
  for (const subscription of session.subscriptions) writeSubscription(writer, subscription);
  return writer.finish();
}

/** What the index of sessions knows of one; the beginning of {@link encodeSession}. */
export type SessionHead = Pick<StoredSession, 'sessionNumber' | 'expirySeconds' | 'disconnectedAtMs'> & {
  readonly hasWill: boolean;
};

export function decodeSessionHead(value: Buffer): SessionHead {
  return readHead(openRecord(value));
}

/** What a list of sessions shows of one, without the rest of it being made. */
export function countSubscriptions(value: Buffer): number {
  const parser = openRecord(value);
  if (readHead(parser).hasWill) readWill(parser);
  return parser.integer();
}

export function decodeSession(value: Buffer): StoredSession {
  const parser = openRecord(value);
  const { hasWill, ...head } = readHead(parser);
  const will = hasWill ? readWill(parser) : undefined;
  const subscriptions = readList(parser, 4, () => readSubscription(parser));
  return { ...head, will, subscriptions };
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
}

function readWill(parser: RecordParser): StoredWill {
  const topic = parser.string();
  const payload = parser.bytes();
  const bits = parser.byte();
  const properties = parser.bytes();
  const delaySeconds = parser.integer();
  return { topic, payload, qos: qosOf(bits), retain: (bits & 4) !== 0, properties, delaySeconds };
}

function writeSubscription(writer: RecordWriter, subscription: StoredSubscription): void {
  const { qos, noLocal, retainAsPublished } = subscription;
  writer.string(subscription.filter);
  writer.byte(qos | (noLocal ? 4 : 0) | (retainAsPublished ? 8 : 0));
  writer.integer(subscription.identifier);
  writePlaces(writer, subscription.starts);
}

function readSubscription(parser: RecordParser): StoredSubscription {
  const filter = parser.string();
  const bits = parser.byte();
  const identifier = parser.integer();
  const starts = readPlaces(parser);
  return {
    filter,
    qos: qosOf(bits),
    noLocal: (bits & 4) !== 0,
    retainAsPublished: (bits & 8) !== 0,
    identifier,
    starts,
  };
}

// --------------------------------------------------------------------------------------------------- delivery

const AWAITED: readonly Awaited[] = ['puback', 'pubrec', 'pubcomp'];

export function encodeDelivery(delivery: StoredDelivery): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
  writer.byte(delivery.cursors === undefined ? 0 : 1);
  if (delivery.cursors !== undefined) writePlaces(writer, delivery.cursors);
  writer.integer(delivery.lastPacketId);
  const topicIds = [...new Set(delivery.exchanges.map(({ topicId }) => topicId))];
  const indexOf = new Map(topicIds.map((topicId, index) => [topicId, index]));
  writer.integer(topicIds.length);
  for (const topicId of topicIds) writer.topicId(topicId);
  writer.integer(delivery.exchanges.length);
  for (const { packetId, awaited, retain, topicId, partition, offset } of delivery.exchanges) {
    writer.integer(packetId);
    writer.byte(AWAITED.indexOf(awaited) | (retain ? 4 : 0));
    writer.integer(indexOf.get(topicId) as number); // made of the same list
    writer.integer(partition);
    writer.integer(offset);
  }
  return writer.finish();
}

/** As {@link countSubscriptions}: cursors, of which there may be thousands, are stepped over. */
export function countExchanges(value: Buffer): number {
  const parser = openRecord(value);
  if (parser.byte() !== 0) skipPlaces(parser);
  parser.integer();
  for (let rest = parser.count(1); rest > 0; rest--) parser.topicId();
  return parser.integer();
}

export function decodeDelivery(value: Buffer): StoredDelivery {
  const parser = openRecord(value);
  const cursors = parser.byte() === 0 ? undefined : readPlaces(parser);
  const lastPacketId = parser.integer();
  const topicIds = readList(parser, 1, () => parser.topicId());
  const exchanges = readList(parser, 5, () => {
    const packetId = parser.integer();
    const bits = parser.byte();
    const awaited = AWAITED[bits & 3];
    const retain = (bits & 4) !== 0;
    const topicId = topicIds[parser.integer()];
    if (awaited === undefined || topicId === undefined) throw new RecordUnreadable('no such exchange');
    return { packetId, awaited, retain, topicId, partition: parser.integer(), offset: parser.integer() };
  });
  return { cursors, lastPacketId, exchanges };
}

// --------------------------------------------------------------------------------------------------- received

export function encodeReceived(received: StoredReceived): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
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
  const parser = openRecord(value);
  const known = readPlaces(parser);
  const publishes = readList(parser, 5, () => ({
    packetId: parser.integer(),
    topicId: parser.topicId(),
    partition: parser.integer(),
    offset: parser.integer(),
  }));
  return { known, publishes };
}

// ------------------------------------------------------------------------------------------------------- tail

/** Value of a `q` record; its id is the topic's id. One offset per partition. */
export function encodePlaces(places: readonly Place[]): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
  writePlaces(writer, places);
  return writer.finish();
}

export function decodePlaces(value: Buffer): readonly Place[] {
  return readPlaces(openRecord(value));
}

// ------------------------------------------------------------------------------------------------------ parts

function openRecord(value: Buffer): RecordParser {
  const parser = new RecordParser(value);
  const version = parser.byte();
  if (version !== VERSION) throw new RecordUnreadable(`version ${version}`);
  return parser;
}

/** Behind each topic id, its partitions. */
function writePlaces(writer: RecordWriter, places: readonly Place[]): void {
  const byTopic = new Map<string, Place[]>();
  for (const place of places) {
    const ofTopic = byTopic.get(place.topicId);
    if (ofTopic) ofTopic.push(place);
    else byTopic.set(place.topicId, [place]);
  }
  writer.integer(byTopic.size);
  for (const [topicId, ofTopic] of byTopic) {
    writer.topicId(topicId);
    writer.integer(ofTopic.length);
    for (const { partition, offset } of ofTopic) {
      writer.integer(partition);
      writer.integer(offset);
    }
  }
}

function readPlaces(parser: RecordParser): Place[] {
  return readList(parser, 3, () => {
    const topicId = parser.topicId();
    return readList(parser, 2, () => ({ topicId, partition: parser.integer(), offset: parser.integer() }));
  }).flat();
}

function skipPlaces(parser: RecordParser): void {
  for (let topics = parser.count(3); topics > 0; topics--) {
    parser.topicId();
    for (let integers = parser.count(2) * 2; integers > 0; integers--) parser.integer();
  }
}

function readList<Item>(parser: RecordParser, itemBytesMin: number, readItem: () => Item): Item[] {
  return Array.from({ length: parser.count(itemBytesMin) }, readItem);
}

function qosOf(bits: number): QoS {
  const qos = bits & 3;
  if (qos === 3) throw new RecordUnreadable('QoS 3');
  return qos as QoS; // 0 to 2
}
