// What a session is made of: its client's word in CONNECT, what all sessions share, and what one tells others.
import type { Access, Log, Principal } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Output } from './output.ts';
import type { Version } from './packets/publish.ts';
import type { RetainedWork } from './retained/retained-left.ts';
import type { RetainedRequest } from './retained/retained-request.ts';

/** How its client has connected: for those who ask about it. */
export interface SessionOpening {
  readonly atMs: number;
  /** 0 = it may be silent for ever. */
  readonly keepAliveSeconds: number;
  readonly clean: boolean;
}

export interface SessionOptions {
  readonly clientId: string;
  readonly version: Version;
  readonly principal: Principal;
  /** Absent of what is no client. */
  readonly opening?: SessionOpening;
  readonly access: Access;
  readonly log: Log;
  readonly output: Output;
  readonly counters: MqttCounters;
  /** QoS 1 and 2 messages unacknowledged at most: the client's Receive Maximum and the server's own bound. */
  readonly inflightMax: number;
  /** The client's Maximum Packet Size. */
  readonly packetBytesMax: number;
  readonly outputBytesMax: number;
  /** Request Problem Information (section 3.1.2.11.7); absent = yes, which has an effect in version 5 alone. */
  readonly wantsProblemInformation?: boolean;
  /** Topic aliases that the client takes; 0 below version 5. */
  readonly topicAliasMaximum: number;
  /** See hooks.ts; absent = everything is delivered. */
  readonly mayForward?: (topic: string) => boolean;
}

/** What a session tells its shared subscriptions. */
export interface SharedPart {
  readonly groups: Map<string, unknown>;
  /** An exchange has ended. */
  freed(packetId: number): void;
  roomMade(): void;
  /** The connection has ended. */
  left(): void;
}

/** What a session is sent because it has subscribed; see retained/retained-delivery.ts. */
export interface RetainedPart {
  add(requests: readonly RetainedRequest[]): void;
  isPending(filter: string): boolean;
  leave(): Promise<readonly RetainedWork[]>;
}
