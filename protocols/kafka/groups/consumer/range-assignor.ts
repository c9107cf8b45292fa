// `range`: each topic is cut into runs of partitions, one for each member that is subscribed to it, in the order of
// members. Topics with as many partitions and the same members are cut alike, so that partition n of one and of the
// other come to the same member, as joins of two topics need it.

import type { AssignedMember, SubscribedTopic } from './assignor.ts';
import type { Assignment } from './consumer-group.ts';

export function assignRanges(members: readonly AssignedMember[]): ReadonlyMap<string, Assignment> {
  const assigned = new Map(members.map(({ memberId }) => [memberId, new Map<string, readonly number[]>()]));
  for (const [topic, subscribers] of subscribersByTopic(members)) {
    const least = Math.floor(topic.partitions / subscribers.length);
    const withOneMore = topic.partitions % subscribers.length;
    let next = 0;
    for (const [index, { memberId }] of subscribers.entries()) {
      const count = least + (index < withOneMore ? 1 : 0);
      const first = next;
      if (count > 0)
        assigned.get(memberId)?.set(
          topic.topicId,
          Array.from({ length: count }, (_, place) => first + place),
        );
      next += count;
    }
  }
  return assigned;
}

/** Members of a topic in an order that lasts: a static member keeps its place when it comes back. */
function subscribersByTopic(members: readonly AssignedMember[]): Map<SubscribedTopic, AssignedMember[]> {
  const sorted = [...members].sort((one, other) => compare(placeOf(one), placeOf(other)));
  const topics = new Map<string, SubscribedTopic>();
  const subscribers = new Map<SubscribedTopic, AssignedMember[]>();
  for (const member of sorted) {
    for (const subscribed of member.topics) {
      const topic = topics.get(subscribed.topicId) ?? subscribed;
      topics.set(topic.topicId, topic);
      const list = subscribers.get(topic);
      if (list === undefined) subscribers.set(topic, [member]);
      else list.push(member);
    }
  }
  return subscribers;
}

function placeOf({ instanceId, memberId }: AssignedMember): string {
  return instanceId === null ? `1${memberId}` : `0${instanceId}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
