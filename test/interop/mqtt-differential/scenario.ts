// What a scenario is: steps of named clients, the same for every server, as data. `~` at the beginning of a topic,
// a filter or a client identifier stands for a name of the scenario's own, so that scenarios do not meet.
import type { IConnectPacket, IPublishPacket, ISubscription, Packet } from 'mqtt-packet';

export type Version = 3 | 4 | 5;

export interface Scenario {
  readonly name: string;
  readonly version: Version;
  readonly steps: readonly Step[];
  /** Clients of one shared subscription: who of them is given what is the server's to say, so they compare as one. */
  readonly members?: readonly string[];
}

export type Step =
  | { readonly do: 'connect'; readonly client: string; readonly packet: Connect }
  | { readonly do: 'open'; readonly client: string }
  | { readonly do: 'send'; readonly client: string; readonly packet: Packet }
  | { readonly do: 'bytes'; readonly client: string; readonly hex: string }
  /** The connection goes without DISCONNECT. */
  | { readonly do: 'cut'; readonly client: string }
  /** Until so many messages have come to the client's topic: what a server does in time of its own. */
  | { readonly do: 'await'; readonly client: string; readonly topic: string; readonly count: number }
  /** The time that a delay or an expiry needs. */
  | { readonly do: 'pass'; readonly seconds: number };

/** What is not said of CONNECT: clean, no keep alive, the client's name as its identifier, the scenario's version. */
export interface Connect extends Partial<IConnectPacket> {
  /** Answers no PUBLISH and no PUBREC, so that they stay in flight. */
  readonly keepsSilent?: boolean;
}

export const connect = (client: string, packet: Connect = {}): Step => ({ do: 'connect', client, packet });

export const subscribe = (
  client: string,
  filter: string,
  qos: 0 | 1 | 2 = 0,
  more: Partial<ISubscription> & { readonly identifier?: number } = {},
): Step => {
  const { identifier, ...options } = more;
  return {
    do: 'send',
    client,
    packet: {
      cmd: 'subscribe',
      messageId: 10,
      subscriptions: [{ topic: filter, qos, ...options }],
      ...(identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } }),
    },
  };
};

export const unsubscribe = (client: string, ...filters: string[]): Step => ({
  do: 'send',
  client,
  packet: { cmd: 'unsubscribe', messageId: 11, unsubscriptions: filters },
});

let identifiers = 100;

export const publish = (
  client: string,
  topic: string,
  payload: string,
  more: Partial<IPublishPacket> = {},
): Step => {
  identifiers += 1;
  return {
    do: 'send',
    client,
    packet: {
      cmd: 'publish',
      topic,
      payload,
      qos: 0,
      dup: false,
      retain: false,
      messageId: identifiers,
      ...more,
    },
  };
};

export const disconnect = (client: string, reasonCode = 0): Step => ({
  do: 'send',
  client,
  packet: { cmd: 'disconnect', reasonCode },
});

export const cut = (client: string): Step => ({ do: 'cut', client });
export const bytes = (client: string, hex: string): Step => ({ do: 'bytes', client, hex });
export const open = (client: string): Step => ({ do: 'open', client });
export const until = (client: string, topic: string, count = 1): Step => ({
  do: 'await',
  client,
  topic,
  count,
});
export const pass = (seconds: number): Step => ({ do: 'pass', seconds });
export const ping = (client: string): Step => ({ do: 'send', client, packet: { cmd: 'pingreq' } });

export const QOS = [0, 1, 2] as const;
export const KEEPS = { clean: false } as const;

export const of = (version: 4 | 5, name: string, steps: readonly Step[]): Scenario => ({
  name,
  version,
  steps,
});
export const only5 = (name: string, ...steps: Step[]): Scenario[] => [of(5, name, steps)];
export const both = (name: string, ...steps: Step[]): Scenario[] => [of(4, name, steps), of(5, name, steps)];

/** A session that lives on: of 5 by its expiry, of 3.1.1 by not being clean. */
export const keeping = (name: string, steps: (session: object) => readonly Step[]): Scenario[] => [
  of(4, name, steps(KEEPS)),
  of(5, name, steps({ ...KEEPS, properties: { sessionExpiryInterval: 600 } })),
];
