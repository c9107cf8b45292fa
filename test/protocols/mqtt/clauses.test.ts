// What a packet may not say, clause by clause: a v5 client is told the reason code, one of 3.1 or 3.1.1 hears nothing,
// and either way the connection ends and others are served. Clause numbers are those of MQTT 5 unless said otherwise.
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { serve } from './front-end-fixture.ts';

const MALFORMED = 0x81;
const PROTOCOL = 0x82;
const TOPIC_NAME = 0x90;
const TOPIC_FILTER = 0x8f;

/** Versions are {@link BOTH} where none are said. */
type Clause = readonly [
  clause: string,
  what: string,
  packet: string,
  reasonCode: number,
  versions?: Versions,
];
type Versions = readonly (3 | 4 | 5)[];
const BOTH: Versions = [4, 5];
const SINCE_5: Versions = [5];
const BEFORE_5: Versions = [3, 4];
const IN_3_1_1: Versions = [4];

/**
 * A first byte and a body, in hexadecimal; the remaining length is put in between. `~` stands for the properties, of
 * which there are none: a length of 0 in version 5 and nothing below.
 */
function packetOf(text: string, version: 3 | 4 | 5): Buffer {
  const hex = text.replaceAll('~', version === 5 ? '00' : '').replaceAll(' ', '');
  const bytes = Buffer.from(hex, 'hex');
  return Buffer.concat([bytes.subarray(0, 1), Buffer.from([bytes.length - 1]), bytes.subarray(1)]);
}

/** Every string that is ill-formed, or holds what none may hold. */
const BAD_STRINGS = [
  ['[MQTT-1.5.4-1]', 'a byte that is no UTF-8', '0001 ff'],
  ['[MQTT-1.5.4-1]', 'a lone surrogate', '0003 eda080'],
  ['[MQTT-1.5.4-1]', 'an overlong form', '0002 c0af'],
  ['[MQTT-1.5.4-1]', 'a sequence cut short', '0002 e282'],
  ['[MQTT-1.5.4-1]', 'more than U+10FFFF', '0004 f4908080'],
  ['[MQTT-1.5.4-2]', 'U+0000', '0003 610062'],
  ['1.5.4', 'a length beyond the packet', '00ff 61'],
] as const;

/** A packet for each of {@link BAD_STRINGS}, which stands where `$` does. */
const withBadStrings = (where: string, packet: string, versions = BOTH): Clause[] =>
  BAD_STRINGS.map(([clause, what, string]) => [
    clause,
    `${where} with ${what}`,
    packet.replace('$', string),
    MALFORMED,
    versions,
  ]);

/** Properties of another packet (section 2.2.2.2); `properties` is what the packet may have. */
const PROPERTIES: Readonly<Record<string, string>> = {
  'Payload Format Indicator': '0101',
  'Message Expiry Interval': '0200000001',
  'Content Type': '03000161',
  'Response Topic': '08000161',
  'Correlation Data': '090001ff',
  'Subscription Identifier': '0b01',
  'Session Expiry Interval': '1100000001',
  'Assigned Client Identifier': '12000161',
  'Server Keep Alive': '130001',
  'Authentication Method': '15000161',
  'Authentication Data': '160001ff',
  'Request Problem Information': '1701',
  'Will Delay Interval': '1800000001',
  'Request Response Information': '1901',
  'Response Information': '1a000161',
  'Server Reference': '1c000161',
  'Reason String': '1f000161',
  'Receive Maximum': '210001',
  'Topic Alias Maximum': '220001',
  'Topic Alias': '230001',
  'Maximum QoS': '2401',
  'Retain Available': '2501',
  'Maximum Packet Size': '2700000100',
  'Wildcard Subscription Available': '2801',
  'Subscription Identifier Available': '2901',
  'Shared Subscription Available': '2a01',
};

const lengthOf = (hex: string) => (hex.length / 2).toString(16).padStart(2, '0');

/** `?` in the packet stands for the properties and their length. */
function misplaced(where: string, packet: string, allowed: readonly string[], servers?: string): Clause[] {
  const clauses: Clause[] = [];
  for (const [name, hex] of Object.entries(PROPERTIES)) {
    if (allowed.includes(name)) continue;
    const code = name === servers ? PROTOCOL : MALFORMED;
    const text = packet.replace('?', lengthOf(hex) + hex);
    clauses.push(['2.2.2.2', `${where} with ${name}`, text, code, SINCE_5]);
  }
  return clauses;
}

