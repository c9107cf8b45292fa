// The server-side assignors by name. An assignor is a function: who is subscribed to what, and who has what now, to
// who should have what.

import type { Assignment } from './consumer-group.ts';
import { assignRanges } from './range-assignor.ts';
import { assignUniformly } from './uniform-assignor.ts';

export interface SubscribedTopic {
  readonly topicId: string;
  readonly partitions: number;
}

export interface AssignedMember {
  readonly memberId: string;
  readonly instanceId: string | null;
  /** The same value for members with the same subscription. */
  readonly topics: readonly SubscribedTopic[];
  /** Its target until now: what an assignor that is sticky keeps. */
  readonly previous: Assignment;
}

export type Assignor = (members: readonly AssignedMember[]) => ReadonlyMap<string, Assignment>;

/** What is used while no member asks for one: Kafka's first of `group.consumer.assignors`. */
export const DEFAULT_ASSIGNOR = 'uniform';

export const ASSIGNORS: ReadonlyMap<string, Assignor> = new Map([
  ['uniform', assignUniformly],
  ['range', assignRanges],
]);
