// Fetch sessions (KIP-227): the hub remembers which partitions a client fetches and what it was last told of them, so
// that a request names what changed and an answer has what is new. Sessions belong to no connection; whoever has no
// place gets id 0 and goes on with full requests.
//
// Memory is bounded twice: by the number of sessions, as in Kafka, and by the bytes of all of them together. A new session
// takes the place of one unused for long, else of the smallest one that is smaller and not new.

import type { Clock, Random } from '../port.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import type { FetchRequest, FetchResponse } from './messages/fetch.ts';

type PartitionRequest = FetchRequest['topics'][number]['partitions'][number];
type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number];

/** As a client names a topic: by name, or by id since version 13. The other is empty. */
export interface FetchedTopic {
  readonly topic: string;
  readonly topicId: string;
  /** The name that a session knows the topic by whose id it is. */
  readonly knownAs?: string | undefined;
}

/** A partition that is asked for, and how. */
export interface FetchedPartition {
  readonly topic: FetchedTopic;
  readonly request: PartitionRequest;
}

export interface FetchSessionLimits {
  /** Kafka's `max.incremental.fetch.session.cache.slots`. */
  readonly sessionsMax: number;
  readonly bytesMax: number;
  /** A session unused for so long gives way to any other; one so young to none. */
  readonly protectedMs: number;
}

const FIRST_EPOCH = 0;
const NO_SESSION_EPOCH = -1;
const NO_SESSION_ID = 0;
const EPOCH_MAX = 0x7fff_ffff;
/** What one partition takes in memory with its places in the session, rounded up; names are counted beside it. */
const PARTITION_BYTES = 512;
const TOPIC_BYTES = 512;

/** What a request turned out to ask for. */
export type FetchContext =
  | { readonly kind: 'refused'; readonly errorCode: ErrorCode }
  | { readonly kind: 'full'; readonly fetched: readonly FetchedPartition[]; readonly opensSession: boolean }
  | {
      readonly kind: 'incremental';
      readonly fetched: readonly FetchedPartition[];
      readonly session: FetchSession;
    };

/** A partition of a session. */
interface Remembered extends FetchedPartition {
  request: PartitionRequest;
  /** As the client was last told; −1 = not yet, or an error. */
  highWatermark: number;
  logStartOffset: number;
}

interface RememberedTopic extends FetchedTopic {
  knownAs: string | undefined;
  readonly partitions: Map<number, Remembered>;
}

export class FetchSession implements Iterable<FetchedPartition> {
  readonly id: number;
  readonly namesById: boolean;
  readonly createdMs: number;
  /** Of the next request. */
  epoch = 1;
  usedMs: number;
  byteLength = 0;
  readonly #topics = new Map<string, RememberedTopic>();
  /** In the order in which they are served: those that had records go to the end, so that none starves. */
  readonly #order = new Set<Remembered>();

  constructor(id: number, namesById: boolean, nowMs: number) {
    this.id = id;
    this.namesById = namesById;
    this.createdMs = nowMs;
    this.usedMs = nowMs;
  }

  get size(): number {
    return this.#order.size;
  }

  [Symbol.iterator](): Iterator<FetchedPartition> {
    return this.#order.values();
  }

  fetch({ topic, request }: FetchedPartition): void {
    const key = this.#keyOf(topic);
    let known = this.#topics.get(key);
    if (known === undefined) {
      known = { topic: topic.topic, topicId: topic.topicId, knownAs: undefined, partitions: new Map() };
      this.#topics.set(key, known);
      this.byteLength += topicBytes(topic);
    }
    const remembered = known.partitions.get(request.partition);
    if (remembered !== undefined) {
      remembered.request = request;
      return;
    }
    const added: Remembered = { topic: known, request, highWatermark: -1, logStartOffset: -1 };
    known.partitions.set(request.partition, added);
    this.#order.add(added);
    this.byteLength += PARTITION_BYTES;
  }

  forget(topic: FetchedTopic, partition: number): void {
    const known = this.#topics.get(this.#keyOf(topic));
    const remembered = known?.partitions.get(partition);
    if (known === undefined || remembered === undefined) return;
    known.partitions.delete(partition);
    this.#order.delete(remembered);
    this.byteLength -= PARTITION_BYTES;
    if (known.partitions.size > 0) return;
    this.#topics.delete(this.#keyOf(topic));
    this.byteLength -= topicBytes(topic);
  }

  /**
   * Whether the client has to be told; if so, it is remembered that it was.
   * @param name of the topic; undefined = there is none
   */
  tell({ topic, request }: FetchedPartition, name: string | undefined, answer: PartitionAnswer): boolean {
    const known = this.#topics.get(this.#keyOf(topic));
    const remembered = known?.partitions.get(request.partition);
    if (known === undefined || remembered === undefined) return true;
    known.knownAs ??= name;
    const hasRecords = (answer.records?.length ?? 0) > 0;
    const isError = answer.errorCode !== ERROR_CODES.NONE;
    const logStartOffset = answer.logStartOffset ?? -1;
    const isNews =
      remembered.highWatermark !== answer.highWatermark || remembered.logStartOffset !== logStartOffset;
    // An invalid bound after an error: when the error goes away the client is told.
    remembered.highWatermark = isError ? -1 : answer.highWatermark;
    remembered.logStartOffset = logStartOffset;
    if (hasRecords) {
      this.#order.delete(remembered);
      this.#order.add(remembered);
    }
    return hasRecords || isError || isNews || answer.divergingEpoch !== undefined;
  }

  #keyOf({ topic, topicId }: FetchedTopic): string {
    return this.namesById ? topicId : topic;
  }
}

