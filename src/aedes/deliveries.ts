// Messages on their way to listeners, under numbers in the order in which they go. aedes passes over a message whose number is
// not above that of the one before, of the same broker; and numbers of its own are given before it waits for the disk, after
// which another may be the first. The number that a message had is remembered until its listeners are done: by it the
// queues know the message.
import { randomUUID } from 'node:crypto';
import type { AedesPacket } from './packets.ts';

/** By what aedes knows a message. */
export interface Origin {
  readonly brokerId: string | undefined;
  readonly brokerCounter: number | undefined;
}

export class Deliveries {
  readonly #id = `polylog-${randomUUID()}`;
  #last = 0;
  readonly #origins = new Map<number, Origin>();

  /** The message as listeners get it; what has no number of aedes' stays as it is. */
  begin<Message extends { readonly [field: string]: unknown }>(message: Message): Message {
    const { brokerId, brokerCounter } = message;
    if (typeof brokerCounter !== 'number') return message;
    const number = ++this.#last;
    this.#origins.set(number, {
      brokerId: typeof brokerId === 'string' ? brokerId : undefined,
      brokerCounter,
    });
    return { ...message, brokerId: this.#id, brokerCounter: number };
  }

  /** Its listeners are done. */
  end({ brokerId, brokerCounter }: { readonly [field: string]: unknown }): void {
    if (brokerId === this.#id && typeof brokerCounter === 'number') this.#origins.delete(brokerCounter);
  }

  /** What the message was before. */
  originOf(packet: AedesPacket): Origin {
    const { brokerId, brokerCounter = -1 } = packet;
    return (
      (brokerId === this.#id ? this.#origins.get(brokerCounter) : undefined) ?? { brokerId, brokerCounter }
    );
  }
}
