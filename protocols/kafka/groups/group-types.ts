// What groups are called on the wire: Kafka's names of their types and states, and how a filter of ListGroups
// (KIP-518, KIP-848) reads them: without regard to case.

import type { ConsumerGroupState } from './consumer/consumer-group.ts';
import type { GroupState } from './group.ts';

export type GroupType = 'classic' | 'consumer';

export const CLASSIC_STATE_NAMES: Readonly<Record<GroupState, string>> = {
  empty: 'Empty',
  'preparing-rebalance': 'PreparingRebalance',
  'completing-rebalance': 'CompletingRebalance',
  stable: 'Stable',
  dead: 'Dead',
};

export const CONSUMER_STATE_NAMES: Readonly<Record<ConsumerGroupState, string>> = {
  empty: 'Empty',
  assigning: 'Assigning',
  reconciling: 'Reconciling',
  stable: 'Stable',
};

/** The protocol type of consumers, whichever of the two protocols they speak. */
export const CONSUMER_PROTOCOL_TYPE = 'consumer';

/** An empty filter lets everything through. */
export function filterOf(names: readonly string[]): (name: string) => boolean {
  if (names.length === 0) return () => true;
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  return (name) => wanted.has(name.toLowerCase());
}
