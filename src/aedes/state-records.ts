// What is written to the table of an aedes broker: keys by kind. All records of a client lie in the partition of its
// identifier, a retained message in that of its topic.
//
//   s  subscriptions of a client, as JSON
//   w  its will
//   i  a QoS 2 message of it that it has not released; then the message identifier, 2 bytes
//   o  a message that waits for it, or is on its way; then its number in the queue, 6 bytes
//   r  the retained message of a topic
//
// Behind the kind: the length of the client identifier in 2 bytes, and it; of `r` the topic.
export const KIND = {
  SUBSCRIPTIONS: 0x73,
  WILL: 0x77,
  INCOMING: 0x69,
  OUTGOING: 0x6f,
  RETAINED: 0x72,
} as const;
export type Kind = (typeof KIND)[keyof typeof KIND];

const CLIENT_BYTES_MAX = 65_535;
const NUMBER_BYTES = { [KIND.INCOMING]: 2, [KIND.OUTGOING]: 6 } as const;

export function retainedKey(topic: string): Buffer {
  return Buffer.concat([Buffer.from([KIND.RETAINED]), Buffer.from(topic)]);
}

/** @param number of an incoming or outgoing message. */
export function clientKey(kind: Exclude<Kind, typeof KIND.RETAINED>, clientId: string, number = 0): Buffer {
  const id = Buffer.from(clientId);
  if (id.length > CLIENT_BYTES_MAX) throw new RangeError(`a client identifier of ${id.length} bytes`);
  const numberBytes = kind === KIND.INCOMING || kind === KIND.OUTGOING ? NUMBER_BYTES[kind] : 0;
  const key = Buffer.alloc(3 + id.length + numberBytes);
  key[0] = kind;
  key.writeUInt16BE(id.length, 1);
  key.set(id, 3);
  if (numberBytes > 0) key.writeUIntBE(number, 3 + id.length, numberBytes);
  return key;
}

export interface ClientKey {
  readonly clientId: string;
  readonly number: number;
}

export function readClientKey(key: Buffer): ClientKey {
  const idEnd = 3 + key.readUInt16BE(1);
  const numberBytes = key.length - idEnd;
  return {
    clientId: key.toString('utf8', 3, idEnd),
    number: numberBytes > 0 ? key.readUIntBE(idEnd, numberBytes) : 0,
  };
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
