// What `__mqtt_sessions` holds of a shared subscription: the key is `g` and the whole filter, `$share/group/filter`.
//
//   version = 1
//   next offset per partition, as sessions have it (encodePlaces)
//   places before those of messages that are owed: lent to a member, or left by one, and acknowledged by nobody
//   client identifiers of the sessions that are members and outlive their connections
import { RecordParser, RecordUnreadable, RecordWriter } from '../sessions/record-bytes.ts';
import type { Place } from '../sessions/session-records.ts';
import { decodePlaces, encodePlaces } from '../sessions/session-records.ts';

const VERSION = 1;

export interface StoredGroup {
  readonly cursors: readonly Place[];
  readonly owed: readonly Place[];
  readonly memberIds: ReadonlySet<string>;
}

export function encodeGroup({ cursors, owed, memberIds }: StoredGroup): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
  writer.bytes(encodePlaces(cursors));
  writer.bytes(encodePlaces(owed));
  writer.integer(memberIds.size);
  for (const clientId of memberIds) writer.string(clientId);
  return writer.finish();
}

/** @throws RecordUnreadable */
export function decodeGroup(value: Buffer): StoredGroup {
  const parser = new RecordParser(value);
  const version = parser.byte();
  if (version !== VERSION) throw new RecordUnreadable(`a group of version ${version}`);
  const cursors = decodePlaces(parser.bytes());
  const owed = decodePlaces(parser.bytes());
  const memberIds = new Set<string>();
  for (let rest = parser.integer(); rest > 0; rest--) memberIds.add(parser.string());
  return { cursors, owed, memberIds };
}
