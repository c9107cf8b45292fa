// Properties of MQTT 5 (section 2.2.2): one table of what each is, where it may stand and what it may hold, and a
// cursor that steps through a property block and checks all of it.
import type { MqttError } from '../errors.ts';
import { malformed, protocolError } from '../errors.ts';
import { isMqttUtf8 } from './utf8.ts';

export const PROPERTY = {
  PAYLOAD_FORMAT_INDICATOR: 0x01,
  MESSAGE_EXPIRY_INTERVAL: 0x02,
  CONTENT_TYPE: 0x03,
  RESPONSE_TOPIC: 0x08,
  CORRELATION_DATA: 0x09,
  SUBSCRIPTION_IDENTIFIER: 0x0b,
  SESSION_EXPIRY_INTERVAL: 0x11,
  ASSIGNED_CLIENT_IDENTIFIER: 0x12,
  SERVER_KEEP_ALIVE: 0x13,
  AUTHENTICATION_METHOD: 0x15,
  AUTHENTICATION_DATA: 0x16,
  REQUEST_PROBLEM_INFORMATION: 0x17,
  WILL_DELAY_INTERVAL: 0x18,
  REQUEST_RESPONSE_INFORMATION: 0x19,
  RESPONSE_INFORMATION: 0x1a,
  SERVER_REFERENCE: 0x1c,
  REASON_STRING: 0x1f,
  RECEIVE_MAXIMUM: 0x21,
  TOPIC_ALIAS_MAXIMUM: 0x22,
  TOPIC_ALIAS: 0x23,
  MAXIMUM_QOS: 0x24,
  RETAIN_AVAILABLE: 0x25,
  USER_PROPERTY: 0x26,
  MAXIMUM_PACKET_SIZE: 0x27,
  WILDCARD_SUBSCRIPTION_AVAILABLE: 0x28,
  SUBSCRIPTION_IDENTIFIER_AVAILABLE: 0x29,
  SHARED_SUBSCRIPTION_AVAILABLE: 0x2a,
} as const;

/** Packets of a client that carry properties, as bits. WILL stands for the will's block inside CONNECT. */
export const PLACE = {
  CONNECT: 1,
  WILL: 2,
  PUBLISH: 4,
  ACKNOWLEDGEMENT: 8,
  SUBSCRIBE: 16,
  UNSUBSCRIBE: 32,
  DISCONNECT: 64,
  AUTH: 128,
} as const;

type PropertyType = 'byte' | 'two-byte' | 'four-byte' | 'variable' | 'string' | 'binary' | 'pair';

interface PropertyRule {
  readonly name: string;
  readonly type: PropertyType;
  /** Bits of {@link PLACE}. */
  readonly places: number;
  /** Where only a server says it; what a packet cannot have at all is another fault (section 2.2.2.2). */
  readonly serverPlaces?: number;
  /** Bounds of a number; what lies outside is a protocol error. */
  readonly lowest?: number;
  readonly highest?: number;
}

const { CONNECT, WILL, PUBLISH, ACKNOWLEDGEMENT, SUBSCRIBE, UNSUBSCRIBE, DISCONNECT, AUTH } = PLACE;
const EVERYWHERE = CONNECT | WILL | PUBLISH | ACKNOWLEDGEMENT | SUBSCRIBE | UNSUBSCRIBE | DISCONNECT | AUTH;

/** Table 2-4; the bounds are those of each property's own section. */
export const PROPERTY_RULES: ReadonlyMap<number, PropertyRule> = new Map<number, PropertyRule>([
  [0x01, { name: 'Payload Format Indicator', type: 'byte', places: PUBLISH | WILL, highest: 1 }],
  [0x02, { name: 'Message Expiry Interval', type: 'four-byte', places: PUBLISH | WILL }],
  [0x03, { name: 'Content Type', type: 'string', places: PUBLISH | WILL }],
  [0x08, { name: 'Response Topic', type: 'string', places: PUBLISH | WILL }],
  [0x09, { name: 'Correlation Data', type: 'binary', places: PUBLISH | WILL }],
  // A client may not send it with PUBLISH [MQTT-3.3.4-6].
  [
    0x0b,
    {
      name: 'Subscription Identifier',
      type: 'variable',
      places: SUBSCRIBE,
      serverPlaces: PUBLISH,
      lowest: 1,
    },
  ],
  [0x11, { name: 'Session Expiry Interval', type: 'four-byte', places: CONNECT | DISCONNECT }],
  [0x12, { name: 'Assigned Client Identifier', type: 'string', places: 0 }],
  [0x13, { name: 'Server Keep Alive', type: 'two-byte', places: 0 }],
  [0x15, { name: 'Authentication Method', type: 'string', places: CONNECT | AUTH }],
  [0x16, { name: 'Authentication Data', type: 'binary', places: CONNECT | AUTH }],
  [0x17, { name: 'Request Problem Information', type: 'byte', places: CONNECT, highest: 1 }],
  [0x18, { name: 'Will Delay Interval', type: 'four-byte', places: WILL }],
  [0x19, { name: 'Request Response Information', type: 'byte', places: CONNECT, highest: 1 }],
  [0x1a, { name: 'Response Information', type: 'string', places: 0 }],
  [0x1c, { name: 'Server Reference', type: 'string', places: 0, serverPlaces: DISCONNECT }],
  [0x1f, { name: 'Reason String', type: 'string', places: ACKNOWLEDGEMENT | DISCONNECT | AUTH }],
  [0x21, { name: 'Receive Maximum', type: 'two-byte', places: CONNECT, lowest: 1 }],
  [0x22, { name: 'Topic Alias Maximum', type: 'two-byte', places: CONNECT }],
  [0x23, { name: 'Topic Alias', type: 'two-byte', places: PUBLISH }],
  [0x24, { name: 'Maximum QoS', type: 'byte', places: 0 }],
  [0x25, { name: 'Retain Available', type: 'byte', places: 0 }],
  [0x26, { name: 'User Property', type: 'pair', places: EVERYWHERE }],
  [0x27, { name: 'Maximum Packet Size', type: 'four-byte', places: CONNECT, lowest: 1 }],
  [0x28, { name: 'Wildcard Subscription Available', type: 'byte', places: 0 }],
  [0x29, { name: 'Subscription Identifier Available', type: 'byte', places: 0 }],
  [0x2a, { name: 'Shared Subscription Available', type: 'byte', places: 0 }],
]);