function repeated(where: string, packet: string, allowed: readonly string[]): Clause[] {
  return allowed.map((name) => {
    const hex = PROPERTIES[name]!.repeat(2);
    const text = packet.replace('?', lengthOf(hex) + hex);
    return ['2.2.2.2', `${where} with ${name} twice`, text, PROTOCOL, SINCE_5];
  });
}

const both = (where: string, packet: string, allowed: readonly string[], servers?: string): Clause[] => [
  ...misplaced(where, packet, allowed, servers),
  ...repeated(where, packet, allowed),
];

const MESSAGE = [
  'Payload Format Indicator',
  'Message Expiry Interval',
  'Content Type',
  'Response Topic',
  'Correlation Data',
];

const FRAMES: Clause[] = [
  ['2.1.2', 'packet type 0', '00', PROTOCOL],
  ...['20 00 00', '90 0001 00', 'b0 0001', 'd0'].map(
    (packet): Clause => ['2.1.2', `a packet of servers, ${packet.slice(0, 2)}`, packet, PROTOCOL],
  ),
  ...['41', '48', '51', '71', 'c1', 'cf', 'e1'].map((first): Clause => {
    const body = 'ce'.includes(first[0]!) ? '' : '0001';
    return ['[MQTT-2.1.3-1]', `flags 0x${first}`, `${first} ${body}`, MALFORMED, [4, 5]];
  }),
  ...['60', '61', '63', '6a'].map(
    (first): Clause => ['[MQTT-3.6.1-1]', `PUBREL, 0x${first}`, `${first} 0001`, MALFORMED, [4, 5]],
  ),
  ...['80', '81', '83', '8a'].map(
    (first): Clause => ['[MQTT-3.8.1-1]', `0x${first}`, `${first} 0001 ~ 0001 61 00`, MALFORMED, [4, 5]],
  ),
  ...['a0', 'a1', 'a3', 'aa'].map(
    (first): Clause => ['[MQTT-3.10.1-1]', `0x${first}`, `${first} 0001 ~ 0001 61`, MALFORMED, [4, 5]],
  ),
  ['[MQTT-3.15.1-1]', 'AUTH with flags', 'f1', MALFORMED, SINCE_5],
  ['3.12', 'PINGREQ with a body', 'c0 00', MALFORMED],
  ['[MQTT-3.1.0-2]', 'a second CONNECT', '10 0004 4d515454 04 02 0000 0001 63', PROTOCOL],
];

