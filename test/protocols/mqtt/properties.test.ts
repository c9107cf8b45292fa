// Properties of MQTT 5: where each may stand, how often, and what it may hold.
import { describe, expect, it } from 'vitest';
import { MqttError } from '../../../protocols/mqtt/errors.ts';
import { PLACE, PropertyCursor } from '../../../protocols/mqtt/packets/properties.ts';
import { REASON } from '../../../protocols/mqtt/reason-codes.ts';

type Place = keyof typeof PLACE;

/** What a server may say in this packet is no client's to say; elsewhere a packet cannot have it (section 2.2.2.2). */
const SERVERS: Readonly<Record<string, Place>> = {
  'Subscription Identifier': 'PUBLISH',
  'Server Reference': 'DISCONNECT',
};

/** Section 2.2.2.2: bytes of one property that is right, and the client's packets that it may stand in. */
const TABLE: readonly (readonly [name: string, hex: string, places: readonly Place[]])[] = [
  ['Payload Format Indicator', '0101', ['PUBLISH', 'WILL']],
  ['Message Expiry Interval', '0200000001', ['PUBLISH', 'WILL']],
  ['Content Type', '03000161', ['PUBLISH', 'WILL']],
  ['Response Topic', '08000161', ['PUBLISH', 'WILL']],
  ['Correlation Data', '090001ff', ['PUBLISH', 'WILL']],
  ['Subscription Identifier', '0b01', ['SUBSCRIBE']],
  ['Session Expiry Interval', '1100000001', ['CONNECT', 'DISCONNECT']],
  ['Assigned Client Identifier', '12000161', []],
  ['Server Keep Alive', '130001', []],
  ['Authentication Method', '15000161', ['CONNECT', 'AUTH']],
  ['Authentication Data', '160001ff', ['CONNECT', 'AUTH']],
  ['Request Problem Information', '1701', ['CONNECT']],
  ['Will Delay Interval', '1800000001', ['WILL']],
  ['Request Response Information', '1901', ['CONNECT']],
  ['Response Information', '1a000161', []],
  ['Server Reference', '1c000161', []],
  ['Reason String', '1f000161', ['ACKNOWLEDGEMENT', 'DISCONNECT', 'AUTH']],
  ['Receive Maximum', '210001', ['CONNECT']],
  ['Topic Alias Maximum', '220001', ['CONNECT']],
  ['Topic Alias', '230001', ['PUBLISH']],
  ['Maximum QoS', '2401', []],
  ['Retain Available', '2501', []],
  ['Maximum Packet Size', '2700000001', ['CONNECT']],
  ['Wildcard Subscription Available', '2801', []],
  ['Subscription Identifier Available', '2901', []],
  ['Shared Subscription Available', '2a01', []],
];
const USER_PROPERTY = '26000161000162';
const PLACES = Object.keys(PLACE) as Place[]; // the keys are the names

/** Reason code that reading the block ends with; 0 when all of it is right. */
function reasonOf(text: string, place: Place): number {
  const bytes = Buffer.from(text, 'hex');
  const cursor = new PropertyCursor();
  cursor.open(bytes, 0, bytes.length, PLACE[place]);
  try {
    while (cursor.next());
    return 0;
  } catch (error) {
    if (error instanceof MqttError) return error.reasonCode;
    throw error;
  }
}

describe('properties [FAULTS 49]', () => {
  it.each(TABLE)('%s stands where table 2-4 says, and nowhere else', (name, text, places) => {
    for (const place of PLACES) {
      const misplaced = SERVERS[name] === place ? REASON.PROTOCOL_ERROR : REASON.MALFORMED_PACKET;
      expect(reasonOf(text, place)).toBe(places.includes(place) ? 0 : misplaced);
    }
  });

  it.each(TABLE.filter(([, , places]) => places.length > 0))('%s stands once', (_name, text, places) => {
    expect(reasonOf(text + text, places[0]!)).toBe(REASON.PROTOCOL_ERROR);
  });

  it.each(TABLE)('%s cut short is malformed', (_name, text, places) => {
    for (let length = 2; length < text.length; length += 2) {
      expect(reasonOf(text.slice(0, length), places[0] ?? 'CONNECT')).toBe(REASON.MALFORMED_PACKET);
    }
  });

  it('user properties stand everywhere, as often as they like', () => {
    for (const place of PLACES) expect(reasonOf(USER_PROPERTY.repeat(3), place)).toBe(0);
  });

  it.each([
    ['Payload Format Indicator 2', '0102', 'PUBLISH'],
    ['Request Problem Information 2', '1702', 'CONNECT'],
    ['Receive Maximum 0', '210000', 'CONNECT'],
    ['Maximum Packet Size 0', '2700000000', 'CONNECT'],
    ['Subscription Identifier 0', '0b00', 'SUBSCRIBE'],
  ] as const)('%s is a protocol error', (_name, text, place) => {
    expect(reasonOf(text, place)).toBe(REASON.PROTOCOL_ERROR);
  });

  it.each(['00', '04', '7f', '8001', '80808001', 'ffffff7f', '80808080'])('0x%s is no property', (id) => {
    expect(reasonOf(`${id}01`, 'PUBLISH')).toBe(REASON.MALFORMED_PACKET);
  });

  it('an identifier longer than it needs to be is malformed [MQTT-1.5.5-1]', () => {
    expect(reasonOf('810001', 'PUBLISH')).toBe(REASON.MALFORMED_PACKET);
  });

  it.each(['03', '08', '1f', '15'])('a string of property 0x%s is checked', (id) => {
    const place = id === '1f' || id === '15' ? 'AUTH' : 'PUBLISH';
    expect(reasonOf(`${id}0001ff`, place)).toBe(REASON.MALFORMED_PACKET);
    expect(reasonOf(`${id}000100`, place)).toBe(REASON.MALFORMED_PACKET);
  });

  it('both strings of a user property are checked', () => {
    expect(reasonOf('260001ff000162', 'PUBLISH')).toBe(REASON.MALFORMED_PACKET);
    expect(reasonOf('260001610001ff', 'PUBLISH')).toBe(REASON.MALFORMED_PACKET);
  });
});
