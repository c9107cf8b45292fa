// What routes of clients, sessions and messages have in common.
import * as z from 'zod';
import type {
  MessagingDirectory,
  NamePage,
  NameQuery,
  Principal,
  SubscriptionView,
} from '../../protocols/port.ts';
import { requireAccess } from './access.ts';
import { AdminError } from './errors.ts';
import { cursorBehind, nameQuery, type Page, type PageQuery } from './paging.ts';
import { count } from './shapes.ts';
import type { AdminTarget } from './target.ts';

/** @throws AdminError when no listener has such clients, or the caller may not look at what they do. */
export function messagingFor(
  { hub, messaging }: AdminTarget,
  principal: Principal,
  operation: 'describe' | 'alter',
): MessagingDirectory {
  requireAccess(hub.access, principal, operation, 'cluster', hub.cluster.clusterId);
  if (messaging !== undefined) return messaging;
  throw new AdminError('not_found', 'no listener of this hub speaks MQTT', {
    hint: 'a [[listener]] with protocol = "mqtt"',
  });
}

/** The protocol's own limit, with room for what percent-encoding makes of it. */
export const clientParams = z.strictObject({
  client: z.string().max(65_535).meta({ description: 'The client identifier, percent-encoded.' }),
});

export const subscriptionShape = z
  .strictObject({
    clientId: z.string(),
    connected: z.boolean(),
    filter: z.string(),
    qos: z.int().min(0).max(2),
    noLocal: z.boolean(),
    retainAsPublished: z.boolean(),
    identifier: count.nullable().meta({ description: 'Subscription identifier; null = none.' }),
    share: z.string().nullable().meta({ description: 'Name of the group, of a shared subscription.' }),
  })
  .meta({
    id: 'MqttSubscription',
    description: 'A subscription.',
    examples: [
      {
        clientId: 'boiler-7',
        connected: true,
        filter: 'plant/7/#',
        qos: 1,
        noLocal: false,
        retainAsPublished: false,
        identifier: null,
        share: null,
      },
    ],
  });

export function subscriptionItem(view: SubscriptionView): z.output<typeof subscriptionShape> {
  const { clientId, connected, filter, qos, noLocal, retainAsPublished, identifier, share } = view;
  return {
    ...{ clientId, connected, filter, qos, noLocal, retainAsPublished },
    identifier: identifier === 0 ? null : identifier,
    share: share ?? null,
  };
}

/** JSON has no infinity. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

interface Directory<View> {
  ids(query: NameQuery): NamePage;
  get(clientId: string): View | undefined;
}

/** A page of clients or sessions: only those that are shown are made a view of. One that goes meanwhile is left out. */
export function pageOfViews<View, Item>(
  directory: Directory<View>,
  query: PageQuery,
  itemOf: (view: View) => Item,
): Page<Item> {
  const page = directory.ids(nameQuery(query));
  const views = page.names.flatMap((clientId) => directory.get(clientId) ?? []);
  return { items: views.map(itemOf), next: cursorBehind(page) };
}