const PUBLISHES: Clause[] = [
  ['[MQTT-3.3.1-4]', 'QoS 3', '36 0001 61 0001 ~', MALFORMED],
  ['[MQTT-3.3.1-2]', 'DUP at QoS 0', '38 0001 61 ~', MALFORMED],
  ['[MQTT-2.2.1-3]', 'packet identifier 0 at QoS 1', '32 0001 61 0000 ~', PROTOCOL],
  ['[MQTT-2.2.1-3]', 'packet identifier 0 at QoS 2', '34 0001 61 0000 ~', PROTOCOL],
  ['3.3.2.2', 'no packet identifier', '32 0001 61', MALFORMED],
  ['3.3.2.2', 'half a packet identifier', '32 0001 61 00', MALFORMED],
  ['3.3.2.1', 'no topic', '30', MALFORMED],
  ['[MQTT-4.7.3-1]', 'an empty topic', '30 0000 ~', PROTOCOL],
  ['[MQTT-3.3.2-2]', '+ in its topic', '30 0003 612f2b ~', TOPIC_NAME],
  ['[MQTT-3.3.2-2]', '# in its topic', '30 0003 612f23 ~', TOPIC_NAME],
  ...withBadStrings('a topic', '30 $ ~'),
  ...withBadStrings('Content Type', '30 0001 61 09 03$', SINCE_5).map(fitted),
  ...withBadStrings('Response Topic', '30 0001 61 09 08$', SINCE_5).map(fitted),
  ...withBadStrings('a name', '30 0001 61 09 26$ 0001 62', SINCE_5).map(fitted),
  ...withBadStrings('a value', '30 0001 61 09 26 0001 62 $', SINCE_5).map(fitted),
  ['[MQTT-3.3.2-14]', '+ in its response topic', '30 0001 61 04 0800012b', PROTOCOL, SINCE_5],
  ['[MQTT-3.3.2-14]', '# in its response topic', '30 0001 61 04 08000123', PROTOCOL, SINCE_5],
  ['[MQTT-4.7.3-1]', 'an empty response topic', '30 0001 61 03 080000', PROTOCOL, SINCE_5],
  ['3.3.2.3.2', 'Payload Format Indicator 2', '30 0001 61 02 0102', PROTOCOL, SINCE_5],
  ['[MQTT-3.3.2-8]', 'Topic Alias 0', '30 0001 61 03 230000', 0x94, SINCE_5],
  ['[MQTT-3.3.2-9]', 'Topic Alias above the maximum', '30 0001 61 03 23ffff', 0x94, SINCE_5],
  ['3.3.2.3.4', 'a Topic Alias of nothing', '30 0000 03 230001', PROTOCOL, SINCE_5],
  ['3.3.2.3.1', 'no Property Length', '30 0001 61', MALFORMED, SINCE_5],
  ['[MQTT-1.5.5-1]', 'an overlong Property Length', '30 0001 61 8000', MALFORMED, SINCE_5],
  ['1.5.5', 'a Property Length of five bytes', '30 0001 61 8080808001', MALFORMED, SINCE_5],
  ['3.3.2.3.1', 'properties beyond its end', '30 0001 61 7f 0101', MALFORMED, SINCE_5],
  ['[MQTT-1.5.5-1]', 'an overlong identifier', '30 0001 61 03 810001', MALFORMED, SINCE_5],
  ['2.2.2.2', 'an identifier that there is not', '30 0001 61 02 0401', MALFORMED, SINCE_5],
  ['2.2.2.2', 'a property cut short', '30 0001 61 02 0200', MALFORMED, SINCE_5],
  ...both('PUBLISH', '30 0001 61 ?', [...MESSAGE, 'Topic Alias'], 'Subscription Identifier'),
];

/** Gives the properties, nine bytes as they are written above, the length that they have. */
function fitted([clause, what, packet, code, versions = BOTH]: Clause): Clause {
  const [head, properties] = packet.split(' 09 ') as [string, string]; // each holds it once
  const hex = properties.replaceAll(' ', '');
  return [clause, what, `${head} ${lengthOf(hex)} ${hex}`, code, versions];
}

const ACKNOWLEDGEMENTS: Clause[] = ['40', '50', '62', '70'].flatMap((first): Clause[] => [
  ['2.2.1', `0x${first} without its packet identifier`, first, MALFORMED],
  ['2.2.1', `0x${first} with half a packet identifier`, `${first} 00`, MALFORMED],
  ['[MQTT-2.2.1-3]', `0x${first} of packet identifier 0`, `${first} 0000`, PROTOCOL],
  ['3.1.1, 3.4', `0x${first} with bytes too many`, `${first} 0001 00`, MALFORMED, BEFORE_5],
  ['3.4.2.2', `0x${first} with bytes too many`, `${first} 0001 00 00 00`, MALFORMED, SINCE_5],
  ['3.4.2.2', `0x${first} with properties beyond its end`, `${first} 0001 00 05 1f`, MALFORMED, SINCE_5],
  ['[MQTT-1.5.5-1]', `0x${first}, Property Length overlong`, `${first} 0001 00 8000`, MALFORMED, SINCE_5],
  ['3.4.2.1', `0x${first} with a reason that there is not`, `${first} 0001 01`, PROTOCOL, SINCE_5],
  ['1.5.4', `0x${first} with a bad Reason String`, `${first} 0001 00 04 1f0001ff`, MALFORMED, SINCE_5],
  ...both(`0x${first}`, `${first} 0001 00 ?`, ['Reason String']),
]);

