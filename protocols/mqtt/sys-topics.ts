// `$SYS/broker/…`: what the front end counts, as messages under the names that Mosquitto has for them. They come from
// here and never from the log; nobody can publish to them, and a wildcard in front does not match them (section 4.7.2).
import type { Clock, Timer } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import { messagesDropped, packetsReceived, packetsSent } from './counters.ts';
import { mergeSubscriptions } from './deliveries.ts';
import { MessageView } from './message-view.ts';
import type { RetainedRequest } from './retained/retained-request.ts';
import type { Session, SessionSubscription } from './session.ts';
import { matchesFilter } from './session-subscription.ts';
import type { SubscriptionTree } from './subscription-tree.ts';
import { LoadAverages } from './sys-load.ts';

const ROOT = '$SYS/broker/';

/** What is not counted but looked at. */
export interface SysSources {
  readonly clock: Clock;
  readonly counters: MqttCounters;
  readonly tree: SubscriptionTree<SessionSubscription>;
  readonly connected: () => number;
  /** Sessions that outlive their connections, of clients that are connected or not. */
  readonly sessions: () => number;
  readonly retained: () => number;
  /** Bytes that sockets were given. */
  readonly bytesSent: () => number;
  /** 0 = there are no such topics. Looked at anew each time. */
  readonly intervalMs: number;
}

export class SysTopics {
  readonly #sources: SysSources;
  readonly #message = new MessageView();
  readonly #values: ReadonlyMap<string, () => number | string>;
  /** What was told last, by topic: only what has changed is told again. */
  readonly #told = new Map<string, string>();
  readonly #startedMs: number;
  readonly #loads: LoadAverages;
  #connectedMax = 0;
  #timer: Timer | undefined;

  constructor(sources: SysSources) {
    this.#sources = sources;
    this.#startedMs = sources.clock.monotonic();
    this.#loads = new LoadAverages(this.#createLoads(), this.#startedMs);
    this.#values = this.#createValues();
    this.#schedule();
  }

  /** What is waited for is waited for anew. */
  intervalChanged(): void {
    this.#timer?.cancel();
    this.#schedule();
  }

  /** A subscription gets what there is at once, as it gets retained messages. */
  greet(session: Session, requests: readonly RetainedRequest[]): void {
    if (this.#sources.intervalMs === 0) return;
    for (const { filter, identifier } of requests) {
      if (!filter.startsWith('$SYS/')) continue;
      const identifiers = identifier > 0 ? [identifier] : [];
      for (const [topic, value] of this.#values) {
        if (!matchesFilter(filter, topic)) continue;
        this.#compose(topic, String(value()), true);
        const form = { qos: 0, retainAsPublished: true, identifiers, own: undefined } as const;
        session.deliver(this.#message, { subscriber: session, ...form });
      }
    }
  }

  close(): void {
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#sources.intervalMs === 0) return;
    this.#timer = this.#sources.clock.setTimer(this.#sources.intervalMs, () => {
      this.#tell();
      this.#schedule();
    });
  }

  #tell(): void {
    this.#noteConnected();
    this.#loads.update(this.#sources.clock.monotonic());
    for (const [topic, read] of this.#values) {
      const value = String(read());
      if (this.#told.get(topic) === value) continue;
      this.#told.set(topic, value);
      const deliveries = mergeSubscriptions<Session>(this.#sources.tree.match(topic));
      if (deliveries.length === 0) continue;
      this.#compose(topic, value, true);
      // A slow client loses some: the next ones say more.
      for (const delivery of deliveries) delivery.subscriber.deliver(this.#message, { ...delivery, qos: 0 });
    }
  }

  #compose(topic: string, value: string, retain: boolean): void {
    const name = Buffer.from(topic);
    const message = this.#message;
    message.topic = Buffer.concat([Buffer.from([name.length >> 8, name.length & 0xff]), name]);
    message.qos = 0;
    message.retain = retain;
    message.payload = Buffer.from(value);
    message.payloadStart = 0;
    message.payloadEnd = message.payload.length;
    message.isShared = false;
  }

  #noteConnected(): number {
    const connected = this.#sources.connected();
    this.#connectedMax = Math.max(this.#connectedMax, connected);
    return connected;
  }

  #createValues(): ReadonlyMap<string, () => number | string> {
    const { clock, counters, tree, sessions, retained, bytesSent } = this.#sources;
    const connected = () => this.#noteConnected();
    const total = () => Math.max(connected(), sessions());
    const uptimeSeconds = () => Math.floor((clock.monotonic() - this.#startedMs) / 1000);
    const values: Readonly<Record<string, () => number | string>> = {
      version: () => 'polylog',
      uptime: () => `${uptimeSeconds()} seconds`,
      'clients/connected': connected,
      'clients/active': connected,
      'clients/disconnected': () => total() - connected(),
      'clients/inactive': () => total() - connected(),
      'clients/total': total,
      'clients/maximum': () => {
        connected();
        return this.#connectedMax;
      },
      'clients/expired': () => counters.sessionsExpired,
      'messages/received': () => packetsReceived(counters),
      'messages/sent': () => packetsSent(counters),
      'bytes/received': () => counters.bytesReceived,
      'bytes/sent': bytesSent,
      'publish/messages/received': () => counters.publishesReceived,
      'publish/messages/sent': () => counters.messagesDelivered,
      'publish/messages/dropped': () => messagesDropped(counters),
      'subscriptions/count': () => tree.size,
      'retained messages/count': retained,
    };
    const all = [...Object.entries(values), ...this.#loads.values()];
    return new Map(all.map(([name, read]) => [ROOT + name, read]));
  }

  #createLoads(): Readonly<Record<string, () => number>> {
    const { counters, bytesSent } = this.#sources;
    return {
      'load/connections': () => counters.connectionsAccepted,
      'load/sockets': () => counters.socketsOpened,
      'load/messages/received': () => packetsReceived(counters),
      'load/messages/sent': () => packetsSent(counters),
      'load/bytes/received': () => counters.bytesReceived,
      'load/bytes/sent': bytesSent,
      'load/publish/received': () => counters.publishesReceived,
      'load/publish/sent': () => counters.messagesDelivered,
      'load/publish/dropped': () => messagesDropped(counters),
    };
  }
}