/**
 * Stands on one property at a time; positions are indices into the bytes it was opened on. A property that is
 * unknown, cut short or not one of its packet's is malformed (section 2.2.2.2); one that is a server's to say, stands
 * there twice or holds a value outside its bounds is a protocol error.
 */
export class PropertyCursor {
  id = 0;
  /** Of a number. */
  number = 0;
  /** Of a string, binary data, or the value of a pair. */
  valueStart = 0;
  valueEnd = 0;
  /** Of a pair's name. */
  nameStart = 0;
  nameEnd = 0;

  #bytes: Buffer = EMPTY;
  #at = 0;
  #end = 0;
  #place = 0;
  /** Bit per identifier seen; there are 42. */
  #seenLow = 0;
  #seenHigh = 0;

  open(bytes: Buffer, start: number, end: number, place: number): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#place = place;
    this.#seenLow = 0;
    this.#seenHigh = 0;
  }

  /** Lets go of the bytes. */
  close(): void {
    this.#bytes = EMPTY;
  }

  next(): boolean {
    if (this.#at >= this.#end) return false;
    this.id = this.#variable('Property Identifier');
    const rule = PROPERTY_RULES.get(this.id);
    if (!rule) throw malformed(`There is no property 0x${this.id.toString(16)}`);
    this.#readValue(rule);
    if ((rule.places & this.#place) === 0) throw this.#misplaced(rule);
    if (this.id !== PROPERTY.USER_PROPERTY) this.#mark(rule);
    return true;
  }

  #misplaced({ name, serverPlaces = 0 }: PropertyRule): MqttError {
    if ((serverPlaces & this.#place) !== 0) return protocolError(`${name} is the server's to say here`);
    return malformed(`${name} may not stand here`);
  }

  #readValue(rule: PropertyRule): void {
    switch (rule.type) {
      case 'byte':
        this.number = this.#integer(1, rule.name);
        break;
      case 'two-byte':
        this.number = this.#integer(2, rule.name);
        break;
      case 'four-byte':
        this.number = this.#integer(4, rule.name);
        break;
      case 'variable':
        this.number = this.#variable(rule.name);
        break;
      case 'string':
        this.#slice(rule.name, true);
        return;
      case 'binary':
        this.#slice(rule.name, false);
        return;
      case 'pair':
        this.#slice(rule.name, true);
        this.nameStart = this.valueStart;
        this.nameEnd = this.valueEnd;
        this.#slice(rule.name, true);
        return;
      default:
        rule.type satisfies never;
    }
    if (this.number < (rule.lowest ?? 0) || this.number > (rule.highest ?? Number.MAX_SAFE_INTEGER)) {
      throw protocolError(`${rule.name} cannot be ${this.number}`);
    }
  }

  #mark(rule: PropertyRule): void {
    const bit = 1 << (this.id & 31);
    const seen = this.id < 32 ? this.#seenLow : this.#seenHigh;
    if ((seen & bit) !== 0) throw protocolError(`${rule.name} stands twice`);
    if (this.id < 32) this.#seenLow |= bit;
    else this.#seenHigh |= bit;
  }

  #integer(count: number, name: string): number {
    if (this.#at + count > this.#end) throw malformed(`The properties end within ${name}`);
    let value = 0;
    for (const end = this.#at + count; this.#at < end; this.#at++)
      value = value * 256 + this.#bytes[this.#at]!;
    return value;
  }

  #variable(name: string): number {
    let value = 0;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#integer(1, name);
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if (byte === 0 && shift > 0) throw malformed(`${name} takes more bytes than it needs`);
      return value;
    }
    throw malformed(`${name} takes more than four bytes`);
  }

  #slice(name: string, isString: boolean): void {
    const length = this.#integer(2, name);
    if (this.#at + length > this.#end) throw malformed(`The properties end within ${name}`);
    this.valueStart = this.#at;
    this.#at += length;
    this.valueEnd = this.#at;
    if (isString && !isMqttUtf8(this.#bytes, this.valueStart, this.valueEnd)) {
      throw malformed(`${name} is not a string of MQTT`);
    }
  }
}

const EMPTY = Buffer.alloc(0);
