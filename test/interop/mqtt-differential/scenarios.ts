// The scenarios, by what they are about; those of three and more clients are in scenarios-of-many.ts.
import type { Scenario } from './scenario.ts';
import {
  both,
  bytes,
  connect,
  cut,
  disconnect,
  KEEPS,
  keeping,
  of,
  only5,
  open,
  pass,
  ping,
  publish,
  QOS,
  subscribe,
  unsubscribe,
  until,
} from './scenario.ts';
import { scenariosOfMany } from './scenarios-of-many.ts';

const qos: readonly Scenario[] = QOS.flatMap((published) =>
  QOS.flatMap((subscribed) =>
    both(
      `qos: published at ${published}, subscribed at ${subscribed}`,
      connect('a'),
      connect('b'),
      subscribe('a', '~/t/+', subscribed),
      publish('b', '~/t/1', 'one', { qos: published }),
      publish('b', '~/t/1', 'two', { qos: published }),
      publish('b', '~/t/2', 'three', { qos: published }),
    ),
  ),
);

const flows: readonly Scenario[] = [
  ...both(
    'flow: a QoS 2 publish that comes twice before PUBREL is one message',
    connect('a'),
    connect('b', { keepsSilent: true }),
    subscribe('a', '~/t', 2),
    publish('b', '~/t', 'once', { qos: 2, messageId: 7 }),
    publish('b', '~/t', 'once', { qos: 2, messageId: 7, dup: true }),
    bytes('b', '62020007'),
    publish('b', '~/t', 'another', { qos: 2, messageId: 7 }),
    bytes('b', '62020007'),
  ),
  ...both('flow: PUBREL of nothing', connect('a'), bytes('a', '62020009'), ping('a')),
  ...both('flow: PUBACK of nothing', connect('a'), bytes('a', '40020009'), ping('a')),
  ...both('flow: PUBCOMP of nothing', connect('a'), bytes('a', '70020009'), ping('a')),
  ...both('flow: PUBREC of nothing', connect('a', { keepsSilent: true }), bytes('a', '50020009'), ping('a')),
  ...both(
    'flow: a client gets what it publishes itself',
    connect('a'),
    subscribe('a', '~/t', 1),
    publish('a', '~/t', 'own', { qos: 1 }),
  ),
  ...both(
    'flow: an empty payload',
    connect('a'),
    subscribe('a', '~/t', 2),
    publish('a', '~/t', '', { qos: 2 }),
  ),
  ...both(
    'flow: a large payload',
    connect('a'),
    subscribe('a', '~/t', 1),
    publish('a', '~/t', 'x'.repeat(150_000), { qos: 1 }),
  ),
  ...both(
    'flow: many in a row to three clients',
    connect('a'),
    connect('b'),
    connect('c'),
    subscribe('a', '~/#', 0),
    subscribe('b', '~/#', 1),
    subscribe('c', '~/#', 2),
    ...Array.from({ length: 12 }, (_none, index) =>
      publish('a', '~/t', `${index}`, { qos: QOS[index % 3] ?? 0 }),
    ),
  ),
  ...both('flow: ping', connect('a'), ping('a'), ping('a'), disconnect('a')),
  ...both(
    'flow: DUP of the publisher is not passed on',
    connect('a'),
    connect('b'),
    subscribe('a', '~/t', 1),
    publish('b', '~/t', 'x', { qos: 1, dup: true }),
  ),
];

