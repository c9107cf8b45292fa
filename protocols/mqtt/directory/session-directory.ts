// Sessions that outlive their connections, for the admin API: lists from memory, what is kept of one from the log.
import type { SessionDetail, SessionDirectory, SessionView, SubscriptionView, Topics } from '../../port.ts';
import type { Context } from '../client.ts';
import type { Session } from '../session.ts';
import type { Place } from '../sessions/places.ts';
import { keyOf } from '../sessions/places.ts';
import { dismiss, expiryShown } from './client-directory.ts';
import { pageOfNames } from './name-page.ts';
import { liveSubscriptions, storedSubscriptions } from './subscription-directory.ts';

export function sessionDirectory(context: Context): SessionDirectory {
  const { clients, dispatchers, hub, sessions } = context;

  function viewOf(clientId: string): SessionView | undefined {
    const numbers = sessions.numbersOf(clientId);
    if (numbers === undefined) return undefined;
    const live = liveSession(context, clientId);
    return {
      clientId,
      connected: live !== undefined,
      expirySeconds: expiryShown(live?.durable?.expirySeconds ?? numbers.expirySeconds),
      expiresAtMs: live === undefined ? sessions.deadlineMs(clientId) : Number.POSITIVE_INFINITY,
      subscriptions: live?.subscriptions.size ?? numbers.subscriptionCount,
      inflight: live?.inflightCount ?? numbers.exchangeCount,
    };
  }

  async function read(clientId: string): Promise<SessionDetail | undefined> {
    const view = viewOf(clientId);
    if (view === undefined) return undefined;
    const live = liveSession(context, clientId);
    if (live !== undefined) {
      return detailOf(view, liveSubscriptions(live), dispatchers.cursorsOf(live), hub.topics);
    }
    const stored = await sessions.peek(clientId);
    if (stored === undefined) return undefined;
    return detailOf(view, storedSubscriptions(clientId, stored.subscriptions), stored.cursors, hub.topics);
  }

  return {
    get count() {
      return sessions.count;
    },
    ids: (query) => pageOfNames(sessions.clientIds(), query),
    get: viewOf,
    read,
    end: (clientId) =>
      sessions.terminate(clientId, () => {
        const client = clients.get(clientId);
        if (client !== undefined) dismiss(client);
      }),
  };
}

/** The session of a client that is connected, where it outlives the connection. */
export function liveSession({ clients }: Pick<Context, 'clients'>, clientId: string): Session | undefined {
  const session = clients.get(clientId)?.session;
  return session?.durable === undefined ? undefined : session;
}

function detailOf(
  view: SessionView,
  filters: readonly SubscriptionView[],
  cursors: readonly Place[],
  topics: Topics,
): SessionDetail {
  return { ...view, filters, cursors: filters.length === 0 ? [] : cursorsShown(cursors, topics) };
}

/** A partition that is not named is younger than what was written: all of it is still to come. */
function cursorsShown(cursors: readonly Place[], topics: Topics): SessionDetail['cursors'] {
  const offsets = new Map(cursors.map((place) => [keyOf(place), place.offset]));
  return topics
    .list()
    .filter(({ internal }) => !internal)
    .flatMap(({ name, partitions }) =>
      partitions.map((handle) => ({
        topic: name,
        partition: handle.partition,
        offset: offsets.get(keyOf(handle)) ?? handle.logStartOffset,
      })),
    );
}
