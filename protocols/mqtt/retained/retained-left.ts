// What clients have not been sent yet of the retained messages of their filters when their connections end: it waits for them
// where it stood, as any message does that their sessions owe them (section 4.1). After a restart it is not known any more how
// far it was; then it begins anew, for the filters that their records name.
import type { RetainedRequest } from './retained-request.ts';
import type { TableScan } from './table-scan.ts';
import type { RetainedTopic, TopicWalk } from './topic-index.ts';

/** Clients that it is kept of; the oldest begin anew. */
const CLIENTS_MAX = 10_000;

/** A topic whose message was found and not sent; a newer version of it comes as any message does. */
export interface UnsentTopic {
  readonly topic: RetainedTopic;
  readonly version: number;
}

/** One filter, and how far it is. */
export interface RetainedWork {
  readonly request: RetainedRequest;
  /** Undefined before it has begun. */
  place: TopicWalk | TableScan | undefined;
  /** Of the index when it began. */
  version: number;
  /** Without what they say, which may be much: those of a client that is away lie here as long as it is. */
  unsent: readonly UnsentTopic[];
}

export class RetainedLeft {
  readonly #byClient = new Map<string, Promise<readonly RetainedWork[]>>();

  /** @param work resolves when its connection does nothing about it any more */
  keep(clientId: string, work: Promise<readonly RetainedWork[]>): void {
    this.#byClient.delete(clientId);
    this.#byClient.set(clientId, work);
    for (const oldest of this.#byClient.keys()) {
      if (this.#byClient.size <= CLIENTS_MAX) break;
      this.#byClient.delete(oldest);
    }
    void work.then((left) => {
      if (left.length === 0 && this.#byClient.get(clientId) === work) this.#byClient.delete(clientId);
    });
  }

  take(clientId: string): Promise<readonly RetainedWork[]> | undefined {
    const work = this.#byClient.get(clientId);
    this.#byClient.delete(clientId);
    return work;
  }

  get size(): number {
    return this.#byClient.size;
  }
}
