// Packet identifiers on their way to one client, what each waits for, and the order in which they were sent first. A table of
// numbers that is used again and again: a Map would make garbage with each message that is sent and acknowledged.
import type { Awaited, StoredExchange } from './sessions/delivery-record.ts';

/** What the server waits for, per packet identifier on its way to the client. */
export const AWAIT = { PUBACK: 1, PUBREC: 2, PUBCOMP: 3 } as const;
export type Awaiting = (typeof AWAIT)[keyof typeof AWAIT];

/** The same as records say it. */
const STORED_NAME = { 1: 'puback', 2: 'pubrec', 3: 'pubcomp' } as const satisfies Record<Awaiting, Awaited>;
const AWAIT_OF = { puback: AWAIT.PUBACK, pubrec: AWAIT.PUBREC, pubcomp: AWAIT.PUBCOMP } as const;

/** Slots, a power of two. */
const SLOTS_MIN = 16;
/** A table that has been larger than this is let go of when it is empty. */
const SLOTS_KEPT_MAX = 4096;

export class Exchanges {
  /** Open addressing, at most half full: an identifier lies in its home, or behind it. 0 = free. */
  #ids = new Uint16Array(0);
  #awaiting = new Uint8Array(0);
  /** Ascending in the order of first sending. */
  #sentAs = new Float64Array(0);
  #homeShift = 32;
  #size = 0;
  #sent = 0;
  #lastPacketId = 0;
  /** Of an earlier connection and not taken up in this one. */
  readonly #dormant = new Set<number>();

  get size(): number {
    return this.#size;
  }

  /** Those that count towards the client's Receive Maximum. */
  get active(): number {
    return this.#size - this.#dormant.size;
  }

  get lastPacketId(): number {
    return this.#lastPacketId;
  }

  get(packetId: number): Awaiting | undefined {
    const slot = this.#slotOf(packetId);
    return slot < 0 ? undefined : (this.#awaiting[slot] as Awaiting); // set by `set` and `take` alone
  }

  /** The exchange goes on; it keeps its place. */
  set(packetId: number, awaited: Awaiting): void {
    const slot = this.#slotOf(packetId);
    if (slot < 0) this.#add(packetId, awaited);
    else this.#awaiting[slot] = awaited;
  }

  delete(packetId: number): void {
    const slot = this.#slotOf(packetId);
    if (slot >= 0) this.#remove(slot);
    if (this.#dormant.size > 0) this.#dormant.delete(packetId);
  }

  /** The next packet identifier that is not on its way [MQTT-2.2.1-4]; there is one, for fewer than 65,535 are. */
  take(awaited: Awaiting): number {
    let packetId = this.#lastPacketId;
    do packetId = packetId === 65_535 ? 1 : packetId + 1;
    while (this.#slotOf(packetId) >= 0);
    this.#lastPacketId = packetId;
    this.#add(packetId, awaited);
    return packetId;
  }

  /** Before anything is sent: what an earlier connection has left on its way. */
  restore(exchanges: readonly StoredExchange[], lastPacketId: number): void {
    for (const { packetId, awaited } of exchanges) {
      this.set(packetId, AWAIT_OF[awaited]);
      this.#dormant.add(packetId);
    }
    this.#lastPacketId = lastPacketId;
  }

  /** Takes an exchange up in this connection. @returns what it waits for; undefined: it has ended meanwhile. */
  takeUp(packetId: number): Awaited | undefined {
    this.#dormant.delete(packetId);
    const awaited = this.get(packetId);
    return awaited && STORED_NAME[awaited];
  }

  /** In the order of first sending. */
  awaited(): (readonly [packetId: number, awaited: Awaited])[] {
    const slots: number[] = [];
    for (let slot = 0; slot < this.#ids.length; slot++) if (this.#ids[slot] !== 0) slots.push(slot);
    slots.sort((left, right) => this.#sentAs[left]! - this.#sentAs[right]!);
    return slots.map((slot) => [this.#ids[slot]!, STORED_NAME[this.#awaiting[slot] as Awaiting]] as const); // as in `get`
  }

  /** −1 = it is not there. */
  #slotOf(packetId: number): number {
    const ids = this.#ids;
    const mask = ids.length - 1;
    if (mask < 0) return -1;
    let slot = this.#homeOf(packetId);
    for (let id = ids[slot]; id !== 0; id = ids[slot]) {
      if (id === packetId) return slot;
      slot = (slot + 1) & mask;
    }
    return -1;
  }

  /** Identifiers that follow each other lie apart (Knuth's multiplicative hashing): a long run would be searched to its end. */
  #homeOf(packetId: number): number {
    return Math.imul(packetId, 0x9e3779b1) >>> this.#homeShift;
  }

  #add(packetId: number, awaited: Awaiting): void {
    if ((this.#size + 1) * 2 > this.#ids.length) this.#grow();
    this.#size++;
    this.#place(packetId, awaited, this.#sent++);
  }

  #place(packetId: number, awaited: number, sentAs: number): void {
    const ids = this.#ids;
    const mask = ids.length - 1;
    let slot = this.#homeOf(packetId);
    while (ids[slot] !== 0) slot = (slot + 1) & mask;
    ids[slot] = packetId;
    this.#awaiting[slot] = awaited;
    this.#sentAs[slot] = sentAs;
  }

  /** What lies behind a slot that becomes free moves up, so that nothing is looked for past a gap. */
  #remove(slot: number): void {
    const ids = this.#ids;
    const mask = ids.length - 1;
    let free = slot;
    for (let next = (slot + 1) & mask; ids[next] !== 0; next = (next + 1) & mask) {
      const home = this.#homeOf(ids[next]!);
      if (((next - home) & mask) < ((next - free) & mask)) continue;
      ids[free] = ids[next]!;
      this.#awaiting[free] = this.#awaiting[next]!;
      this.#sentAs[free] = this.#sentAs[next]!;
      free = next;
    }
    ids[free] = 0;
    this.#size--;
    if (this.#size === 0 && ids.length > SLOTS_KEPT_MAX) this.#resize(0);
  }

  #grow(): void {
    const ids = this.#ids;
    const awaiting = this.#awaiting;
    const sentAs = this.#sentAs;
    this.#resize(Math.max(SLOTS_MIN, ids.length * 2));
    for (let slot = 0; slot < ids.length; slot++) {
      if (ids[slot] !== 0) this.#place(ids[slot]!, awaiting[slot]!, sentAs[slot]!);
    }
  }

  /** Empty. */
  #resize(slots: number): void {
    this.#ids = new Uint16Array(slots);
    this.#awaiting = new Uint8Array(slots);
    this.#sentAs = new Float64Array(slots);
    this.#homeShift = Math.clz32(slots - 1);
  }
}
