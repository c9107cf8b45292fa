// After a crash, which QoS 2 publishes does the log have that no record of their session tells of? Each carries its packet
// identifier and the number of its session, so the end of each partition is searched for them, from a position on that
// the state table holds: below it, the sessions' own records know everything. The position of a partition is on disk
// before the first such publish of it is, and moves on with checkpoints while there are more.
import type { Clock, Hub, Log, Partition, RecordCursor, RecordRange, Refused, Timer } from '../../port.ts';
import { MqttError } from '../errors.ts';
import { nameIs } from '../message-view.ts';
import { REASON } from '../reason-codes.ts';
import { ATTRIBUTE, PACKET_ID_BYTES, readPacketId } from '../record-mapping.ts';
import type { Place } from './places.ts';
import { keyOf } from './places.ts';
import type { ReceivedPublish } from './session-records.ts';
import type { SessionStore, StoredRecords } from './session-store.ts';

const CHECKPOINT_INTERVAL_MS = 10_000;
const READ_BYTES = 1024 * 1024;

export interface ReceivedTailOptions {
  readonly hub: Hub;
  readonly store: SessionStore;
  /**
   * Writes what the connected sessions have received, and resolves with what of it was still on its way to the log then;
   * undefined when something could not be written.
   */
  checkpoint(): Promise<readonly Place[] | undefined>;
}

interface Found {
  readonly sessionNumber: number;
  readonly publish: ReceivedPublish;
}

/** What the search has found of a client, and how far it went. */
interface Owed {
  readonly found: readonly Found[];
  readonly ends: readonly Place[];
}

export class ReceivedTail {
  readonly #hub: Hub;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #store: SessionStore;
  readonly #checkpointSessions: ReceivedTailOptions['checkpoint'];
  readonly #making = new Map<string, Promise<void>>();
  /** By client: what its session's records could not be given at the start. No position moves past it. */
  readonly #owed = new Map<string, Owed>();
  readonly #stopListening: () => void;
  #timer: Timer | undefined;
  #isMoving = false;
  #closed = false;