const retained: readonly Scenario[] = [
  ...QOS.flatMap((level) =>
    both(
      `retained: at QoS ${level}, to those who come later`,
      connect('a'),
      publish('a', '~/t', 'kept', { qos: level, retain: true }),
      connect('b'),
      subscribe('b', '~/t', 2),
      connect('c'),
      subscribe('c', '~/+', 1),
      publish('a', '~/t', 'live', { qos: level, retain: true }),
    ),
  ),
  ...both(
    'retained: the last one is',
    connect('a'),
    publish('a', '~/t', 'one', { qos: 1, retain: true }),
    publish('a', '~/t', 'two', { qos: 1, retain: true }),
    publish('a', '~/t', 'passing', { qos: 1 }),
    subscribe('a', '~/t', 1),
  ),
  ...both(
    'retained: an empty payload clears, and is delivered',
    connect('a'),
    connect('b'),
    subscribe('b', '~/#', 1),
    publish('a', '~/t', 'one', { qos: 1, retain: true }),
    publish('a', '~/t', '', { qos: 1, retain: true }),
    subscribe('a', '~/t', 1),
  ),
  ...both(
    'retained: subscribing again brings it again',
    connect('a'),
    publish('a', '~/t', 'kept', { qos: 1, retain: true }),
    subscribe('a', '~/t', 1),
    subscribe('a', '~/t', 0),
  ),
  ...both(
    'retained: several by a wildcard',
    connect('a'),
    publish('a', '~/s/1', 'one', { qos: 1, retain: true }),
    publish('a', '~/s/2', 'two', { qos: 1, retain: true }),
    publish('a', '~/s', 'parent', { qos: 1, retain: true }),
    publish('a', '~/s/1/deep', 'deep', { qos: 1, retain: true }),
    connect('b'),
    subscribe('b', '~/s/+', 1),
    connect('c'),
    subscribe('c', '~/s/#', 1),
  ),
  ...both(
    'retained: by each filter of one SUBSCRIBE',
    connect('a'),
    publish('a', '~/1', 'one', { qos: 1, retain: true }),
    publish('a', '~/2', 'two', { qos: 1, retain: true }),
    {
      do: 'send',
      client: 'a',
      packet: {
        cmd: 'subscribe',
        messageId: 12,
        subscriptions: [
          { topic: '~/1', qos: 1 },
          { topic: '~/2', qos: 0 },
        ],
      },
    },
  ),
  ...both(
    'retained: not for a shared subscription',
    connect('a'),
    publish('a', '~/t', 'kept', { qos: 1, retain: true }),
    subscribe('a', '$share/g/~/t', 1),
    publish('a', '~/t', 'live', { qos: 1 }),
  ),
  ...([0, 1, 2] as const).flatMap((rh) =>
    only5(
      `retained: Retain Handling ${rh}, a new subscription and a renewed one`,
      connect('a'),
      publish('a', '~/t', 'kept', { qos: 1, retain: true }),
      subscribe('a', '~/t', 1, { rh }),
      subscribe('a', '~/t', 1, { rh }),
      unsubscribe('a', '~/t'),
      subscribe('a', '~/t', 1, { rh }),
    ),
  ),
  ...([true, false] as const).flatMap((rap) =>
    only5(
      `retained: Retain As Published ${rap}`,
      connect('a'),
      subscribe('a', '~/t', 1, { rap }),
      publish('a', '~/t', 'retained', { qos: 1, retain: true }),
      publish('a', '~/t', 'not', { qos: 1 }),
    ),
  ),
  ...only5(
    'retained: with its properties',
    connect('a'),
    publish('a', '~/t', 'kept', {
      qos: 1,
      retain: true,
      properties: { contentType: 'text/plain', userProperties: { one: ['1', '2'] } },
    }),
    connect('b'),
    subscribe('b', '~/t', 1, { identifier: 5 }),
  ),
  ...only5(
    'retained: expires',
    connect('a'),
    publish('a', '~/t', 'kept', { qos: 1, retain: true, properties: { messageExpiryInterval: 1 } }),
    pass(2.1),
    subscribe('a', '~/t', 1),
  ),
];

const WILDCARDS: readonly (readonly [filter: string, ...topics: string[]])[] = [
  ['~/+', '~/a', '~/a/b', '~/', '~'],
  ['~/#', '~', '~/', '~/a', '~/a/b/c'],
  ['~/+/b', '~/a/b', '~//b', '~/a/c', '~/a/b/c'],
  ['~/a/#', '~/a', '~/a/', '~/ab', '~/a/b'],
  ['~/+/+', '~/a/b', '~//', '~/a'],
  ['~/+/', '~/a/', '~/a', '~//'],
  ['~//x', '~//x', '~/x', '~/y/x'],
  ['~/+/c/#', '~/a/c', '~/a/c/d', '~/c'],
  ['~/A', '~/a', '~/A'],
  ['~/two words', '~/two words', '~/two', '~/two  words'],
  ['~/ünï/☃', '~/ünï/☃', '~/uni/☃'],
  ['~/a.b/*', '~/a.b/*', '~/a/b', '~/a.b/c'],
  ['~/$x/+', '~/$x/a', '~/x/a'],
];

