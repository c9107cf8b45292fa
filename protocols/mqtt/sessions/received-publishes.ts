// QoS 2 publishes of one client that it has not released, by packet identifier, and where they lie in the log: the way to
// know them again after a crash.
import type { Partition } from '../../port.ts';
import type { Place } from './places.ts';
import { keyOf } from './places.ts';
import type { ReceivedPublish, StoredReceived } from './session-records.ts';

type Publish = Place & { isStored: boolean };

export class ReceivedPublishes {
  readonly #publishes = new Map<number, Publish>();
  /** One past the last publish of this session, in each partition that it publishes to. */
  readonly #next = new Map<string, Place>();

  constructor(stored: StoredReceived) {
    for (const publish of stored.publishes)
      this.#publishes.set(publish.packetId, { ...publish, isStored: true });
    for (const place of stored.known) this.#next.set(keyOf(place), place);
  }

  packetIds(): IterableIterator<number> {
    return this.#publishes.keys();
  }

  /** A publish is on its way to the log. */
  storing(packetId: number, { topicId, partition }: Partition, offset: number): void {
    this.#publishes.set(packetId, { topicId, partition, offset, isStored: false });
    const next = { topicId, partition, offset: offset + 1 };
    this.#next.set(keyOf(next), next);
  }

  stored(packetId: number): void {
    const publish = this.#publishes.get(packetId);
    if (publish !== undefined) publish.isStored = true;
  }

  /** The log did not take it: what stands there one day is another record. */
  refused(packetId: number): void {
    const publish = this.#publishes.get(packetId);
    if (publish === undefined) return;
    this.#publishes.delete(packetId);
    const next = this.#next.get(keyOf(publish));
    if (next !== undefined && next.offset > publish.offset) {
      this.#next.set(keyOf(publish), { ...next, offset: publish.offset });
    }
  }

  released(packetId: number): void {
    this.#publishes.delete(packetId);
  }

  /** Publishes that the log may yet refuse. */
  unsettled(): Place[] {
    return [...this.#publishes.values()].filter(({ isStored }) => !isStored);
  }

  /** @param searchedFrom where the search after a crash begins: what is known below it need not be said. */
  snapshot(searchedFrom: (place: Place) => number): StoredReceived {
    const known = new Map(this.#next);
    const publishes: ReceivedPublish[] = [];
    for (const [packetId, publish] of this.#publishes) {
      const { topicId, partition, offset } = publish;
      if (publish.isStored) {
        publishes.push({ packetId, topicId, partition, offset });
        continue;
      }
      // Whether it will be there is open: the search after a crash tells.
      const key = keyOf(publish);
      const next = known.get(key);
      if (next === undefined || next.offset > offset) known.set(key, { topicId, partition, offset });
    }
    for (const [key, place] of known) {
      const from = searchedFrom(place);
      if (place.offset <= from) known.delete(key);
      if (from === Number.POSITIVE_INFINITY) this.#next.delete(key);
    }
    return { known: [...known.values()], publishes };
  }
}
