// A record of `__mqtt_sessions` that holds some of a session's subscriptions: so many and no more, so that one which comes or
// goes writes those that share its record with it, and not all. Key: `u`, the record's number in two bytes, then the client
// identifier.
//
//   version = 1
//   each subscription: filter, QoS and options, identifier, where it begins
import type { QoS } from '../packets/publish.ts';
import type { Place } from './places.ts';
import { openRecord, readList, readPlaces, writePlaces } from './places.ts';
import type { RecordParser } from './record-bytes.ts';
import { RecordUnreadable, RecordWriter } from './record-bytes.ts';

const VERSION = 1;

export interface StoredSubscription {
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  /** 0 = none. */
  readonly identifier: number;
  /** Retained messages of the filter have not all been sent. */
  readonly isRetainedPending?: boolean;
  /** Where it begins, in partitions in which the session's cursor may be before that. */
  readonly starts: readonly Place[];
}

/** Of the two bytes behind a key's kind. */
export const SUBSCRIPTION_RECORDS_MAX = 0x1_0000;
const KEY_HEAD_BYTES = 3;

/** @param kind first byte of the key. */
export function subscriptionsKey(kind: number, number: number, clientId: string): Buffer {
  const key = Buffer.allocUnsafe(KEY_HEAD_BYTES + Buffer.byteLength(clientId));
  key[0] = kind;
  key.writeUInt16BE(number, 1);
  key.write(clientId, KEY_HEAD_BYTES, 'utf8');
  return key;
}

export function placeOfSubscriptionsKey(key: Buffer): { readonly number: number; readonly clientId: string } {
  if (key.length < KEY_HEAD_BYTES) throw new RecordUnreadable('its key ends too early');
  return { number: key.readUInt16BE(1), clientId: key.toString('utf8', KEY_HEAD_BYTES) };
}

export function encodeSubscriptions(subscriptions: readonly StoredSubscription[]): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
  writer.integer(subscriptions.length);
  for (const subscription of subscriptions) writeSubscription(writer, subscription);
  return writer.finish();
}

/** @throws RecordUnreadable */
export function decodeSubscriptions(value: Buffer): StoredSubscription[] {
  const { parser } = openRecord(value, VERSION);
  return readList(parser, 4, () => readSubscription(parser));
}

/** How many there are, without their being made. @throws RecordUnreadable */
export function countSubscriptions(value: Buffer): number {
  return openRecord(value, VERSION).parser.count(4);
}

function writeSubscription(writer: RecordWriter, subscription: StoredSubscription): void {
  const { qos, noLocal, retainAsPublished, isRetainedPending } = subscription;
  writer.string(subscription.filter);
  writer.byte(qos | (noLocal ? 4 : 0) | (retainAsPublished ? 8 : 0) | (isRetainedPending ? 16 : 0));
  writer.integer(subscription.identifier);
  writePlaces(writer, subscription.starts);
}

export function readSubscription(parser: RecordParser): StoredSubscription {
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
    ...((bits & 16) === 0 ? {} : { isRetainedPending: true }),
  };
}

export function qosOf(bits: number): QoS {
  const qos = bits & 3;
  if (qos === 3) throw new RecordUnreadable('QoS 3');
  return qos as QoS; // 0 to 2
}
