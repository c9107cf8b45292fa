// What `__mqtt_sessions` holds of a shared subscription. The keys are `g` and `h`, then the whole filter, `$share/group/filter`.
//
//   g: version = 2
//      cursors that are not as in `h`
//      places of messages that are owed: lent to a member, or left by one, and acknowledged by nobody
//      client identifiers of the sessions that are members and outlive their connections
//   h: a cursor per partition, now and then, as sessions have it; see ../sessions/delivery-record.ts
//
// Version 1 has all cursors in `g`; the first that was written had nothing of what is owed either.
import type { StoredCursors } from '../sessions/delivery-record.ts';
import { decodeCursors } from '../sessions/delivery-record.ts';
import type { Place } from '../sessions/places.ts';
import { decodePlaces, encodePlaces, mergePlaces, openRecord } from '../sessions/places.ts';
import type { RecordParser } from '../sessions/record-bytes.ts';
import { RecordUnreadable, RecordWriter } from '../sessions/record-bytes.ts';

const VERSION = 2;

/** The values of the two records of a group. */
export interface GroupValues {
  readonly group: Buffer | undefined;
  readonly cursors: Buffer | undefined;
}

export interface GroupChanges {
  readonly group: Buffer | null;
  readonly cursors?: Buffer | null | undefined;
}

export interface GroupRecord {
  readonly named: readonly Place[];
  readonly owed: readonly Place[];
  readonly memberIds: ReadonlySet<string>;
}

export interface StoredGroup extends GroupRecord {
  /** All of them, wherever they are written. */
  readonly cursors: readonly Place[];
  readonly base: StoredCursors | undefined;
}

export function encodeGroup({ named, owed, memberIds }: GroupRecord): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
  writer.bytes(encodePlaces(named));
  writer.bytes(encodePlaces(owed));
  writer.integer(memberIds.size);
  for (const clientId of memberIds) writer.string(clientId);
  return writer.finish();
}

/** @param cursors the value of `h`, if there is one. @throws RecordUnreadable */
export function decodeGroup(value: Buffer, cursors: Buffer | undefined): StoredGroup {
  const group = readGroup(value);
  const base = cursors === undefined ? undefined : decodeCursors(cursors);
  return { ...group, base, cursors: mergePlaces(base?.places ?? [], group.named) };
}

function readGroup(value: Buffer): GroupRecord {
  const { version, parser } = openRecord(value, VERSION);
  const named = decodePlaces(parser.bytes());
  if (version > 1) return { named, owed: decodePlaces(parser.bytes()), memberIds: readMembers(parser) };
  try {
    return { named, owed: decodePlaces(parser.bytes()), memberIds: readMembers(parser) };
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error;
  }
  const { parser: again } = openRecord(value, VERSION);
  again.bytes();
  return { named, owed: [], memberIds: readMembers(again) };
}

function readMembers(parser: RecordParser): Set<string> {
  const memberIds = new Set<string>();
  for (let rest = parser.count(1); rest > 0; rest--) memberIds.add(parser.string());
  if (parser.remaining > 0) throw new RecordUnreadable('it goes on behind its end');
  return memberIds;
}
