// Where a session is in the log, in two records of `__mqtt_sessions`. `b` has a cursor for every partition, and is written now
// and then; `c` has those that are elsewhere by now, and what is on its way to the client, and is written all the time. What
// both say at once is one batch.
//
//   b: version = 1; name of the positions it was made of (position-snapshot.ts); places
//   c: version = 2; 1 with subscriptions, else 0; with them places; last packet identifier; topic ids; exchanges
//
// Version 1 of `c` says the same and had no `b`: all of its cursors are named.
import { openRecord, type Place, readList, readPlaces, skipPlaces, writePlaces } from './places.ts';
import { RecordUnreadable, RecordWriter } from './record-bytes.ts';

const CURSORS_VERSION = 1;
const DELIVERY_VERSION = 2;

export interface StoredCursors {
  /** Of the positions: the same ones have the same, in whatever session's record. */
  readonly id: string;
  readonly places: readonly Place[];
}

export interface StoredDelivery {
  /**
   * Next offset to send, per partition, of those that differ from the record of cursors. Undefined while the session has no
   * subscription; else a partition that neither names was made later, and all of it is news.
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

export function encodeCursors({ id, places }: StoredCursors): Buffer {
  const writer = new RecordWriter();
  writer.byte(CURSORS_VERSION);
  writer.topicId(id);
  writePlaces(writer, places);
  return writer.finish();
}

/** @throws RecordUnreadable */
export function decodeCursors(value: Buffer): StoredCursors {
  const { parser } = openRecord(value, CURSORS_VERSION);
  return { id: parser.topicId(), places: readPlaces(parser) };
}

const AWAITED: readonly Awaited[] = ['puback', 'pubrec', 'pubcomp'];

export function encodeDelivery(delivery: StoredDelivery): Buffer {
  const writer = new RecordWriter();
  writer.byte(DELIVERY_VERSION);
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

/** How many are on their way, without their being made: cursors, of which there may be thousands, are stepped over. */
export function countExchanges(value: Buffer): number {
  const { parser } = openRecord(value, DELIVERY_VERSION);
  if (parser.byte() !== 0) skipPlaces(parser);
  parser.integer();
  for (let rest = parser.count(1); rest > 0; rest--) parser.topicId();
  return parser.integer();
}

export function decodeDelivery(value: Buffer): StoredDelivery {
  const { parser } = openRecord(value, DELIVERY_VERSION);
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