const REASONS: Clause[] = [
  ['3.4.2.1', 'PUBACK 0x10, which is for servers', '40 0001 10', PROTOCOL, SINCE_5],
  ['3.5.2.1', 'PUBREC 0x10, which is for servers', '50 0001 10', PROTOCOL, SINCE_5],
  ['3.4.2.1', 'PUBACK 0x92', '40 0001 92', PROTOCOL, SINCE_5],
  ['3.5.2.1', 'PUBREC 0x92', '50 0001 92', PROTOCOL, SINCE_5],
  ['3.6.2.1', 'PUBREL 0x80', '62 0001 80', PROTOCOL, SINCE_5],
  ['3.7.2.1', 'PUBCOMP 0x80', '70 0001 80', PROTOCOL, SINCE_5],
];

const SUBSCRIBES: Clause[] = [
  ['[MQTT-2.2.1-3]', 'packet identifier 0', '82 0000 ~ 0001 61 00', PROTOCOL],
  ['[MQTT-3.8.3-2]', 'no filter', '82 0001 ~', PROTOCOL],
  ['[MQTT-4.7.3-1]', 'an empty filter', '82 0001 ~ 0000 00', MALFORMED],
  ['3.8.3', 'no options', '82 0001 ~ 0001 61', MALFORMED],
  ['3.8.3.1', 'QoS 3', '82 0001 ~ 0001 61 03', PROTOCOL],
  ...['04', '08', '10', '20', '40', '80'].map(
    (bit): Clause => ['3.1.1 [MQTT-3-8.3-4]', `0x${bit}`, `82 0001 0001 61 ${bit}`, MALFORMED, IN_3_1_1],
  ),
  ...['40', '80'].map(
    (bit): Clause => ['[MQTT-3.8.3-5]', `bit 0x${bit}`, `82 0001 ~ 0001 61 ${bit}`, MALFORMED, SINCE_5],
  ),
  ['3.8.3.1', 'Retain Handling 3', '82 0001 ~ 0001 61 30', PROTOCOL, SINCE_5],
  ['[MQTT-3.8.3-4]', 'No Local, shared', '82 0001 ~ 000a 2473686172652f672f74 04', PROTOCOL, SINCE_5],
  ['[MQTT-4.7.1-1]', '# within a level', '82 0001 ~ 0002 6123 00', TOPIC_FILTER],
  ['[MQTT-4.7.1-1]', '# before another level', '82 0001 ~ 0003 232f61 00', TOPIC_FILTER],
  ['[MQTT-4.7.1-2]', '+ within a level', '82 0001 ~ 0002 612b 00', TOPIC_FILTER],
  ['[MQTT-4.8.2-1]', 'a share without a name', '82 0001 ~ 0009 2473686172652f2f61 00', TOPIC_FILTER],
  ['[MQTT-4.8.2-2]', 'a share of nothing', '82 0001 ~ 0008 2473686172652f67 00', TOPIC_FILTER],
  ['[MQTT-4.8.2-2]', '+ in a share’s name', '82 0001 ~ 000a 2473686172652f2b2f61 00', TOPIC_FILTER],
  ...withBadStrings('a filter', '82 0001 ~ $ 00'),
  ...withBadStrings('the second filter', '82 0001 ~ 0001 61 00 $ 00'),
  ['3.8.2.1.2', 'Subscription Identifier 0', '82 0001 02 0b00 0001 61 00', PROTOCOL, SINCE_5],
  ['[MQTT-1.5.5-1]', 'an overlong one', '82 0001 03 0b8100 0001 61 00', MALFORMED, SINCE_5],
  ['1.5.5', 'one of five bytes', '82 0001 06 0b8080808001 0001 61 00', MALFORMED, SINCE_5],
  ...both('SUBSCRIBE', '82 0001 ? 0001 61 00', ['Subscription Identifier']),
];

const UNSUBSCRIBES: Clause[] = [
  ['[MQTT-2.2.1-3]', 'packet identifier 0', 'a2 0000 ~ 0001 61', PROTOCOL],
  ['[MQTT-3.10.3-2]', 'no filter', 'a2 0001 ~', PROTOCOL],
  ['[MQTT-4.7.3-1]', 'an empty filter', 'a2 0001 ~ 0000', MALFORMED],
  ['[MQTT-4.7.1-1]', '# within a level', 'a2 0001 ~ 0002 6123', TOPIC_FILTER],
  ...withBadStrings('a filter', 'a2 0001 ~ $'),
  ...both('UNSUBSCRIBE', 'a2 0001 ? 0001 61', []),
];