const wildcards: readonly Scenario[] = WILDCARDS.flatMap(([filter, ...topics]) =>
  both(
    `wildcards: ${filter}`,
    connect('a'),
    connect('b'),
    subscribe('a', filter, 1),
    ...topics.map((topic) => publish('b', topic, 'x', { qos: 1 })),
  ),
);

const badFilters: readonly Scenario[] = [
  '~/a#',
  '~/#/b',
  '~/a+',
  '~/+b/c',
  '#/~',
  '$share/~',
  '$share//~',
].flatMap((filter) =>
  both(`filter that is none: ${filter}`, connect('a'), subscribe('a', filter, 1), ping('a')),
);

const unsubscribing: readonly Scenario[] = [
  ...both(
    'unsubscribe: ends what came by it, and that alone',
    connect('a'),
    subscribe('a', '~/t', 1),
    subscribe('a', '~/u', 1),
    unsubscribe('a', '~/t'),
    publish('a', '~/t', 'no', { qos: 1 }),
    publish('a', '~/u', 'yes', { qos: 1 }),
  ),
  ...both('unsubscribe: from what never was', connect('a'), unsubscribe('a', '~/t')),
  ...both(
    'unsubscribe: several, one of which never was',
    connect('a'),
    subscribe('a', '~/t', 1),
    unsubscribe('a', '~/t', '~/u'),
  ),
  ...both(
    'unsubscribe: a wildcard is a name there',
    connect('a'),
    subscribe('a', '~/t', 1),
    unsubscribe('a', '~/+'),
    publish('a', '~/t', 'yes', { qos: 1 }),
  ),
  ...both(
    'unsubscribe: and subscribe again',
    connect('a'),
    subscribe('a', '~/t', 1),
    unsubscribe('a', '~/t'),
    subscribe('a', '~/t', 0),
    publish('a', '~/t', 'yes', { qos: 1 }),
  ),
];

const overlapping: readonly Scenario[] = [
  ...both(
    'subscribe: the same filter again replaces',
    connect('a'),
    subscribe('a', '~/t', 0),
    subscribe('a', '~/t', 2),
    publish('a', '~/t', 'x', { qos: 2 }),
  ),
  ...both(
    'overlap: a wildcard and a name at different QoS',
    connect('a'),
    connect('b'),
    subscribe('a', '~/+', 2),
    subscribe('a', '~/t', 0),
    publish('b', '~/t', 'x', { qos: 2 }),
  ),
  ...only5(
    'overlap: with identifiers',
    connect('a'),
    subscribe('a', '~/+', 1, { identifier: 1 }),
    subscribe('a', '~/t', 2, { identifier: 2 }),
    publish('a', '~/t', 'x', { qos: 2 }),
  ),
  ...only5(
    'identifiers: of one subscription, replaced and taken away',
    connect('a'),
    subscribe('a', '~/t', 1, { identifier: 268_435_455 }),
    publish('a', '~/t', 'one', { qos: 1 }),
    subscribe('a', '~/t', 1, { identifier: 3 }),
    publish('a', '~/t', 'two', { qos: 1 }),
    subscribe('a', '~/t', 1),
    publish('a', '~/t', 'three', { qos: 1 }),
  ),
  ...only5(
    'no local: its own are kept back, others are not',
    connect('a'),
    connect('b'),
    subscribe('a', '~/t', 1, { nl: true }),
    publish('a', '~/t', 'own', { qos: 1 }),
    publish('b', '~/t', 'other', { qos: 1 }),
  ),
  ...only5(
    'no local: not with a shared subscription',
    connect('a'),
    subscribe('a', '$share/g/~/t', 1, { nl: true }),
  ),
];

