// One fetch session (KIP-227): which partitions a client fetches, what it was last told of them, and which of them an
// answer may have something of. Those are the ones that are due: new, asked for anew, with records, with an error, or
// advanced since they were looked at. A partition that stands at its end and of which the client knows all is none of them:
// it says itself when it advances, so that a Fetch of a thousand partitions of which one has moved looks at that one.

import type { Partition, Visibility } from '../port.ts';
import { ERROR_CODES } from './error-codes.ts';
import type { FetchRequest, FetchResponse } from './messages/fetch.ts';
import { mayHaveMore } from './readable-end.ts';

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

/** What one partition takes in memory with its places in the session and among its partition's listeners, rounded up. */
const PARTITION_BYTES = 512;
const TOPIC_BYTES = 512;

/** A partition of a session. */
interface Remembered extends FetchedPartition {
  request: PartitionRequest;
  /** As the client was last told; −1 = not yet, or an error. */
  highWatermark: number;
  logStartOffset: number;
  /** Says when it advances, while somebody listens to it. */
  watched: Partition | undefined;
  stopWatching: (() => void) | undefined;
}

interface RememberedTopic extends FetchedTopic {
  knownAs: string | undefined;
  readonly partitions: Map<number, Remembered>;
}

/** Who waits for a session's partitions. */
export interface SessionListener {
  /** Called in the tick in which a partition advanced that is watched; it is due then. */
  onAdvance(fetched: FetchedPartition, partition: Partition): void;
  /** Another request goes on with the session, or it is over. */
  onEnd(): void;
}

export class FetchSession {
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
  #size = 0;
  /** In the order in which they are served: those that had records go to the end, so that none starves. */
  readonly #due = new Set<Remembered>();
  /** Its last reader's: partitions that are not due stand at that end. */
  #upTo: Visibility;
  #listener: SessionListener | undefined;
  #isClosed = false;

  constructor(id: number, namesById: boolean, client: string, upTo: Visibility, nowMs: number) {
    this.id = id;
    this.namesById = namesById;
    this.client = client;
    this.#upTo = upTo;
    this.createdMs = nowMs;
    this.usedMs = nowMs;
  }

  /** Its partitions. */
  get size(): number {
    return this.#size;
  }

  /** Those of which an answer may have something, in the order in which they are served. */
  due(upTo: Visibility): FetchedPartition[] {
    if (upTo !== this.#upTo) {
      this.#upTo = upTo;
      for (const { partitions } of this.#topics.values())
        for (const remembered of partitions.values()) this.#due.add(remembered);
    }
    return [...this.#due];
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
      this.#due.add(remembered);
      return;
    }
    const added: Remembered = {
      topic: known,
      request,
      highWatermark: -1,
      logStartOffset: -1,
      watched: undefined,
      stopWatching: undefined,
    };
    known.partitions.set(request.partition, added);
    this.#due.add(added);
    this.#size++;
    this.byteLength += PARTITION_BYTES;
  }

  forget(topic: FetchedTopic, partition: number): void {
    const known = this.#topics.get(this.#keyOf(topic));
    const remembered = known?.partitions.get(partition);
    if (known === undefined || remembered === undefined) return;
    stopWatching(remembered);
    known.partitions.delete(partition);
    this.#due.delete(remembered);
    this.#size--;
    this.byteLength -= PARTITION_BYTES;
    if (known.partitions.size > 0) return;
    this.#topics.delete(this.#keyOf(topic));
    this.byteLength -= topicBytes(topic);
  }

  /** Another request goes on with it: whoever waits is told that it has ended. */
  endWait(): void {
    this.#listen(undefined);
  }

  /** It is over: nothing is heard of its partitions any more. */
  close(): void {
    this.#isClosed = true;
    this.endWait();
    for (const { partitions } of this.#topics.values())
      for (const remembered of partitions.values()) stopWatching(remembered);
  }

  /**
   * Whether the client has to be told; if so, it is remembered that it was. Is due until there is nothing more to tell.
   * @param partition undefined = there is none
   */
  tell(
    { topic, request }: FetchedPartition,
    partition: Partition | undefined,
    answer: PartitionAnswer,
  ): boolean {
    const known = this.#topics.get(this.#keyOf(topic));
    const remembered = known?.partitions.get(request.partition);
    if (known === undefined || remembered === undefined) return true;
    known.knownAs ??= partition?.topic;
    const hasRecords = (answer.records?.length ?? 0) > 0;
    const isError = answer.errorCode !== ERROR_CODES.NONE;
    const logStartOffset = answer.logStartOffset ?? -1;
    const isNews =
      remembered.highWatermark !== answer.highWatermark || remembered.logStartOffset !== logStartOffset;
    // An invalid bound after an error: when the error goes away the client is told.
    remembered.highWatermark = isError ? -1 : answer.highWatermark;
    remembered.logStartOffset = logStartOffset;
    const isDivergent = answer.divergingEpoch !== undefined;
    if (hasRecords) {
      this.#due.delete(remembered);
      this.#due.add(remembered);
    } else if (!isError && !isDivergent && partition !== undefined) this.#rest(remembered, partition);
    return hasRecords || isError || isNews || isDivergent;
  }

  /** Hears of all partitions that are not due, and of those that it {@link watch}es. Returns its end. */
  listen(listener: SessionListener): () => void {
    this.#listen(listener);
    return () => {
      if (this.#listener === listener) this.#listener = undefined;
    };
  }

  /** To be called with what is due and is waited for. */
  watch({ topic, request }: FetchedPartition, partition: Partition): void {
    const remembered = this.#topics.get(this.#keyOf(topic))?.partitions.get(request.partition);
    if (remembered !== undefined) this.#watch(remembered, partition);
  }

  #listen(listener: SessionListener | undefined): void {
    const before = this.#listener;
    this.#listener = listener;
    before?.onEnd();
  }

  /** What was answered was its state of this very tick. */
  #rest(remembered: Remembered, partition: Partition): void {
    if (partition.deleted || mayHaveMore(partition, remembered.request.fetchOffset, this.#upTo)) return;
    this.#due.delete(remembered);
    this.#watch(remembered, partition);
  }

  #watch(remembered: Remembered, partition: Partition): void {
    if (this.#isClosed || remembered.watched === partition) return;
    stopWatching(remembered);
    remembered.watched = partition;
    remembered.stopWatching = partition.onAdvance(() => this.#advanced(remembered, partition));
  }

  #advanced(remembered: Remembered, partition: Partition): void {
    this.#due.add(remembered);
    // Once is enough to know until somebody asks: a client may have gone and left its session behind.
    if (this.#listener === undefined) stopWatching(remembered);
    else this.#listener.onAdvance(remembered, partition);
  }

  #keyOf({ topic, topicId }: FetchedTopic): string {
    return this.namesById ? topicId : topic;
  }
}

function stopWatching(remembered: Remembered): void {
  remembered.stopWatching?.();
  remembered.stopWatching = undefined;
  remembered.watched = undefined;
}

function topicBytes({ topic }: FetchedTopic): number {
  return TOPIC_BYTES + 2 * topic.length;
}