const GOODBYES: Clause[] = [
  ['3.1.1, 3.14', 'a body', 'e0 00', MALFORMED, BEFORE_5],
  ...[
    '01',
    '87',
    '89',
    '8b',
    '8d',
    '8e',
    '8f',
    '9a',
    '9b',
    '9c',
    '9d',
    '9e',
    '9f',
    'a0',
    'a1',
    'a2',
    'ff',
  ].map((code): Clause => ['3.14.2.1', `reason 0x${code}, not a client’s`, `e0 ${code}`, PROTOCOL, SINCE_5]),
  ['3.14.2.2.2', 'an expiry where CONNECT had none', 'e0 00 05 1100000001', PROTOCOL, SINCE_5],
  ['3.14.2.2.1', 'bytes too many', 'e0 00 00 00', MALFORMED, SINCE_5],
  ['1.5.4', 'an ill-formed Reason String', 'e0 00 04 1f0001ff', MALFORMED, SINCE_5],
  ...both('DISCONNECT', 'e0 00 ?', ['Session Expiry Interval', 'Reason String'], 'Server Reference'),
];

const AUTHS: Clause[] = [
  ['3.1.1, 2.2.1', 'below version 5', 'f0', PROTOCOL, BEFORE_5],
  ['[MQTT-4.12.0-6]', 'nothing', 'f0', PROTOCOL, SINCE_5],
  ['3.15.2.1', 'reason 0x00, which is for servers', 'f0 00 04 15000161', PROTOCOL, SINCE_5],
  ['3.15.2.1', 'a reason that there is not', 'f0 01 04 15000161', PROTOCOL, SINCE_5],
  ['3.15.2.2.2', 'no method', 'f0 19 00', PROTOCOL, SINCE_5],
  ['3.15.2.2.3', 'data and no method', 'f0 19 04 160001ff', PROTOCOL, SINCE_5],
  ['4.12.1', 'a method that there is not', 'f0 19 04 15000161', 0x8c, SINCE_5],
  ['3.15.2.2.1', 'bytes too many', 'f0 19 00 00', MALFORMED, SINCE_5],
  ...both('AUTH', 'f0 19 ?', ['Authentication Method', 'Authentication Data', 'Reason String']),
];

const GREETINGS = {
  3: packetOf('10 0006 4d5149736470 03 02 0000 0001 67', 3),
  4: packetOf('10 0004 4d515454 04 02 0000 0001 67', 4),
  5: packetOf('10 0004 4d515454 05 02 0000 00 0001 67', 5),
} as const;
const PINGREQ = packetOf('c0', 5);

/** All that comes until the connection ends. What is sent behind the packet must not be dealt with any more. */
async function answersOf(port: number, ...packets: readonly Buffer[]): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(Buffer.concat([...packets, PINGREQ]));
  await once(socket, 'end');
  socket.destroy();
  return Buffer.concat(chunks);
}

/** What comes behind CONNACK. */
async function answersToConnected(port: number, version: 3 | 4 | 5, packet: Buffer): Promise<Buffer> {
  const bytes = await answersOf(port, GREETINGS[version], packet);
  return bytes.subarray(2 + bytes[1]!);
}

const isOnly = (bytes: Buffer, firstByte: number) => bytes[0] === firstByte && bytes.length === 2 + bytes[1]!;

const forEachVersion = (clauses: readonly Clause[]) =>
  clauses.flatMap(([clause, what, packet, code, versions = BOTH]) =>
    versions.map((version) => ({ clause, what, packet, code, version })),
  );

