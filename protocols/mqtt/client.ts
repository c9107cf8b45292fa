// What handlers see of the connection a packet came by, and what all connections of a front end share.
import type { Hub, Principal, TopicError } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Dispatchers } from './dispatchers.ts';
import type { HookClient, Hooks } from './hooks.ts';
import type { Mappings } from './mapping/mappings.ts';
import type { MqttOptions } from './options.ts';
import type { Output } from './output.ts';
import type { WillPacket } from './packets/connect.ts';
import type { PublishFlow, UnstoredBytes } from './publish-flow.ts';
import type { RecordReader } from './record-reader.ts';
import type { RetainedMessages } from './retained/retained-messages.ts';
import type { OwnRoutes, Route, Routes } from './routes.ts';
import type { Session, SessionSubscription } from './session.ts';
import type { QueueLimits } from './sessions/queue-limits.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { SharedGroups } from './share/share-groups.ts';
import type { SubscriptionTree } from './subscription-tree.ts';
import type { SysTopics } from './sys-topics.ts';
import type { Unwelcome } from './unwelcome.ts';
import type { Wills } from './will.ts';

export interface Context {
  readonly hub: Hub;
  readonly options: MqttOptions;
  readonly counters: MqttCounters;
  readonly routes: Routes;
  readonly mappings: Mappings;
  readonly hooks: Hooks;
  readonly sys: SysTopics;
  /** Of clients that are connected, and of groups that have such a member. */
  readonly tree: SubscriptionTree<SessionSubscription>;
  readonly dispatchers: Dispatchers;
  readonly retained: RetainedMessages;
  /** Of sessions that catch up; the dispatchers have their own. */
  readonly catchUpReader: RecordReader;
  readonly queueLimits: QueueLimits;
  readonly unstored: UnstoredBytes;
  /** Connected clients by client identifier. */
  readonly clients: Map<string, Client>;
  readonly sessions: Sessions;
  readonly shared: SharedGroups;
  readonly wills: Wills;
}

export interface Client {
  readonly context: Context;
  readonly listener: string;
  readonly remoteAddress: string;
  /** Why CONNECT is refused, whatever it says. */
  readonly unwelcome: Unwelcome | undefined;
  readonly output: Output;
  /** Undefined until CONNECT has been accepted. */
  readonly session: Session | undefined;
  /** Milliseconds since the epoch when the bytes being handled came. */
  readonly receivedAtMs: number;
  /** Why the topic of the publish at hand could not be made; read once. */
  topicError: TopicError | undefined;
  /** Whether CONNECT can still be answered. */
  readonly isAwaitingConnect: boolean;
  /** CONNECT is accepted; its CONNACK is on its way. */
  accept(accepted: Accepted): void;
  /** CONNECT is refused with this last packet, if it gets any. */
  refuse(connack: Buffer | undefined, reason: string): void;
  /** The client said goodbye. @param withWill whether its will goes out nevertheless. */
  leave(withWill: boolean): void;
  /** Another connection has taken the client identifier. */
  takeOver(): void;
  /** The connection ends with an error of the server's. */
  fail(error: unknown): void;
}

export interface Accepted {
  readonly session: Session;
  readonly publishes: PublishFlow;
  readonly will: WillPacket | undefined;
  /** 0 = never. */
  readonly keepAliveMs: number;
  /** CONNECT asked for a session that outlives its connection. */
  readonly sessionExpiryAsked: boolean;
}

/** A client that has a session. */
export interface ConnectedClient extends Client {
  readonly session: Session;
  readonly publishes: PublishFlow;
  readonly sessionExpiryAsked: boolean;
  /** Source attributes that this client's publishes to a topic have, by QoS and retain; see handlers/publish.ts. */
  readonly attributes: Map<Route, (Uint8Array | undefined)[]>;
  readonly ownRoutes: OwnRoutes;
  /** Topic aliases that the client has given. */
  readonly aliases: Map<number, Route>;
}

export type Handled = undefined | Promise<unknown>;

/**
 * What one kind of packet does. A promise says that the packet cannot be dealt with yet: it is given again when that
 * resolves, and none behind it before.
 * @throws MqttError to end the connection with its reason code.
 */
export interface PacketHandler {
  readonly type: number;
  readonly name: string;
  handle(client: ConnectedClient, firstByte: number, bytes: Buffer, start: number, end: number): Handled;
}

export function principalOf(listener: string, remoteAddress: string, name = 'ANONYMOUS'): Principal {
  // Nothing is verified in this build, so a user name that was given proves nothing. The name is Kafka's: one access rule
  // binds every door.
  return { name, listener, remoteAddress };
}

export function hookClientOf({ session, listener, remoteAddress }: ConnectedClient): HookClient {
  return { clientId: session.clientId, listener, remoteAddress };
}

/** What a session is sent retained messages with. */
export function retainedSurroundings({ retained, routes, hub, counters }: Context) {
  const { topics, clock, log } = hub;
  return { retained, routes, topics, clock, log, counters };
}
