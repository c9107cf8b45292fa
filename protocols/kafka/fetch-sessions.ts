// All fetch sessions (KIP-227): the hub remembers which partitions a client fetches and what it was last told of them, so
// that a request names what changed and an answer has what is new; what that means for one is in fetch-session.ts. Sessions
// belong to no connection; whoever has no place gets id 0 and goes on with full requests.
//
// Memory is bounded twice: by the number of sessions, as in Kafka, and by the bytes of all of them together. A new session
// takes the place of one unused for long, else of the smallest one that is smaller and not new. Of both bounds the clients
// of one address have a share: with more than that, a new session of theirs takes the place of another of theirs or none,
// so that nobody fills the cache, nor drives out by ever larger sessions what others have there.

import type { Clock, Random, Visibility } from '../port.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import { type FetchedPartition, FetchSession } from './fetch-session.ts';
import type { FetchRequest } from './messages/fetch.ts';

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

/** What a request turned out to ask for. */
export type FetchContext =
  | { readonly kind: 'refused'; readonly errorCode: ErrorCode }
  | { readonly kind: 'full'; readonly fetched: readonly FetchedPartition[]; readonly opensSession: boolean }
  | { readonly kind: 'incremental'; readonly session: FetchSession };

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
    session.endWait();
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
    return { kind: 'incremental', session };
  }

  /**
   * A session for what a full request asked for, or undefined when there is no room for it.
   * @param client its address
   * @param upTo what the request may see
   */
  open(
    fetched: readonly FetchedPartition[],
    namesById: boolean,
    client: string,
    upTo: Visibility,
  ): FetchSession | undefined {
    if (fetched.length === 0) return undefined;
    const nowMs = this.#clock.monotonic();
    const session = new FetchSession(this.#newId(), namesById, client, upTo, nowMs);
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

  /** Nothing is heard of partitions any more. */
  close(): void {
    for (const session of this.#sessions.values()) this.#close(session);
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
    if (session === undefined || !this.#sessions.delete(session.id)) return;
    session.close();
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
