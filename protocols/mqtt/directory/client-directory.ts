// Clients that are connected, for the admin API.
import type { ClientDirectory, ClientView, SubscriptionView } from '../../port.ts';
import type { Client, Context } from '../client.ts';
import { MqttError } from '../errors.ts';
import type { Version } from '../packets/publish.ts';
import { REASON } from '../reason-codes.ts';
import type { Session } from '../session.ts';
import { NEVER_EXPIRES } from '../sessions/session-records.ts';
import { pageOfNames } from './name-page.ts';
import { liveSubscriptions } from './subscription-directory.ts';

export const VERSION_NAMES: Readonly<Record<Version, string>> = { 3: '3.1', 4: '3.1.1', 5: '5' };

export function clientDirectory({ clients, sessions }: Context): ClientDirectory {
  return {
    get count() {
      return clients.size;
    },
    ids: (query) => pageOfNames(clients.keys(), query),
    get(clientId): ClientView | undefined {
      const client = clients.get(clientId);
      return client?.session === undefined ? undefined : viewOf(client, client.session);
    },
    subscriptions(clientId): readonly SubscriptionView[] {
      const session = clients.get(clientId)?.session;
      return session === undefined ? [] : liveSubscriptions(session);
    },
    async disconnect(clientId): Promise<boolean> {
      const client = clients.get(clientId);
      if (client === undefined) return false;
      dismiss(client);
      await sessions.settled(clientId);
      return true;
    },
  };
}

/** Section 3.14.2.1: 0x98 says that an operator did it. Below version 5 the connection just ends. */
export function dismiss(client: Client): void {
  client.fail(
    new MqttError(
      'administrative-action',
      REASON.ADMINISTRATIVE_ACTION,
      'An operator has ended the connection',
    ),
  );
}

function viewOf({ listener, remoteAddress, output }: Client, session: Session): ClientView {
  const { clientId, version, opening, durable, lag } = session;
  return {
    clientId,
    listener,
    remoteAddress,
    protocolVersion: VERSION_NAMES[version],
    connectedAtMs: opening?.atMs ?? 0,
    keepaliveSeconds: opening?.keepAliveSeconds ?? 0,
    cleanStart: opening?.clean ?? true,
    expirySeconds: expiryShown(durable?.expirySeconds ?? 0),
    subscriptions: session.subscriptions.size,
    inflight: session.inflightCount,
    partitionsBehind: lag?.behind().length ?? 0,
    pendingBytes: output.pendingBytes + (durable?.heldBytes ?? 0),
  };
}

/** In seconds; the protocol's largest number says that it is for ever (section 3.1.2.11.2). */
export function expiryShown(seconds: number): number {
  return seconds >= NEVER_EXPIRES ? Number.POSITIVE_INFINITY : seconds;
}
