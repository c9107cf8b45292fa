// Fetch sessions (KIP-227): the hub remembers which partitions a client fetches and what it was last told of them, so
// that a request names what changed and an answer has what is new. Sessions belong to no connection; whoever has no
// place gets id 0 and goes on with full requests.
//
// Memory is bounded twice: by the number of sessions, as in Kafka, and by the bytes of all of them together. A new session
// takes the place of one unused for long, else of the smallest one that is smaller and not new. Of both bounds the clients
// of one address have a share: with more than that, a new session of theirs takes the place of another of theirs or none,
// so that nobody fills the cache, nor drives out by ever larger sessions what others have there.

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
  /** Of both, what sessions that clients of one address opened may take; 0 to 1. */
  readonly clientShare: number;
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
  /** The address of the client that opened it. */
  readonly client: string;
  readonly createdMs: number;
  /** Of the next request. */
  epoch = 1;
  usedMs: number;
  byteLength = 0;
  readonly #topics = new Map<string, RememberedTopic>();
  /** In the order in which they are served: those that had records go to the end, so that none starves. */
  readonly #order = new Set<Remembered>();

  constructor(id: number, namesById: boolean, client: string, nowMs: number) {
    this.id = id;
    this.namesById = namesById;
    this.client = client;
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

interface Taken {
  sessions: number;
  byteLength: number;
}

type Room = Pick<FetchSessionLimits, 'sessionsMax' | 'bytesMax'>;

const NOTHING: Readonly<Taken> = { sessions: 0, byteLength: 0 };

function hasRoom(taken: Readonly<Taken>, session: FetchSession, { sessionsMax, bytesMax }: Room): boolean {
  return taken.sessions < sessionsMax && taken.byteLength + session.byteLength <= bytesMax;
}

export class FetchSessions {
  readonly #limits: FetchSessionLimits;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The least recently used first. */
  readonly #sessions = new Map<number, FetchSession>();
  readonly #taken: Taken = { sessions: 0, byteLength: 0 };
  /** By address; those that have sessions. */
  readonly #takenBy = new Map<string, Taken>();
  #evictedCount = 0;

  constructor(limits: FetchSessionLimits, clock: Clock, random: Random) {
    this.#limits = limits;
    this.#clock = clock;
    this.#random = random;
  }

  /** Of one address; the limits may change. */
  get #ownLimits(): Room {
    const { sessionsMax, bytesMax, clientShare } = this.#limits;
    return {
      sessionsMax: Math.ceil(sessionsMax * clientShare),
      bytesMax: Math.ceil(bytesMax * clientShare),
    };
  }

  /** How many there are, what they take, and how many had to give way so far. */
  get counts(): { readonly sessions: number; readonly byteLength: number; readonly evicted: number } {
    return { ...this.#taken, evicted: this.#evictedCount };
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
    this.#count(session, 0, session.byteLength - bytesBefore);
    if (session.size === 0) {
      this.#close(session);
      return { kind: 'full', fetched: fetchedOf(request, session.namesById), opensSession: false };
    }
    const own = this.#takenBy.get(session.client) ?? NOTHING;
    if (own.byteLength > this.#ownLimits.bytesMax || this.#taken.byteLength > this.#limits.bytesMax) {
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

  /**
   * A session for what a full request asked for, or undefined when there is no room for it.
   * @param client its address
   */
  open(fetched: readonly FetchedPartition[], namesById: boolean, client: string): FetchSession | undefined {
    if (fetched.length === 0) return undefined;
    const nowMs = this.#clock.monotonic();
    const session = new FetchSession(this.#newId(), namesById, client, nowMs);
    for (const each of fetched) session.fetch(each);
    for (;;) {
      const isOwnFull = !hasRoom(this.#takenBy.get(client) ?? NOTHING, session, this.#ownLimits);
      if (!isOwnFull && hasRoom(this.#taken, session, this.#limits)) break;
      const evicted = this.#evictable(session, nowMs, isOwnFull);
      if (evicted === undefined) return undefined;
      this.#close(evicted);
      this.#evictedCount++;
    }
    this.#sessions.set(session.id, session);
    this.#count(session, 1, session.byteLength);
    return session;
  }

  /** Whether nothing else used the session since the request that `epoch` began. */
  isCurrent(session: FetchSession, requestEpoch: number): boolean {
    return session.epoch === epochAfter(requestEpoch);
  }

  /** @param isOwn whether it has to be one of the same address. */
  #evictable(coming: FetchSession, nowMs: number, isOwn: boolean): FetchSession | undefined {
    if (coming.byteLength > this.#ownLimits.bytesMax) return undefined;
    let smallest: FetchSession | undefined;
    for (const session of this.#sessions.values()) {
      if (isOwn && session.client !== coming.client) continue;
      if (nowMs - session.usedMs > this.#limits.protectedMs) return session;
      if (nowMs - session.createdMs <= this.#limits.protectedMs || session.size >= coming.size) continue;
      if (smallest === undefined || session.size < smallest.size) smallest = session;
    }
    return smallest;
  }

  #close(session: FetchSession | undefined): void {
    if (session !== undefined && this.#sessions.delete(session.id))
      this.#count(session, -1, -session.byteLength);
  }

  #count({ client }: FetchSession, sessions: number, bytes: number): void {
    const own = this.#takenBy.get(client) ?? { sessions: 0, byteLength: 0 };
    for (const taken of [this.#taken, own]) {
      taken.sessions += sessions;
      taken.byteLength += bytes;
    }
    if (own.sessions > 0) this.#takenBy.set(client, own);
    else this.#takenBy.delete(client);
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