const sessions: readonly Scenario[] = [
  ...keeping('session: there is none at first, one at the second time', (session) => [
    connect('a', session),
    disconnect('a'),
    connect('a', session),
  ]),
  ...keeping('session: a clean start ends it', (session) => [
    connect('a', session),
    subscribe('a', '~/t', 1),
    disconnect('a'),
    connect('a'),
    publish('a', '~/t', 'no', { qos: 1 }),
    disconnect('a'),
    connect('a', session),
  ]),
  ...QOS.flatMap((level) =>
    keeping(`session: what came at QoS ${level} while its client was away`, (session) => [
      connect('a', session),
      subscribe('a', '~/t', 2),
      disconnect('a'),
      connect('b'),
      publish('b', '~/t', 'one', { qos: level }),
      publish('b', '~/t', 'two', { qos: level }),
      connect('a', session),
      publish('b', '~/t', 'three', { qos: level }),
    ]),
  ),
  ...([1, 2] as const).flatMap((level) =>
    keeping(`session: what was not acknowledged at QoS ${level} comes again as a duplicate`, (session) => [
      connect('a', { ...session, keepsSilent: true }),
      subscribe('a', '~/t', level),
      connect('b'),
      publish('b', '~/t', 'one', { qos: level }),
      publish('b', '~/t', 'two', { qos: level }),
      cut('a'),
      publish('b', '~/t', 'three', { qos: level }),
      connect('a', session),
    ]),
  ),
  ...keeping('session: PUBREL comes again where PUBCOMP did not', (session) => [
    connect('a', { ...session, keepsSilent: true }),
    subscribe('a', '~/t', 2),
    connect('b'),
    publish('b', '~/t', 'one', { qos: 2 }),
    bytes('a', '50020001'),
    cut('a'),
    connect('a', session),
  ]),
  ...keeping('session: a QoS 2 publish goes on behind a new connection', (session) => [
    connect('b'),
    subscribe('b', '~/t', 2),
    connect('a', { ...session, keepsSilent: true }),
    publish('a', '~/t', 'once', { qos: 2, messageId: 7 }),
    cut('a'),
    connect('a', { ...session, keepsSilent: true }),
    publish('a', '~/t', 'once', { qos: 2, messageId: 7, dup: true }),
    bytes('a', '62020007'),
  ]),
  ...keeping('session: unsubscribed is unsubscribed', (session) => [
    connect('a', session),
    subscribe('a', '~/t', 1),
    subscribe('a', '~/u', 1),
    unsubscribe('a', '~/t'),
    disconnect('a'),
    connect('b'),
    publish('b', '~/t', 'no', { qos: 1 }),
    publish('b', '~/u', 'yes', { qos: 1 }),
    connect('a', session),
  ]),
  ...keeping('session: taken over while it is connected', (session) => [
    connect('a', session),
    subscribe('a', '~/t', 1),
    connect('a', session),
    publish('a', '~/t', 'x', { qos: 1 }),
  ]),
  ...both('session: a clean one taken over', connect('a'), subscribe('a', '~/t', 1), connect('a'), ping('a')),
  ...only5(
    'session: expires',
    connect('a', { clean: true, properties: { sessionExpiryInterval: 1 } }),
    disconnect('a'),
    pass(2.2),
    connect('a', KEEPS),
  ),
  ...only5(
    'session: without an expiry ends with its connection',
    connect('a', KEEPS),
    subscribe('a', '~/t', 1),
    disconnect('a'),
    connect('a', KEEPS),
  ),
  ...only5(
    'session: DISCONNECT makes it end at once',
    connect('a', { clean: false, properties: { sessionExpiryInterval: 600 } }),
    {
      do: 'send',
      client: 'a',
      packet: { cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } },
    },
    connect('a', KEEPS),
  ),
  ...only5('session: DISCONNECT may not ask for one that CONNECT did not', connect('a'), {
    do: 'send',
    client: 'a',
    packet: { cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 9 } },
  }),
  ...keeping('session: retained messages come while it was away as live ones', (session) => [
    connect('a', session),
    subscribe('a', '~/t', 1),
    disconnect('a'),
    connect('b'),
    publish('b', '~/t', 'kept', { qos: 1, retain: true }),
    connect('a', session),
  ]),
];