  constructor(options: ReceivedTailOptions) {
    this.#hub = options.hub;
    this.#clock = options.hub.clock;
    this.#log = options.hub.log;
    this.#store = options.store;
    this.#checkpointSessions = options.checkpoint;
    this.#stopListening = options.hub.topics.onChange(({ kind, topic }) => {
      if (kind === 'deleted') this.#forget(topic.topicId);
    });
  }

  /**
   * To be asked before a QoS 2 publish of a durable session goes to a partition. A promise says that its position is
   * being written; then it is asked again. Rejects with MqttError when it cannot be written.
   */
  awaitPosition(partition: Partition): undefined | Promise<void> {
    this.#isMoving = true;
    this.#timer ??= this.#closed
      ? undefined
      : this.#clock.setTimer(CHECKPOINT_INTERVAL_MS, () => void this.#checkpointInTime());
    if (this.#positionOf(partition) !== undefined) return undefined;
    const { topicId } = partition;
    let making = this.#making.get(topicId);
    if (making === undefined) {
      making = this.#makePositions(topicId).finally(() => this.#making.delete(topicId));
      this.#making.set(topicId, making);
    }
    return making;
  }

  /** Below this offset the search sees nothing; infinite where the topic is gone. */
  searchedFrom(place: Place): number {
    const position = this.#positionOf(place);
    if (position !== undefined) return position;
    return this.#hub.topics.getById(place.topicId) === undefined ? Number.POSITIVE_INFINITY : 0;
  }

  /** The session is over, and what the search has found of it: another of its client has nothing to do with it. */
  sessionEnded(clientId: string): void {
    this.#owed.delete(clientId);
  }

  /**
   * At the start, before anybody is served: finds what a crash has left, and gives it to its sessions. One that cannot be
   * written, as on a full disk, waits for {@link give}.
   */
  async recover(): Promise<void> {
    const found = new Map<string, Found[]>();
    const ends: Place[] = [];
    for (const [topicId, places] of this.#store.tails()) {
      const topic = this.#hub.topics.getById(topicId);
      if (topic === undefined) {
        this.#forget(topicId);
        continue;
      }
      for (const place of places) {
        const partition = topic.partitions[place.partition];
        if (partition === undefined) continue;
        const offset = await this.#search(partition, place.offset, found);
        ends.push({ topicId, partition: place.partition, offset });
      }
    }
    for (const [clientId, ofClient] of found) {
      this.#owed.set(clientId, { found: ofClient, ends });
      const refused = await this.give(clientId);
      if (refused === undefined) continue;
      const { message } = refused;
      this.#log.error('mqtt-session-incomplete', { clientId, publishes: ofClient.length, message });
    }
    await this.#move(ends, []);
  }

  /**
   * To be called before a session goes on: its records say all that the log has of it when it resolves, or why they cannot.
   * Never rejects.
   */
  async give(clientId: string): Promise<undefined | Refused> {
    const owed = this.#owed.get(clientId);
    if (owed === undefined) return undefined;
    const refused = await this.#give(clientId, owed);
    if (refused === undefined) this.#owed.delete(clientId);
    return refused;
  }

  /** The last checkpoint, when nobody is connected any more: the next start has nothing to search. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopListening();
    this.#timer?.cancel();
    await this.#checkpoint();
  }

  /** The topic is gone, and all positions in it. */
  #forget(topicId: string): void {
    if (this.#store.tailOf(topicId).length > 0) void this.#store.writeTail(topicId, []);
  }

  #positionOf({ topicId, partition }: Pick<Place, 'topicId' | 'partition'>): number | undefined {
    return this.#store.tailOf(topicId).find((place) => place.partition === partition)?.offset;
  }

  async #makePositions(topicId: string): Promise<void> {
    const partitions = this.#hub.topics.getById(topicId)?.partitions ?? [];
    const places = partitions.map((each) => ({
      topicId,
      partition: each.partition,
      offset: this.#positionOf(each) ?? each.highWatermark,
    }));
    const refused = await this.#store.writeTail(topicId, places);
    if (refused !== undefined)
      throw new MqttError('refused', REASON.IMPLEMENTATION_SPECIFIC_ERROR, refused.message);
  }

  async #checkpointInTime(): Promise<void> {
    await this.#checkpoint();
    this.#timer = undefined;
  }

  async #checkpoint(): Promise<void> {
    if (!this.#isMoving) return;
    this.#isMoving = false;
    // What is committed until now has been seen by its session, or is on its way there.
    const ends: Place[] = [];
    for (const [topicId, places] of this.#store.tails()) {
      const partitions = this.#hub.topics.getById(topicId)?.partitions ?? [];
      for (const { partition } of places) {
        const end = partitions[partition]?.highWatermark;
        if (end !== undefined) ends.push({ topicId, partition, offset: end });
      }
    }
    const unsettled = await this.#checkpointSessions();
    if (unsettled === undefined) {
      this.#isMoving = true;
      return;
    }
    await this.#move(ends, unsettled);
  }

  /** @param unsettled what a session is not known to know: a search after a crash has to find it */
  async #move(ends: readonly Place[], unsettled: readonly Place[]): Promise<void> {
    const byTopic = new Map<string, Place[]>();
    for (const end of notPast([...unsettled, ...this.#owedPlaces()], ends))
      byTopic.set(end.topicId, [...(byTopic.get(end.topicId) ?? []), end]);
    for (const [topicId, places] of byTopic) {
      const stored = this.#store.tailOf(topicId);
      const isNew = places.some((place) => !stored.some((other) => samePlace(place, other)));
      if (!isNew) continue;
      const moved = new Set(places.map(({ partition }) => partition));
      const kept = stored.filter(({ partition }) => !moved.has(partition));
      const refused = await this.#store.writeTail(topicId, [...kept, ...places]);
      // The search after a crash is longer, and finds the same.
      if (refused !== undefined)
        this.#log.warn('mqtt-checkpoint-failed', { topicId, message: refused.message });
    }
  }

  #owedPlaces(): Place[] {
    for (const clientId of this.#owed.keys())
      if (!this.#mayHaveSession(clientId)) this.#owed.delete(clientId);
    return [...this.#owed.values()].flatMap(({ found }) => found.map(({ publish }) => publish));
  }

  #mayHaveSession(clientId: string): boolean {
    return this.#store.index.has(clientId) || !this.#store.isServing(clientId);
  }

  /** @returns up to where it has been searched. */
  async #search(partition: Partition, fromOffset: number, found: Map<string, Found[]>): Promise<number> {
    const cursor = this.#hub.cursor();
    let offset = Math.max(fromOffset, partition.logStartOffset);
    while (offset < partition.highWatermark) {
      const range = await partition.read({ offset, maxBytes: READ_BYTES, upTo: 'highWatermark' });
      if (range.refused !== undefined) {
        this.#log.error('mqtt-search-failed', {
          topic: partition.topic,
          partition: partition.partition,
          ...range,
        });
        return fromOffset;
      }
      this.#collect(cursor, range, partition, offset, found);
      range.release?.();
      offset = range.nextOffset;
    }
    return offset;
  }

  #collect(
    cursor: RecordCursor,
    range: RecordRange,
    { topicId, partition }: Partition,
    fromOffset: number,
    found: Map<string, Found[]>,
  ): void {
    cursor.reset(range);
    while (cursor.nextBatch()) {
      if (cursor.batchIsControl) continue;
      while (cursor.nextRecord()) {
        if (cursor.offset < fromOffset) continue;
        const publish = readPublish(cursor);
        if (publish === undefined) continue;
        const { clientId, sessionNumber, packetId } = publish;
        if (!this.#mayHaveSession(clientId)) continue;
        const place = { topicId, partition, offset: cursor.offset };
        const ofClient = found.get(clientId) ?? [];
        ofClient.push({ sessionNumber, publish: { packetId, ...place } });
        found.set(clientId, ofClient);
      }
    }
  }

  /** Adds to the session's records what they do not know. */
  async #give(clientId: string, { found, ends }: Owed): Promise<undefined | Refused> {
    if (!this.#store.isServing(clientId)) return unreadable('its part of the table is not served');
    let stored: StoredRecords | undefined;
    try {
      stored = await this.#store.read(clientId);
    } catch (error) {
      return unreadable(error instanceof Error ? error.message : String(error));
    }
    if (stored === undefined) return undefined;
    const { session, received } = stored;
    const known = new Map(received.known.map((place) => [keyOf(place), place.offset]));
    const unknown = found.filter(
      ({ sessionNumber, publish }) =>
        sessionNumber === session.sessionNumber && publish.offset >= (known.get(keyOf(publish)) ?? 0),
    );
    if (unknown.length === 0) return undefined;
    const byPacketId = new Map(received.publishes.map((publish) => [publish.packetId, publish]));
    for (const { publish } of unknown) byPacketId.set(publish.packetId, publish);
    return this.#store.write(clientId, {
      received: { known: ends, publishes: [...byPacketId.values()] },
    });
  }
}

