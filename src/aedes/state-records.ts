// What is written to the table of an aedes broker: keys by kind. All records of a client lie in the partition of its
// identifier, a retained message in that of its topic.
//
//   f  a subscription of a client, as JSON; then its filter
//   w  its will
//   i  a QoS 2 message of it that it has not released; then the message identifier, 2 bytes
//   o  a message that waits for it, or is on its way; then its number in the queue, 6 bytes
//   r  the retained message of a topic
//   s  of earlier versions: subscriptions of a client, as JSON: a list of all, or one and then its filter. They are written
//      anew as `f` when the table is opened (earlier-subscriptions.ts)
//
// Behind the kind: the length of the client identifier in 2 bytes, and it; of `r` the topic.
export const KIND = {
  SUBSCRIPTION: 0x66,
  EARLIER_SUBSCRIPTIONS: 0x73,
  WILL: 0x77,
  INCOMING: 0x69,
  OUTGOING: 0x6f,
  RETAINED: 0x72,
} as const;
export type Kind = (typeof KIND)[keyof typeof KIND];

const CLIENT_BYTES_MAX = 65_535;
const NOTHING = Buffer.alloc(0);
const NUMBER_BYTES = { [KIND.INCOMING]: 2, [KIND.OUTGOING]: 6 } as const;

export function retainedKey(topic: string): Buffer {
  return Buffer.concat([Buffer.from([KIND.RETAINED]), Buffer.from(topic)]);
}

export function willKey(clientId: string): Buffer {
  return clientKey(KIND.WILL, clientId, NOTHING);
}

export function subscriptionKey(clientId: string, filter: string): Buffer {
  return clientKey(KIND.SUBSCRIPTION, clientId, Buffer.from(filter));
}

/** Of an incoming message by its identifier, of an outgoing one by its place in the queue. */
export function messageKey(
  kind: typeof KIND.INCOMING | typeof KIND.OUTGOING,
  clientId: string,
  number: number,
): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES[kind]);
  bytes.writeUIntBE(number, 0, bytes.length);
  return clientKey(kind, clientId, bytes);
}

function clientKey(kind: Kind, clientId: string, rest: Buffer): Buffer {
  const id = Buffer.from(clientId);
  if (id.length > CLIENT_BYTES_MAX) throw new RangeError(`a client identifier of ${id.length} bytes`);
  const head = Buffer.alloc(3);
  head[0] = kind;
  head.writeUInt16BE(id.length, 1);
  return Buffer.concat([head, id, rest]);
}

export interface ClientKey {
  readonly clientId: string;
  /** What stands behind it: a filter, a number, nothing. */
  readonly rest: Buffer;
}

export function readClientKey(key: Buffer): ClientKey {
  const idEnd = 3 + key.readUInt16BE(1);
  return { clientId: key.toString('utf8', 3, idEnd), rest: key.subarray(idEnd) };
}

export function numberOf({ rest }: ClientKey): number {
  return rest.readUIntBE(0, rest.length);
}

export function readRetainedKey(key: Buffer): string {
  return key.toString('utf8', 1);
}

/** As aedes asks for it. */
export interface AedesSubscription {
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly rh?: number | undefined;
  readonly rap?: boolean | undefined;
  readonly nl?: boolean | undefined;
  readonly subscriptionIdentifier?: number | undefined;
}

/** As it is stored. */
export function subscriptionText(subscription: AedesSubscription): string {
  const { topic, qos, rh, rap, nl, subscriptionIdentifier } = subscription;
  return JSON.stringify({ topic, qos, rh, rap, nl, subscriptionIdentifier });
}