const will = (more: object = {}) => ({
  will: { topic: '~/will', payload: Buffer.from('gone'), qos: 1 as const, retain: false, ...more },
});

const wills: readonly Scenario[] = [
  ...QOS.flatMap((level) =>
    both(
      `will: at QoS ${level}, when the connection breaks`,
      connect('a'),
      subscribe('a', '~/will', 2),
      connect('b', will({ qos: level })),
      cut('b'),
    ),
  ),
  ...both(
    'will: not after DISCONNECT',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', will()),
    disconnect('b'),
    ping('a'),
  ),
  ...both(
    'will: when the client breaks the protocol',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', will()),
    bytes('b', 'f1 00'),
  ),
  ...both(
    'will: when the client is taken over',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', will()),
    connect('b'),
  ),
  ...both(
    'will: of no bytes',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', will({ payload: Buffer.alloc(0) })),
    cut('b'),
  ),
  ...only5(
    'will: with DISCONNECT 0x04',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', will()),
    disconnect('b', 4),
  ),
  ...only5(
    'will: delayed',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', {
      ...will({ properties: { willDelayInterval: 1 } }),
      properties: { sessionExpiryInterval: 60 },
    }),
    cut('b'),
    until('a', '~/will'),
  ),
  ...only5(
    'will: delayed, and its client comes back in time',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect('b', {
      ...will({ properties: { willDelayInterval: 2 } }),
      properties: { sessionExpiryInterval: 60 },
    }),
    cut('b'),
    connect('b', { clean: false }),
    pass(3),
  ),
  ...only5(
    'will: its properties',
    connect('a'),
    subscribe('a', '~/will', 1),
    connect(
      'b',
      will({
        properties: {
          contentType: 'text/plain',
          payloadFormatIndicator: true,
          responseTopic: '~/answer',
          correlationData: Buffer.from('c'),
          userProperties: { why: 'none' },
        },
      }),
    ),
    cut('b'),
  ),
];

const shared: readonly Scenario[] = [
  ...both(
    'shared: one member has all',
    connect('a'),
    connect('b'),
    subscribe('a', '$share/g/~/t/+', 1),
    publish('b', '~/t/1', 'one', { qos: 1 }),
    publish('b', '~/t/2', 'two', { qos: 1 }),
  ),
  ...both(
    'shared: beside a subscription that is not',
    connect('a'),
    connect('b'),
    subscribe('a', '$share/g/~/t', 1),
    subscribe('b', '~/t', 1),
    publish('b', '~/t', 'one', { qos: 1 }),
  ),
  ...both(
    'shared: two groups get one each',
    connect('a'),
    connect('b'),
    subscribe('a', '$share/g/~/t', 1),
    subscribe('b', '$share/h/~/t', 1),
    publish('b', '~/t', 'one', { qos: 1 }),
  ),
  ...both(
    'shared: unsubscribed',
    connect('a'),
    subscribe('a', '$share/g/~/t', 1),
    unsubscribe('a', '$share/g/~/t'),
    publish('a', '~/t', 'no', { qos: 1 }),
  ),
  ...both(
    'shared: when a member goes, another has what comes',
    connect('a'),
    connect('b'),
    subscribe('a', '$share/g/~/t', 1),
    subscribe('b', '$share/g/~/t', 1),
    disconnect('a'),
    publish('b', '~/t', 'one', { qos: 1 }),
    publish('b', '~/t', 'two', { qos: 1 }),
  ),
];

const PROPERTIES: Readonly<Record<string, object>> = {
  'payload format': { payloadFormatIndicator: true },
  'content type': { contentType: 'a/b; c=☃' },
  'response topic': { responseTopic: '~/answer' },
  'correlation data': { correlationData: Buffer.from([0, 1, 255]) },
  'user properties': { userProperties: { b: ['2', '1'], '': '' } },
  expiry: { messageExpiryInterval: 1_000 },
};

