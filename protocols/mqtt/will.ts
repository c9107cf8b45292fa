// Wills (section 3.1.2.5): published when a connection ends and its client has not said goodbye; where a Will Delay Interval
// says so, when that has passed and nobody has come back, or when the session ends, whatever is first (section 3.1.3.2.2).
// Which of them it is, sessions/sessions.ts decides; here it is published.
import type { Hub, Partition, Principal } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Hooks } from './hooks.ts';
import type { WillPacket } from './packets/connect.ts';
import { MessageProperties } from './packets/message-properties.ts';
import { PLACE } from './packets/properties.ts';
import { isFailure, REASON, REFUSAL_REASON } from './reason-codes.ts';
import { RecordFill } from './record-fill.ts';
import { encodeAttributes } from './record-mapping.ts';
import type { RetainedMessages } from './retained/retained-messages.ts';
import type { Route, Routes } from './routes.ts';
import type { StoredWill } from './sessions/session-records.ts';

/** Whose will it is. */
export interface WillAuthor {
  readonly clientId: string;
  readonly principal: Principal;
}

export interface WillTarget {
  readonly hub: Hub;
  readonly routes: Routes;
  readonly retained: RetainedMessages;
  readonly counters: MqttCounters;
  readonly hooks: Hooks;
}

/** A client that is not connected: what it was allowed was asked when it was. */
export function absentAuthor(clientId: string): WillAuthor {
  return { clientId, principal: { name: 'ANONYMOUS', listener: '', remoteAddress: '' } };
}

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

  /** Resolves when the log has it, or never will. Never rejects. */
  publish(author: WillAuthor, will: WillPacket): Promise<void> {
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
async function publishWill(
  { hub, routes, retained, hooks }: WillTarget,
  author: WillAuthor,
  will: WillPacket,
): Promise<number> {
  const topic = Buffer.from(will.topic);
  const found = routes.find(topic, 0, topic.length);
  const route = found.namesClient ? found.ofClient(new Map(), author.clientId) : found;
  if (isFailure(route.refusal)) return route.refusal;
  if (!hub.access.allows(author.principal, 'write', 'topic', route.kafkaTopic)) return REASON.NOT_AUTHORIZED;
  const { topic: name, qos, retain } = will;
  const verdict = hooks.authorizePublish?.({ ...author, ...author.principal }, { topic: name, qos, retain });
  if (verdict !== undefined) return verdict;
  const partition = await partitionOf(hub, route, author);
  if (typeof partition === 'number') return partition;
  if (will.bytes.length + will.payload.length > route.messageBytesMax) return REFUSAL_REASON['too-large'];
  const { fill } = fillOf(hub, author, will, route);
  const isRetained = will.retain && !route.ignoresRetain;
  if (isRetained) {
    const refusal = retained.refusalOf(
      will.topic,
      will.bytes.length + will.payload.length,
      will.payload.length === 0,
    );
    if (isFailure(refusal)) return refusal;
  }
  const published = await (isRetained
    ? retained.append(will.topic, partition, fill).stored
    : hub.publish(partition, fill));
  return published.refused === undefined ? REASON.SUCCESS : REFUSAL_REASON[published.refused];
}

async function partitionOf(hub: Hub, route: Route, author: WillAuthor): Promise<Partition | number> {
  const existing = route.partition();
  if (existing) return existing;
  if (!hub.access.allows(author.principal, 'create', 'topic', route.kafkaTopic)) return REASON.NOT_AUTHORIZED;
  const made = await hub.topics.ensure(route.kafkaTopic);
  if ('error' in made) return REFUSAL_REASON[made.error];
  return route.partition() ?? REFUSAL_REASON['unknown-topic'];
}

function fillOf(hub: Hub, author: WillAuthor, will: WillPacket, route: Route): RecordFill {
  const record = new RecordFill();
  record.key = route.recordKey;
  record.timestampMs = hub.clock.now();
  record.payload = will.payload;
  record.payloadStart = 0;
  record.payloadEnd = will.payload.length;
  record.properties = will.properties;
  record.propertyBytes = will.bytes;
  record.attributes = encodeAttributes(
    {
      topic: route.key,
      clientId: Buffer.from(author.clientId),
      // A will has no packet identifier: the server publishes it once.
      qos: will.qos,
      retain: will.retain && !route.ignoresRetain,
      packetId: 0,
    },
    { bytes: will.bytes, values: will.properties },
  );
  return record;
}