describe('a connected client is ended [FAULTS 49] for', () => {
  it.each([
    ['a packet', FRAMES],
    ['PUBLISH', PUBLISHES],
    ['PUBACK, PUBREC, PUBREL or PUBCOMP', ACKNOWLEDGEMENTS],
    ['acknowledgements of the wrong reason', REASONS],
    ['SUBSCRIBE', SUBSCRIBES],
    ['UNSUBSCRIBE', UNSUBSCRIBES],
    ['DISCONNECT', GOODBYES],
    ['AUTH', AUTHS],
  ] as const)('%s that breaks a clause, with its reason code or in silence', async (_name, clauses) => {
    const serving = await serve();
    const wrong: string[] = [];
    for (const { clause, what, packet, code, version } of forEachVersion(clauses)) {
      const bytes = await answersToConnected(serving.port, version, packetOf(packet, version));
      const isRight = version < 5 ? bytes.length === 0 : isOnly(bytes, 0xe0) && bytes[2] === code;
      if (!isRight) wrong.push(`${clause} ${what}, version ${version}: ${bytes.toString('hex')}`);
    }
    expect(wrong).toEqual([]);
    expect(serving.hub.log.events('error')).toEqual([]);
    await serving.expectAlive();
  });
});

const NAME = '10 0004 4d515454';
const CONNECT_PROPERTIES = [
  'Session Expiry Interval',
  'Receive Maximum',
  'Maximum Packet Size',
  'Topic Alias Maximum',
  'Request Problem Information',
  'Request Response Information',
  'Authentication Method',
];

/** `#` is the protocol's name and level. */
const CONNECTS: Clause[] = [
  ['[MQTT-2.1.3-1]', 'flags in its fixed header', '11 0004 4d515454 04 02 0000 0001 63', MALFORMED, [4]],
  ['[MQTT-2.1.3-1]', 'flags in its fixed header', '11 0004 4d515454 05 02 0000 00 0001 63', MALFORMED, [5]],
  ['[MQTT-3.1.2-3]', 'its reserved flag', '# 03 0000 ~ 0001 63', MALFORMED, [4, 5]],
  ['[MQTT-3.1.2-11]', 'will QoS and no will', '# 0a 0000 ~ 0001 63', MALFORMED],
  ['[MQTT-3.1.2-13]', 'will retain and no will', '# 22 0000 ~ 0001 63', MALFORMED],
  ['[MQTT-3.1.2-12]', 'will QoS 3', '# 1e 0000 ~ 0001 63 ~ 0001 77 0001 78', MALFORMED],
  ['3.1.1 [MQTT-3.1.2-22]', 'a password alone', '# 42 0000 0001 63 0001 70', MALFORMED, BEFORE_5],
  ['3.1.2.9', 'no user name', '# 82 0000 ~ 0001 63', MALFORMED, [4, 5]],
  ['3.1.2.8', 'no password', '# c2 0000 ~ 0001 63 0001 75', MALFORMED, [4, 5]],
  ['3.1.3.2', 'no will', '# 06 0000 ~ 0001 63 ~', MALFORMED],
  ['3.1.3.3', 'no will payload', '# 06 0000 ~ 0001 63 ~ 0001 77', MALFORMED],
  ['3.1.3', 'bytes too many', '# 02 0000 ~ 0001 63 00', MALFORMED],
  ['3.1.3.1', 'no client identifier', '# 02 0000 ~', MALFORMED],
  ['3.1.2.10', 'no keep alive', '# 02', MALFORMED],
  ['[MQTT-3.3.2-2]', '+ in its will topic', '# 06 0000 ~ 0001 63 ~ 0001 2b 0001 78', TOPIC_NAME],
  ['[MQTT-3.3.2-2]', '# in its will topic', '# 06 0000 ~ 0001 63 ~ 0001 23 0001 78', TOPIC_NAME],
  ['[MQTT-4.7.3-1]', 'an empty will topic', '# 06 0000 ~ 0001 63 ~ 0000 0001 78', TOPIC_NAME],
  ...withBadStrings('a client identifier', '# 02 0000 ~ $'),
  ...withBadStrings('a will topic', '# 06 0000 ~ 0001 63 ~ $ 0001 78'),
  ...withBadStrings('a user name', '# 82 0000 ~ 0001 63 $'),
  ['3.1.2.11.3', 'Receive Maximum 0', '# 02 0000 03 210000 0001 63', PROTOCOL, SINCE_5],
  ['3.1.2.11.4', 'Maximum Packet Size 0', '# 02 0000 05 2700000000 0001 63', PROTOCOL, SINCE_5],
  ['3.1.2.11.6', 'Request Response Information 2', '# 02 0000 02 1902 0001 63', PROTOCOL, SINCE_5],
  ['3.1.2.11.7', 'Request Problem Information 2', '# 02 0000 02 1702 0001 63', PROTOCOL, SINCE_5],
  ['3.1.2.11.10', 'Authentication Data and no Method', '# 02 0000 04 160001ff 0001 63', PROTOCOL, SINCE_5],
  ['4.12', 'a method that there is not', '# 02 0000 04 15000161 0001 63', 0x8c, SINCE_5],
  ['[MQTT-1.5.5-1]', 'an overlong Property Length', '# 02 0000 8000 0001 63', MALFORMED, SINCE_5],
  ['3.1.2.11.1', 'properties beyond its end', '# 02 0000 7f 210001', MALFORMED, SINCE_5],
  ...both('CONNECT', '# 02 0000 ? 0001 63', CONNECT_PROPERTIES).filter(
    ([, what]) => !/Auth.*Data$/.test(what),
  ),
  ['3.1.3.2.3', 'Payload Format Indicator 2', willWith('02 0102'), PROTOCOL, SINCE_5],
  ['[MQTT-3.3.2-14]', 'a will with # in its response topic', willWith('04 08000123'), PROTOCOL, SINCE_5],
  ['[MQTT-4.7.3-1]', 'a will with an empty response topic', willWith('03 080000'), PROTOCOL, SINCE_5],
  ...both('a will', willWith('?'), [...MESSAGE, 'Will Delay Interval']),
];