export class FetchSessions {
  readonly #limits: FetchSessionLimits;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The least recently used first. */
  readonly #sessions = new Map<number, FetchSession>();
  #byteLength = 0;
  #evictedCount = 0;

  constructor(limits: FetchSessionLimits, clock: Clock, random: Random) {
    this.#limits = limits;
    this.#clock = clock;
    this.#random = random;
  }

  /** How many there are, what they take, and how many had to give way so far. */
  get counts(): { readonly sessions: number; readonly byteLength: number; readonly evicted: number } {
    return { sessions: this.#sessions.size, byteLength: this.#byteLength, evicted: this.#evictedCount };
  }

  /** What the request asks for; closes the session that it says is over. */
  begin(request: FetchRequest, namesById: boolean): FetchContext {
    const { sessionId, sessionEpoch } = request;
    if (sessionEpoch === FIRST_EPOCH || sessionEpoch === NO_SESSION_EPOCH) {
      this.#close(this.#sessions.get(sessionId));
      const opensSession = sessionEpoch === FIRST_EPOCH;
      return { kind: 'full', fetched: fetchedOf(request, namesById), opensSession };
    }
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return refused(ERROR_CODES.FETCH_SESSION_ID_NOT_FOUND);
    if (session.epoch !== sessionEpoch) return refused(ERROR_CODES.INVALID_FETCH_SESSION_EPOCH);
    if (session.namesById !== namesById) return refused(ERROR_CODES.FETCH_SESSION_TOPIC_ID_ERROR);
    return this.#goOn(session, request);
  }

  #goOn(session: FetchSession, request: FetchRequest): FetchContext {
    const bytesBefore = session.byteLength;
    for (const topic of request.topics) {
      for (const partition of topic.partitions) session.fetch({ topic, request: partition });
    }
    for (const topic of request.forgottenTopicsData) {
      for (const partition of topic.partitions) session.forget(topic, partition);
    }
    this.#byteLength += session.byteLength - bytesBefore;
    if (session.size === 0) {
      this.#close(session);
      return { kind: 'full', fetched: fetchedOf(request, session.namesById), opensSession: false };
    }
    if (this.#byteLength > this.#limits.bytesMax) {
      // It has grown too large to be remembered: the client starts over with a full request.
      this.#close(session);
      return refused(ERROR_CODES.FETCH_SESSION_ID_NOT_FOUND);
    }
    session.epoch = epochAfter(session.epoch);
    session.usedMs = this.#clock.monotonic();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
    return { kind: 'incremental', fetched: [...session], session };
  }

  /** A session for what a full request asked for, or undefined when there is no room for it. */
  open(fetched: readonly FetchedPartition[], namesById: boolean): FetchSession | undefined {
    if (fetched.length === 0) return undefined;
    const nowMs = this.#clock.monotonic();
    const session = new FetchSession(this.#newId(), namesById, nowMs);
    for (const each of fetched) session.fetch(each);
    while (!this.#hasRoom(session)) {
      const evicted = this.#evictable(session, nowMs);
      if (evicted === undefined) return undefined;
      this.#close(evicted);
      this.#evictedCount++;
    }
    this.#sessions.set(session.id, session);
    this.#byteLength += session.byteLength;
    return session;
  }

  /** Whether nothing else used the session since the request that `epoch` began. */
  isCurrent(session: FetchSession, requestEpoch: number): boolean {
    return session.epoch === epochAfter(requestEpoch);
  }

  #hasRoom(session: FetchSession): boolean {
    const { sessionsMax, bytesMax } = this.#limits;
    return this.#sessions.size < sessionsMax && this.#byteLength + session.byteLength <= bytesMax;
  }

  #evictable(coming: FetchSession, nowMs: number): FetchSession | undefined {
    if (coming.byteLength > this.#limits.bytesMax) return undefined;
    const [oldest] = this.#sessions.values();
    if (oldest === undefined || nowMs - oldest.usedMs > this.#limits.protectedMs) return oldest;
    let smallest: FetchSession | undefined;
    for (const session of this.#sessions.values()) {
      if (nowMs - session.createdMs <= this.#limits.protectedMs || session.size >= coming.size) continue;
      if (smallest === undefined || session.size < smallest.size) smallest = session;
    }
    return smallest;
  }

  #close(session: FetchSession | undefined): void {
    if (session !== undefined && this.#sessions.delete(session.id)) this.#byteLength -= session.byteLength;
  }

  #newId(): number {
    for (;;) {
      const id = 1 + this.#random.below(EPOCH_MAX);
      if (id !== NO_SESSION_ID && !this.#sessions.has(id)) return id;
    }
  }
}

function refused(errorCode: ErrorCode): FetchContext {
  return { kind: 'refused', errorCode };
}

function epochAfter(epoch: number): number {
  return epoch >= EPOCH_MAX ? 1 : epoch + 1;
}

function topicBytes({ topic }: FetchedTopic): number {
  return TOPIC_BYTES + 2 * topic.length;
}

/** In the order of the request; the last word on a partition that is named twice counts. */
function fetchedOf({ topics }: FetchRequest, namesById: boolean): FetchedPartition[] {
  const fetched: FetchedPartition[] = [];
  const places = new Map<string, Map<number, number>>();
  for (const topic of topics) {
    const key = namesById ? topic.topicId : topic.topic;
    const placesOfTopic = places.get(key) ?? new Map<number, number>();
    places.set(key, placesOfTopic);
    for (const request of topic.partitions) {
      const place = placesOfTopic.get(request.partition) ?? fetched.length;
      placesOfTopic.set(request.partition, place);
      fetched[place] = { topic, request };
    }
  }
  return fetched;
}
