// Wills (section 3.1.2.5): published when a connection ends and its client has not said goodbye; where a Will Delay Interval
// says so, when that has passed and nobody has come back, or when the session ends, whatever is first (section 3.1.3.2.2).
// Of those that wait sessions/sessions.ts decides when it is; here they are published.
import type { Principal } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Author, DirectTarget } from './direct-publish.ts';
import { publishDirectly } from './direct-publish.ts';
import type { Hooks } from './hooks.ts';
import type { WillPacket } from './packets/connect.ts';
import { MessageProperties } from './packets/message-properties.ts';
import { PLACE } from './packets/properties.ts';
import { isFailure, REASON, REFUSAL_REASON } from './reason-codes.ts';
import type { Session } from './session.ts';
import type { StoredWill } from './sessions/session-records.ts';

export interface WillTarget extends DirectTarget {
  readonly counters: MqttCounters;
  readonly hooks: Hooks;
}

/** A client that is not connected is still who it was. */
export function absentAuthor(clientId: string, { principal = NOBODY }: StoredWill): Author {
  return { clientId, principal };
}

/** Records of before wills said whose they are. */
const NOBODY: Principal = { name: 'ANONYMOUS', listener: '', remoteAddress: '' };

/** A will that was stored with its session. */
export function willPacketOf({ topic, payload, qos, retain, properties: bytes }: StoredWill): WillPacket {
  const properties = new MessageProperties();
  properties.read(bytes, 0, bytes.length, PLACE.WILL);
  return { topic, payload, qos, retain, bytes, properties };
}

/** The wills that are on their way to the log: nobody else waits for them. */
export class Wills {
  readonly #target: WillTarget;
  readonly #underWay = new Set<Promise<void>>();

  constructor(target: WillTarget) {
    this.#target = target;
  }

  /**
   * Publishes now what does not wait; what does, comes later by what is written of the session.
   * @param will undefined = there is none, or the client said goodbye
   */
  connectionEnded(session: Session, will: WillPacket | undefined): Promise<void> | undefined {
    const { durable } = session;
    const delaySeconds = Math.min(will?.properties.willDelaySeconds ?? 0, durable?.expirySeconds ?? 0);
    if (will !== undefined && delaySeconds > 0) return undefined;
    if (durable !== undefined) durable.will = undefined;
    return will && this.publish(session, will);
  }

  /** Resolves when the log has it, or never will. Never rejects. */
  publish(author: Author, will: WillPacket): Promise<void> {
    const { hub, counters } = this.#target;
    const lost = (why: object) => {
      counters.publishesRefused++;
      hub.log.warn('mqtt-will-refused', { clientId: author.clientId, ...why });
    };
    const work = publishWill(this.#target, author, will)
      .then(
        (reasonCode) => {
          if (isFailure(reasonCode)) lost({ reasonCode });
        },
        (error: unknown) => lost({ error }),
      )
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
    return work;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}

/** @returns why it was not stored, as a reason code; SUCCESS when it was. */
async function publishWill(target: WillTarget, author: Author, will: WillPacket): Promise<number> {
  const { topic, qos, retain } = will;
  const verdict = target.hooks.authorizePublish?.({ ...author, ...author.principal }, { topic, qos, retain });
  if (verdict !== undefined) return verdict;
  const direct = await publishDirectly(target, author, will);
  if (direct.reasonCode !== undefined) return direct.reasonCode;
  const stored = await direct.stored;
  return stored.refused === undefined ? REASON.SUCCESS : REFUSAL_REASON[stored.refused];
}