function willWith(properties: string): string {
  return `# 06 0000 00 0001 63 ${properties} 0001 77 0001 78`;
}

const HEADS = { 3: '10 0006 4d5149736470 03', 4: `${NAME} 04`, 5: `${NAME} 05` } as const;

describe('CONNECT', () => {
  it('that breaks a clause is refused with its reason code, or in silence', async () => {
    const serving = await serve();
    const wrong: string[] = [];
    for (const { clause, what, packet, code, version } of forEachVersion(CONNECTS)) {
      const text = packet.replace('# ', `${HEADS[version]} `);
      const bytes = await answersOf(serving.port, packetOf(text, version));
      const isRight = version < 5 ? bytes.length === 0 : isOnly(bytes, 0x20) && bytes[3] === code;
      if (!isRight) wrong.push(`${clause} ${what}, version ${version}: ${bytes.toString('hex')}`);
    }
    expect(wrong).toEqual([]);
    expect(serving.hub.log.events('error')).toEqual([]);
    await serving.expectAlive();
  });

  it.each([
    ['0004 4d515454 00', '20020001'],
    ['0004 4d515454 03', '20020001'],
    ['0004 4d515454 06', '20020001'],
    ['0004 4d515454 84', '20020001'],
    ['0006 4d5149736470 04', '20020001'],
    ['0006 4d5149736470 05', '20020001'],
    ['0004 6d717474 04', ''],
    ['0003 4d5154 04', ''],
    ['0000 04', ''],
    ['0001 ff 04', ''],
  ])('of %s is answered "%s" [MQTT-3.1.2-1] [MQTT-3.1.2-2]', async (protocol, answer) => {
    const serving = await serve();
    const bytes = await answersOf(serving.port, packetOf(`10 ${protocol} 02 0000 0001 63`, 4));
    expect(bytes.toString('hex')).toBe(answer);
  });

  it.each([['0005 4d51545454'], ['0004 6d717474'], ['0000']])(
    'of version 5 by the name %s is told so [MQTT-3.1.2-1]',
    async (name) => {
      const serving = await serve();
      const bytes = await answersOf(serving.port, packetOf(`10 ${name} 05 02 0000 00 0001 63`, 5));
      expect(isOnly(bytes, 0x20)).toBe(true);
      expect(bytes[3]).toBe(0x84);
    },
  );

  it.each([
    [3, '0000', 2],
    [4, '0000', 2],
  ] as const)('of version %i without an identifier is rejected [MQTT-3.1.3-8]', async (version, id, code) => {
    const serving = await serve();
    const text = `${HEADS[version]} 00 0000 ${id}`;
    const bytes = await answersOf(serving.port, packetOf(text, version));
    expect(bytes.toString('hex')).toBe(`2002000${code}`);
  });
});