const properties: readonly Scenario[] = [
  ...Object.entries(PROPERTIES).flatMap(([what, given]) =>
    only5(
      `properties: ${what}`,
      connect('a'),
      connect('old', { protocolVersion: 4 }),
      subscribe('a', '~/t', 1),
      subscribe('old', '~/t', 1),
      publish('a', '~/t', 'x', { qos: 1, properties: given }),
    ),
  ),
  ...only5(
    'properties: an alias stands for its topic, and is given anew',
    connect('a'),
    subscribe('a', '~/+', 1),
    publish('a', '~/1', 'one', { qos: 1, properties: { topicAlias: 3 } }),
    publish('a', '', 'two', { qos: 1, properties: { topicAlias: 3 } }),
    publish('a', '~/2', 'three', { qos: 1, properties: { topicAlias: 3 } }),
    publish('a', '', 'four', { qos: 1, properties: { topicAlias: 3 } }),
  ),
  ...only5(
    'properties: an alias that stands for nothing',
    connect('a'),
    publish('a', '', 'x', { qos: 1, properties: { topicAlias: 3 } }),
  ),
  ...only5('properties: no topic and no alias', connect('a'), publish('a', '', 'x', { qos: 1 })),
  ...only5(
    'properties: an alias above every maximum',
    connect('a'),
    publish('a', '~/t', 'x', { qos: 1, properties: { topicAlias: 65_535 } }),
  ),
  ...only5('properties: no client identifier is assigned one', connect('a', { clientId: '' })),
  ...only5(
    'properties: a message that expires while its client is away',
    connect('a', { clean: false, properties: { sessionExpiryInterval: 60 } }),
    subscribe('a', '~/t', 1),
    disconnect('a'),
    connect('b'),
    publish('b', '~/t', 'short', { qos: 1, properties: { messageExpiryInterval: 1 } }),
    publish('b', '~/t', 'long', { qos: 1 }),
    pass(2.1),
    connect('a', { clean: false, properties: { sessionExpiryInterval: 60 } }),
  ),
  ...only5(
    'limits: Receive Maximum of 1 brings one after another',
    connect('a', { properties: { receiveMaximum: 1 } }),
    subscribe('a', '~/t', 2),
    connect('b'),
    ...Array.from({ length: 5 }, (_none, index) => publish('b', '~/t', `${index}`, { qos: 2 })),
  ),
  ...only5(
    'limits: Receive Maximum of 2 without an acknowledgement brings two, and QoS 0 beside them',
    connect('a', { properties: { receiveMaximum: 2 }, keepsSilent: true }),
    subscribe('a', '~/t', 1),
    connect('b'),
    ...Array.from({ length: 4 }, (_none, index) => publish('b', '~/t', `${index}`, { qos: 1 })),
    publish('b', '~/t', 'zero'),
  ),
  ...only5(
    'limits: a message larger than Maximum Packet Size is passed over',
    connect('a', { properties: { maximumPacketSize: 60 } }),
    subscribe('a', '~/t', 1),
    connect('b'),
    publish('b', '~/t', 'x'.repeat(90), { qos: 1 }),
    publish('b', '~/t', 'small', { qos: 1 }),
  ),
  ...only5(
    'limits: Receive Maximum of 0',
    open('a'),
    bytes('a', '10 14 0004 4d515454 05 02 003c 03 21 0000 0004 61626364'),
  ),
  of(4, 'limits: no client identifier and a session to keep', [
    open('a'),
    bytes('a', '10 0c 0004 4d515454 04 00 003c 0000'),
  ]),
  of(4, 'limits: no client identifier', [open('a'), bytes('a', '10 0c 0004 4d515454 04 02 003c 0000')]),
];

