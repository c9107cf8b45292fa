// Where a policy may look at what clients do, under the names that aedes has for these places. A hook that is absent
// allows, and costs nothing: without a policy this is an empty object. Beside them the hub's own access rules hold.
//
// Publishing, subscribing and delivering do not wait: two publishes of one client never change their order, so a policy
// that has to ask somebody asks when the client connects.
import type { ConnectPacket } from './packets/connect.ts';
import type { QoS } from './packets/publish.ts';

/** Who it is about. */
export interface HookClient {
  readonly clientId: string;
  readonly listener: string;
  readonly remoteAddress: string;
}

/** A reason code of MQTT 5 that says no (0x80 and above); undefined = yes. */
export type Verdict = number | undefined;

export interface Identity {
  /** Name of the principal by whose access rules the client is bound. */
  readonly principal?: string;
  readonly refusal?: Verdict;
}

export interface HookPublish {
  readonly topic: string;
  readonly qos: QoS;
  readonly retain: boolean;
}

export interface Hooks {
  /** A CONNECT that can be read has come; nothing has been done about it. */
  preConnect?(client: HookClient, packet: ConnectPacket): Verdict | Promise<Verdict>;
  /** Who is it? Wrong credentials are 0x86, somebody who may not come in is 0x87. */
  authenticate?(client: HookClient, packet: ConnectPacket): Identity | Promise<Identity>;
  /** A publish, or the will when it is published: 0x87, 0x90, 0x97 … as PUBACK has them. */
  authorizePublish?(client: HookClient, publish: HookPublish): Verdict;
  /** One filter of a SUBSCRIBE: 0x87, 0x8F, 0x97 … as SUBACK has them. */
  authorizeSubscribe?(
    client: HookClient,
    subscription: { readonly filter: string; readonly qos: QoS },
  ): Verdict;
  /** A message on its way to a client that is subscribed; false = it is passed over. */
  authorizeForward?(client: HookClient, topic: string): boolean;
  /** The log has stored a publish. */
  published?(client: HookClient, publish: HookPublish): void;
}

export const ALLOW_ALL: Hooks = {};