/** The ends, none of them past one of the places. */
function notPast(places: readonly Place[], ends: readonly Place[]): Place[] {
  const first = new Map<string, number>();
  for (const place of places) {
    const key = keyOf(place);
    first.set(key, Math.min(first.get(key) ?? Number.POSITIVE_INFINITY, place.offset));
  }
  return ends.map((end) => ({ ...end, offset: Math.min(end.offset, first.get(keyOf(end)) ?? end.offset) }));
}

function unreadable(message: string): Refused {
  return { refused: 'storage', message: `the session cannot be read: ${message}` };
}

function samePlace(left: Place, right: Place): boolean {
  return left.topicId === right.topicId && left.partition === right.partition && left.offset === right.offset;
}

/** Undefined for a record that is no QoS 2 publish of a durable session. */
function readPublish(
  cursor: RecordCursor,
): { readonly clientId: string; readonly sessionNumber: number; readonly packetId: number } | undefined {
  if (cursor.attributeCount === 0) return undefined;
  let clientId: string | undefined;
  cursor.rewindAttributes();
  while (cursor.nextAttribute()) {
    const { bytes, nameStart, nameEnd, itemStart, itemEnd } = cursor;
    if (nameIs(CLIENT_ID, bytes, nameStart, nameEnd)) clientId = bytes.toString('utf8', itemStart, itemEnd);
    if (!nameIs(PACKET_ID, bytes, nameStart, nameEnd) || itemEnd - itemStart !== PACKET_ID_BYTES) continue;
    return clientId === undefined ? undefined : { clientId, ...readPacketId(bytes, itemStart) };
  }
  return undefined;
}

const CLIENT_ID = Buffer.from(ATTRIBUTE.CLIENT_ID);
const PACKET_ID = Buffer.from(ATTRIBUTE.PACKET_ID);
