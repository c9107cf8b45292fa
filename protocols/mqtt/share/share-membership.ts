// The shared subscriptions of one connected client: in which groups it is, and which of the messages on their way to it are
// a group's, to be sent to another when it goes.
import type { Place } from '../sessions/places.ts';

/** The group's side of it; see share-group.ts. */
export interface LendingGroup {
  memberHasRoom(): void;
  acknowledged(): void;
}

export interface Lease {
  readonly group: LendingGroup;
  readonly place: Place;
}

export class SharedMembership {
  readonly groups = new Map<string, LendingGroup>();
  /** By packet identifier: messages at QoS 1 that the client has not acknowledged. */
  readonly leases = new Map<number, Lease>();
  readonly #onLeft: (membership: SharedMembership) => void;

  /** @param onLeft the client is gone, with leases that are still to be given to others. */
  constructor(onLeft: (membership: SharedMembership) => void) {
    this.#onLeft = onLeft;
  }

  /** The exchange of a packet identifier has ended, however it did [MQTT-4.8.2-6]. */
  freed(packetId: number): void {
    const lease = this.leases.get(packetId);
    if (lease === undefined) return;
    this.leases.delete(packetId);
    lease.group.acknowledged();
  }

  roomMade(): void {
    for (const group of this.groups.values()) group.memberHasRoom();
  }

  left(): void {
    this.#onLeft(this);
  }

  /** Takes back what a group has lent. */
  takeBack(group: LendingGroup): Place[] {
    const places: Place[] = [];
    for (const [packetId, lease] of this.leases) {
      if (lease.group !== group) continue;
      this.leases.delete(packetId);
      places.push(lease.place);
    }
    return places;
  }
}
