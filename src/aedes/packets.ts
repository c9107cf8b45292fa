// Packets as aedes has them, and as bytes in the hub's tables: all that is not payload as JSON, then the payload untouched.
//
//   version = 1 | kind of payload | length of the JSON, 4 bytes | JSON | payload

/** A packet of aedes, structurally: whatever else it has is kept too. */
export interface AedesPacket {
  cmd?: string | undefined;
  brokerId?: string | undefined;
  brokerCounter?: number | undefined;
  messageId?: number | undefined;
  topic?: string | undefined;
  payload?: string | Buffer | undefined;
  qos?: 0 | 1 | 2 | undefined;
  retain?: boolean | undefined;
  dup?: boolean | undefined;
  clientId?: string | undefined;
  nl?: boolean | undefined;
  properties?: PacketProperties | undefined;
  /** Milliseconds since the epoch. */
  messageExpiry?: number | undefined;
}

/** Of MQTT 5, those that travel with a message. */
export interface PacketProperties {
  payloadFormatIndicator?: boolean;
  messageExpiryInterval?: number;
  contentType?: string;
  responseTopic?: string;
  correlationData?: Buffer;
  userProperties?: Record<string, string | string[]>;
}

const VERSION = 1;
const PAYLOAD = { NONE: 0, BYTES: 1, TEXT: 2 } as const;
const HEAD_BYTES = 6;

/** A packet to be queued, with the fields that aedes gives each and no others (aedes-packet). */
export function queuedPacket(original: AedesPacket): AedesPacket {
  const packet: AedesPacket = {};
  if (Object.hasOwn(original, 'clientId')) packet.clientId = original.clientId;
  if (Object.hasOwn(original, 'nl')) packet.nl = original.nl;
  if (Object.hasOwn(original, 'properties')) packet.properties = original.properties;
  if (Object.hasOwn(original, 'messageExpiry')) packet.messageExpiry = original.messageExpiry;
  packet.cmd = original.cmd ?? 'publish';
  packet.brokerId = original.brokerId;
  packet.brokerCounter = original.brokerCounter ?? 0;
  packet.topic = original.topic;
  packet.payload = original.payload ?? Buffer.alloc(0);
  packet.qos = original.qos ?? 0;
  packet.retain = original.retain ?? false;
  packet.dup = original.dup ?? false;
  if (packet.qos > 0 || packet.cmd !== 'publish') packet.messageId = undefined;
  return packet;
}

export function encodePacket(packet: AedesPacket): Buffer {
  const { payload, ...rest } = packet;
  const json = Buffer.from(JSON.stringify(rest));
  const bytes = payload === undefined ? Buffer.alloc(0) : Buffer.from(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head[0] = VERSION;
  head[1] = payload === undefined ? PAYLOAD.NONE : typeof payload === 'string' ? PAYLOAD.TEXT : PAYLOAD.BYTES;
  head.writeUInt32BE(json.length, 2);
  return Buffer.concat([head, json, bytes]);
}

/** @throws Error when the bytes are no packet that this version has written. */
export function decodePacket(value: Buffer): AedesPacket {
  const jsonEnd = value.length < HEAD_BYTES ? 0 : HEAD_BYTES + value.readUInt32BE(2);
  if (value[0] !== VERSION || jsonEnd > value.length || jsonEnd < HEAD_BYTES) {
    throw new Error(`a stored packet of ${value.length} bytes is not readable`);
  }
  // What was written from such a packet.
  const packet = JSON.parse(value.toString('utf8', HEAD_BYTES, jsonEnd), reviveBytes) as AedesPacket;
  const payload = value.subarray(jsonEnd);
  if (value[1] === PAYLOAD.TEXT) packet.payload = payload.toString('utf8');
  else if (value[1] === PAYLOAD.BYTES) packet.payload = payload;
  return packet;
}

/** A message that is queued has this field, whether or not it has a value. */
export function withMessageId(packet: AedesPacket, messageId: number | undefined): AedesPacket {
  const isIdentified = (packet.qos ?? 0) > 0 || packet.cmd !== 'publish';
  if (isIdentified || messageId !== undefined) packet.messageId = messageId;
  return packet;
}

function reviveBytes(_key: string, value: unknown): unknown {
  return isBytes(value) ? Buffer.from(value.data) : value;
}

/** As Buffer.toJSON makes it. */
function isBytes(value: unknown): value is { readonly type: 'Buffer'; readonly data: number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value &&
    Array.isArray(value.data)
  );
}
