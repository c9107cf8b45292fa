// Places in the log, as records name them: behind each topic id, its partitions and their offsets. Every record begins with
// the version of its own layout.
import { RecordParser, RecordUnreadable, RecordWriter } from './record-bytes.ts';

/** A topic that is deleted and made again has another id. */
export interface Place {
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
}

/** Of records that are places and nothing else. */
const VERSION = 1;

export function keyOf({
  topicId,
  partition,
}: {
  readonly topicId: string;
  readonly partition: number;
}): string {
  return `${partition}/${topicId}`;
}

export function encodePlaces(places: readonly Place[]): Buffer {
  const writer = new RecordWriter();
  writer.byte(VERSION);
  writePlaces(writer, places);
  return writer.finish();
}

/** @throws RecordUnreadable */
export function decodePlaces(value: Buffer): Place[] {
  return readPlaces(openRecord(value, VERSION).parser);
}

/** @throws RecordUnreadable when it was written by a later version */
export function openRecord(
  value: Buffer,
  versionMax: number,
): { readonly version: number; readonly parser: RecordParser } {
  const parser = new RecordParser(value);
  const version = parser.byte();
  if (version === 0 || version > versionMax) {
    throw new RecordUnreadable(`it has version ${version}; versions up to ${versionMax} are understood`);
  }
  return { version, parser };
}

export function writePlaces(writer: RecordWriter, places: readonly Place[]): void {
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

export function readPlaces(parser: RecordParser): Place[] {
  return readList(parser, 3, () => {
    const topicId = parser.topicId();
    return readList(parser, 2, () => ({ topicId, partition: parser.integer(), offset: parser.integer() }));
  }).flat();
}

export function skipPlaces(parser: RecordParser): void {
  for (let topics = parser.count(3); topics > 0; topics--) {
    parser.topicId();
    for (let integers = parser.count(2) * 2; integers > 0; integers--) parser.integer();
  }
}

export function readList<Item>(parser: RecordParser, itemBytesMin: number, readItem: () => Item): Item[] {
  return Array.from({ length: parser.count(itemBytesMin) }, readItem);
}

/** Those of `base`, but for the partitions that `changed` names. */
export function mergePlaces(base: readonly Place[], changed: readonly Place[]): Place[] {
  const merged = new Map(base.map((place) => [keyOf(place), place]));
  for (const place of changed) merged.set(keyOf(place), place);
  return [...merged.values()];
}
