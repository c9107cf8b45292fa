// Packet identifiers on their way to one client, in the order in which they were sent first, and what each waits for.
import type { Awaited, StoredExchange } from './sessions/delivery-record.ts';

/** What the server waits for, per packet identifier on its way to the client. */
export const AWAIT = { PUBACK: 1, PUBREC: 2, PUBCOMP: 3 } as const;
export type Awaiting = (typeof AWAIT)[keyof typeof AWAIT];

/** The same as records say it. */
const STORED_NAME = { 1: 'puback', 2: 'pubrec', 3: 'pubcomp' } as const satisfies Record<Awaiting, Awaited>;
const AWAIT_OF = { puback: AWAIT.PUBACK, pubrec: AWAIT.PUBREC, pubcomp: AWAIT.PUBCOMP } as const;

export class Exchanges {
  readonly #awaiting = new Map<number, Awaiting>();
  #lastPacketId = 0;
  /** Of an earlier connection and not taken up in this one. */
  readonly #dormant = new Set<number>();

  get size(): number {
    return this.#awaiting.size;
  }

  /** Those that count towards the client's Receive Maximum. */
  get active(): number {
    return this.#awaiting.size - this.#dormant.size;
  }

  get lastPacketId(): number {
    return this.#lastPacketId;
  }

  get(packetId: number): Awaiting | undefined {
    return this.#awaiting.get(packetId);
  }

  /** The exchange goes on; it keeps its place. */
  set(packetId: number, awaited: Awaiting): void {
    this.#awaiting.set(packetId, awaited);
  }

  delete(packetId: number): void {
    this.#awaiting.delete(packetId);
    if (this.#dormant.size > 0) this.#dormant.delete(packetId);
  }

  /** The next packet identifier that is not on its way [MQTT-2.2.1-4]; there is one, for fewer than 65,535 are. */
  take(awaited: Awaiting): number {
    let packetId = this.#lastPacketId;
    do packetId = packetId === 65_535 ? 1 : packetId + 1;
    while (this.#awaiting.has(packetId));
    this.#lastPacketId = packetId;
    this.#awaiting.set(packetId, awaited);
    return packetId;
  }

  /** Before anything is sent: what an earlier connection has left on its way. */
  restore(exchanges: readonly StoredExchange[], lastPacketId: number): void {
    for (const { packetId, awaited } of exchanges) {
      this.#awaiting.set(packetId, AWAIT_OF[awaited]);
      this.#dormant.add(packetId);
    }
    this.#lastPacketId = lastPacketId;
  }

  /** Takes an exchange up in this connection. @returns what it waits for; undefined: it has ended meanwhile. */
  takeUp(packetId: number): Awaited | undefined {
    this.#dormant.delete(packetId);
    const awaited = this.#awaiting.get(packetId);
    return awaited && STORED_NAME[awaited];
  }

  *awaited(): Iterable<readonly [packetId: number, awaited: Awaited]> {
    for (const [packetId, awaited] of this.#awaiting) yield [packetId, STORED_NAME[awaited]];
  }
}
