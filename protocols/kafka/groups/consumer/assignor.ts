// What a server-side assignor is: a function from who is subscribed to what, and who has what now, to who should
// have what.

import type { Assignment } from './consumer-group.ts';

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
