// Subscriptions as earlier versions have written them. They are written anew before anything changes: side by side, one that
// was given up since would come back with the list it was in, once compaction has forgotten that it was given up.
import type { StateRecord } from '../../protocols/port.ts';
import { type AedesSubscription, readClientKey, subscriptionKey, subscriptionText } from './state-records.ts';

export interface RewrittenRecord {
  readonly clientId: string;
  /** What takes its place, and its end: they belong in one batch. */
  readonly records: readonly StateRecord[];
}

export class EarlierSubscriptions {
  /** By their keys. */
  readonly #values = new Map<string, Buffer>();

  apply(key: Buffer, value: Buffer | null): void {
    const name = key.toString('latin1');
    // A key that is there keeps its place.
    this.#values.delete(name);
    if (value !== null) this.#values.set(name, value);
  }

  /** In the order in which they were written last, so that of two for one filter the later one counts. */
  rewritten(): readonly RewrittenRecord[] {
    return [...this.#values].map(([name, value]) => {
      const key = Buffer.from(name, 'latin1');
      const { clientId } = readClientKey(key);
      // What those versions have written: one, or a list.
      const stored = JSON.parse(value.toString('utf8')) as AedesSubscription | readonly AedesSubscription[];
      const subscriptions = [stored].flat();
      const records = subscriptions.map((each) => ({
        key: subscriptionKey(clientId, each.topic),
        value: Buffer.from(subscriptionText(each)),
      }));
      return { clientId, records: [...records, { key, value: null }] };
    });
  }
}
