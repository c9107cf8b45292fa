// Who is subscribed to what, for the admin API: of clients that are connected from memory, of those that are away from
// their sessions' records, a bounded number of them a page.
import type {
  SubscriptionDirectory,
  SubscriptionKey,
  SubscriptionPage,
  SubscriptionView,
} from '../../port.ts';
import type { Context } from '../client.ts';
import type { Session } from '../session.ts';
import { matchesFilter } from '../session-subscription.ts';
import type { StoredSubscription } from '../sessions/subscription-record.ts';
import { SharedGroup } from '../share/share-group.ts';
import { isShared, SHARE_PREFIX, sharedFilterOf } from '../topic-filter.ts';
import { byCodeUnits, Smallest } from './name-page.ts';

/** Clients that a page looks at: of those that are away each costs a read of the log … */
const CLIENTS_MAX = 500;
/** … of which so many are under way at once. */
const READS_MAX = 16;
/** Behind every filter: no string of MQTT holds it. */
const LAST_FILTER = '\uffff';

export function subscriptionDirectory(context: Context): SubscriptionDirectory {
  const { clients, mappings, sessions, tree } = context;

  /** Of clients that are connected, those that get a topic's messages. */
  function liveMatches(topic: string): Map<string, SubscriptionView[]> {
    const found = new Map<string, SubscriptionView[]>();
    for (const subscription of tree.match(topic)) {
      const { subscriber } = subscription;
      const members = subscriber instanceof SharedGroup ? subscriber.members() : [subscriber];
      for (const session of members) {
        const own = subscriber === session ? subscription : session.subscriptions.get(subscriber.clientId);
        if (own === undefined) continue;
        const views = found.get(session.clientId) ?? [];
        views.push(subscriptionView(session.clientId, true, own));
        found.set(session.clientId, views);
      }
    }
    return found;
  }

  async function subscriptionsOf(
    clientId: string,
    topic: string | undefined,
    matches: ReadonlyMap<string, readonly SubscriptionView[]> | undefined,
  ): Promise<readonly SubscriptionView[]> {
    const session = clients.get(clientId)?.session;
    if (session !== undefined)
      return matches?.get(clientId) ?? (topic === undefined ? liveSubscriptions(session) : []);
    const stored = await sessions.peek(clientId);
    const all = storedSubscriptions(clientId, stored?.subscriptions ?? []);
    return topic === undefined ? all : all.filter(({ filter }) => matchesFilter(plainFilter(filter), topic));
  }

  async function find({
    topic,
    after,
    limit,
  }: Parameters<SubscriptionDirectory['find']>[0]): Promise<SubscriptionPage> {
    // A rule that keeps the topic from subscribers.
    if (topic !== undefined && mappings.ruleOf(topic)?.direction === 'in')
      return { items: [], next: undefined };
    const matches = topic === undefined ? undefined : liveMatches(topic);
    const candidates = new Smallest(CLIENTS_MAX + 1);
    const offer = (clientId: string): void => {
      if (after === undefined || clientId >= after.clientId) candidates.add(clientId);
    };
    for (const clientId of matches?.keys() ?? clients.keys()) offer(clientId);
    for (const clientId of sessions.clientIds()) if (!clients.has(clientId)) offer(clientId);
    const clientIds = candidates.sorted();
    const looked = clientIds.slice(0, CLIENTS_MAX);
    const items: SubscriptionView[] = [];
    for (let at = 0; at < looked.length; at += READS_MAX) {
      const some = looked.slice(at, at + READS_MAX);
      for (const views of await Promise.all(some.map((id) => subscriptionsOf(id, topic, matches)))) {
        const behind = views.filter(({ clientId, filter }) => isBehind({ clientId, filter }, after));
        items.push(...behind.sort((left, right) => byCodeUnits(left.filter, right.filter)));
      }
      if (items.length > limit) return { items: items.slice(0, limit), next: items[limit - 1] };
    }
    const last = looked.at(-1);
    const isAll = clientIds.length === looked.length || last === undefined;
    return { items, next: isAll ? undefined : { clientId: last, filter: LAST_FILTER } };
  }

  return { find };
}

function isBehind(key: SubscriptionKey, after: SubscriptionKey | undefined): boolean {
  return after === undefined || key.clientId !== after.clientId || key.filter > after.filter;
}

export function liveSubscriptions(session: Session): SubscriptionView[] {
  return [...session.subscriptions.values()].map((each) => subscriptionView(session.clientId, true, each));
}

export function storedSubscriptions(
  clientId: string,
  subscriptions: readonly StoredSubscription[],
): SubscriptionView[] {
  return subscriptions.map((each) => subscriptionView(clientId, false, each));
}

function subscriptionView(
  clientId: string,
  connected: boolean,
  { filter, qos, noLocal, retainAsPublished, identifier }: Omit<StoredSubscription, 'starts'>,
): SubscriptionView {
  const share = isShared(filter) ? filter.slice(SHARE_PREFIX.length).split('/', 1)[0] : undefined;
  return { clientId, connected, filter, qos, noLocal, retainAsPublished, identifier, share };
}

/** What topics are held against. */
function plainFilter(filter: string): string {
  return isShared(filter) ? sharedFilterOf(filter) : filter;
}