/** What a client may not send, behind CONNECT. */
const BAD_PACKETS: Readonly<Record<string, string>> = {
  'packet type 0': '00 00',
  'CONNECT again': '10 0d 0004 4d515454 04 02 003c 0001 61',
  CONNACK: '20 02 0000',
  SUBACK: '90 03 0001 00',
  UNSUBACK: 'b0 02 0001',
  PINGRESP: 'd0 00',
  'PINGREQ with flags': 'c1 00',
  'PINGREQ with a body': 'c0 01 00',
  'DISCONNECT with flags': 'e1 00',
  'PUBLISH at QoS 3': '36 06 0001 61 0001 78',
  'PUBLISH with identifier 0': '32 06 0001 61 0000 78',
  'PUBLISH to a wildcard': '30 05 0003 612f23',
  'PUBLISH to a topic that is no UTF-8': '30 04 0002 c328',
  'PUBLISH to a topic with U+0000': '30 04 0002 6100',
  'PUBLISH with a topic beyond its end': '30 03 0009 61',
  'PUBREL with flags 0': '60 02 0001',
  'PUBACK with flags': '42 02 0001',
  'PUBACK without an identifier': '40 00',
  'SUBSCRIBE with flags 0': '80 06 0001 0001 61 00',
  'SUBSCRIBE of nothing': '82 02 0001',
  'SUBSCRIBE with identifier 0': '82 06 0000 0001 61 00',
  'SUBSCRIBE at QoS 3': '82 06 0001 0001 61 03',
  'UNSUBSCRIBE with flags 0': 'a0 05 0001 0001 61',
  'UNSUBSCRIBE of nothing': 'a2 02 0001',
  'a length of five bytes': '30 ff ff ff ff 7f',
};

/** First packets that are refused, or are none. */
const BAD_CONNECTS: Readonly<Record<string, string>> = {
  'PINGREQ first': 'c0 00',
  'PUBLISH first': '30 04 0001 61 78',
  'a version to come': '10 0d 0004 4d515454 07 02 003c 0001 61',
  'the reserved flag': '10 0d 0004 4d515454 04 03 003c 0001 61',
  'a will at QoS 3': '10 13 0004 4d515454 04 1e 003c 0001 61 0001 62 0001 63',
  'will flags without a will': '10 0d 0004 4d515454 04 0a 003c 0001 61',
  'a password without a user name': '10 10 0004 4d515454 04 42 003c 0001 61 0001 62',
  'an identifier beyond its end': '10 0d 0004 4d515454 04 02 003c 0009 61',
  'flags in the first byte': '11 0d 0004 4d515454 04 02 003c 0001 61',
};

const bad: readonly Scenario[] = [
  ...Object.entries(BAD_PACKETS).map(([what, hex]) => of(4, `bad: ${what}`, [connect('a'), bytes('a', hex)])),
  ...Object.entries(BAD_CONNECTS).map(([what, hex]) => of(4, `bad: ${what}`, [open('a'), bytes('a', hex)])),
  ...only5('bad: AUTH without a method', connect('a'), bytes('a', 'f0 00')),
  ...only5('bad: SUBSCRIBE with reserved bits', connect('a'), bytes('a', '82 07 0001 00 0001 61 c0')),
  ...only5('bad: Retain Handling 3', connect('a'), bytes('a', '82 07 0001 00 0001 61 30')),
  ...only5('bad: a Subscription Identifier of 0', connect('a'), bytes('a', '82 09 0001 02 0b00 0001 61 00')),
  ...only5('bad: a property twice', connect('a'), bytes('a', '30 08 0001 61 04 0100 0100')),
  ...only5('bad: a property of another packet', connect('a'), bytes('a', '30 07 0001 61 03 21 0001')),
  ...only5('bad: a payload format of 2', connect('a'), bytes('a', '30 06 0001 61 02 0102')),
];

export const scenarios: readonly Scenario[] = [
  ...qos,
  ...flows,
  ...retained,
  ...wildcards,
  ...badFilters,
  ...unsubscribing,
  ...overlapping,
  ...sessions,
  ...wills,
  ...shared,
  ...properties,
  ...bad,
  ...scenariosOfMany,
];
