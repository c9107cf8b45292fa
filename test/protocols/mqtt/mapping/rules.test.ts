// Mapping rules there and back, without a hub: what a topic is stored as, which topic a record has, what conflicts.
import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { mappingConflicts } from '../../../../protocols/mqtt/mapping/conflicts.ts';
import { Mappings } from '../../../../protocols/mqtt/mapping/mappings.ts';
import type { Pattern } from '../../../../protocols/mqtt/mapping/pattern.ts';
import {
  covers,
  intersects,
  matchPattern,
  parsePattern,
} from '../../../../protocols/mqtt/mapping/pattern.ts';
import type { MappingRule } from '../../../../protocols/mqtt/mapping/rule.ts';
import {
  dottedName,
  escapeTopicPart,
  topicOfDottedName,
  unescapeTopicPart,
} from '../../../../protocols/mqtt/mapping/topic-escape.ts';
import { naiveMatches } from '../naive-matcher.ts';
import { mappingRule } from './rule-fixture.ts';

function there(rules: readonly MappingRule[], mqttTopic: string, clientId = 'c1') {
  const mapped = new Mappings(rules).map(mqttTopic);
  return [mapped.kafkaTopic, mapped.keyOf(clientId)];
}

function back(rules: readonly MappingRule[], kafkaTopic: string, key: string | null): string | undefined {
  const mappings = new Mappings(rules);
  const way = mappings.nameOf(kafkaTopic).wayBack;
  if (way === undefined) return undefined;
  const bytes = Buffer.from(key ?? '');
  const [start, end] = key === null ? [-1, -1] : [0, bytes.length];
  const first = mappings.mqttTopicOf(way, bytes, start, end)?.toString();
  // Remembered, it is the same.
  expect(mappings.mqttTopicOf(way, bytes, start, end)?.toString()).toBe(first);
  return first;
}

function patternOf(text: string): Pattern {
  const pattern = parsePattern(text);
  if (typeof pattern === 'string') throw new Error(pattern);
  return pattern;
}

const TELEMETRY = mappingRule({ match: 'plant/{site}/+/telemetry/#', topic: 'telemetry-{site}' });
const STATE = mappingRule({ match: 'device/{id}/state', topic: 'states', key: '{id}' });
const ALARM = mappingRule({
  match: '{site}/alarm/{line}',
  topic: 'alarm.{site}.x',
  key: '{clientId}/{line}',
});
const DOTTED = mappingRule({ match: '#', preset: 'dotted' });

describe('from MQTT to Kafka', () => {
  it.each([
    ['without a rule, the first level', [], 'plant/b/7', ['plant', 'plant/b/7']],
    [
      'a capture in the topic',
      [TELEMETRY],
      'plant/berlin/7/telemetry/temp',
      ['telemetry-berlin', 'plant/berlin/7/telemetry/temp'],
    ],
    [
      '# matches no level too',
      [TELEMETRY],
      'plant/berlin/7/telemetry',
      ['telemetry-berlin', 'plant/berlin/7/telemetry'],
    ],
    ['one level too few', [TELEMETRY], 'plant/berlin/telemetry', ['plant', 'plant/berlin/telemetry']],
    ['a capture in the key', [STATE], 'device/42/state', ['states', '42']],
    ['the client in the key', [ALARM], 'berlin/alarm/3', ['alarm.berlin.x', 'c1/3']],
    [
      'what is no letter of Kafka’s',
      [TELEMETRY],
      'plant/Köln 1/7/telemetry',
      ['telemetry-K_c3_b6ln_201', 'plant/Köln 1/7/telemetry'],
    ],
    ['a separator within a value', [ALARM], 'a.b/alarm/3', ['alarm.a_2eb.x', 'c1/3']],
    ['the first rule that matches', [STATE, DOTTED], 'device/42/state', ['states', '42']],
    ['the next one otherwise', [STATE, DOTTED], 'device/42', ['device.42', 'device/42']],
    ['dots for slashes', [DOTTED], 'a/b/c', ['a.b.c', 'a/b/c']],
    ['dots within levels', [DOTTED], 'a.b/c', ['a_2eb.c', 'a.b/c']],
    ['empty levels', [DOTTED], '/a//b', ['.a..b', '/a//b']],
    ['nothing but a slash', [DOTTED], '/', ['_2f', '/']],
    ['no topic, another key', [mappingRule({ match: 'a/{x}', key: '{x}' })], 'a/1', ['a', '1']],
    ['an illegal name', [mappingRule({ match: 'x/{a}', topic: '{a}' })], 'x/..', [undefined, 'x/..']],
    [
      'a name of the hub’s own',
      [mappingRule({ match: 'x/{a}', topic: '{a}' })],
      'x/__state',
      [undefined, 'x/__state'],
    ],
  ] as const)('%s', (_what, rules, mqttTopic, stored) => {
    expect(there(rules, mqttTopic)).toEqual(stored);
  });

  it('a name that would be too long ends in a digest', () => {
    const [name] = there([DOTTED], `${'x'.repeat(300)}/a`);
    expect(name).toMatch(/^x{216}_[0-9a-f]{32}$/);
    expect(name).not.toBe(there([DOTTED], `${'x'.repeat(300)}/b`)[0]);
  });
});

describe('from Kafka to MQTT', () => {
  it.each([
    [
      'the key is the topic',
      [TELEMETRY],
      'telemetry-berlin',
      'plant/berlin/7/telemetry/temp',
      'plant/berlin/7/telemetry/temp',
    ],
    ['of another site', [TELEMETRY], 'telemetry-berlin', 'plant/paris/7/telemetry/temp', undefined],
    ['a key that is no such topic', [TELEMETRY], 'telemetry-berlin', 'temp', undefined],
    ['no key', [TELEMETRY], 'telemetry-berlin', null, undefined],
    ['the key is a capture', [STATE], 'states', '42', 'device/42/state'],
    ['a capture that would be two levels', [STATE], 'states', '4/2', undefined],
    ['an empty key', [STATE], 'states', '', 'device//state'],
    ['null is not empty', [STATE], 'states', null, undefined],
    ['topic and key together', [ALARM], 'alarm.a_2eb.x', 'anybody/3', 'a.b/alarm/3'],
    ['another topic', [ALARM], 'alarms', 'anybody/3', undefined],
    ['an escape that nobody writes', [ALARM], 'alarm._41.x', 'c/3', undefined],
    ['escapes that are not UTF-8', [ALARM], 'alarm._ff.x', 'c/3', undefined],
    ['dots', [DOTTED], 'a.b.c', null, 'a/b/c'],
    ['dots, whatever the key', [DOTTED], 'a.b.c', 'k', 'a/b/c'],
    ['dots, an escape', [DOTTED], 'a_2eb.c', null, 'a.b/c'],
    ['dots, an escape that nobody writes', [DOTTED], 'a_41', null, undefined],
    ['dots, the slash', [DOTTED], '_2f', null, '/'],
    ['what an earlier rule takes', [STATE, DOTTED], 'device.42.state', null, undefined],
    ['a rule that delivers nothing', [{ ...STATE, direction: 'in' }], 'states', '42', undefined],
  ] as const)('%s', (_what, rules, kafkaTopic, key, mqttTopic) => {
    expect(back(rules, kafkaTopic, key)).toBe(mqttTopic);
  });

  it('a topic that no rule has to do with costs nothing', () => {
    expect(new Mappings([STATE, TELEMETRY]).nameOf('orders').wayBack).toBeUndefined();
  });

  const level = fc.string({
    unit: fc.constantFrom('a', '.', '-', '_', ' ', 'é', '4', '1', '2', 'e'),
    maxLength: 6,
  });
  const topicName = fc
    .array(level, { minLength: 1, maxLength: 5 })
    .map((levels) => levels.join('/'))
    .filter((name) => name !== '');

  test.prop([topicName])('dots are one to one, and legal', (topic) => {
    const name = dottedName(topic);
    expect(name).toMatch(/^(?!\.{1,2}$)[A-Za-z0-9._-]+$/);
    expect(topicOfDottedName(name)).toBe(topic);
    const rules = [DOTTED];
    if (there(rules, topic)[0] === name) expect(back(rules, name, null)).toBe(topic);
  });

  test.prop([fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom('', '.', '-', 'x')])(
    'an escaped part is read again',
    (text, also) => {
      const whole = Buffer.from(text).toString();
      expect(unescapeTopicPart(escapeTopicPart(whole, also))).toBe(whole);
    },
  );

  test.prop([level, level, fc.uuid()])('there and back is where one began', (site, line, clientId) => {
    const topic = `${site}/alarm/${line}`;
    const [kafkaTopic, key] = there([ALARM], topic, clientId);
    if (kafkaTopic !== undefined) expect(back([ALARM], kafkaTopic, key ?? '')).toBe(topic);
  });
});

describe('patterns', () => {
  const level = fc.constantFrom('a', 'b', '', '+', '{x}');
  const filter = fc
    .tuple(fc.array(level, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([levels, isOpen]) => {
      const once = levels.map((text, at) => (text === '{x}' && levels.indexOf(text) < at ? '+' : text));
      return [...once, ...(isOpen ? ['#'] : [])].join('/');
    })
    .filter((text) => text !== '');
  const topics = fc.array(
    fc
      .array(fc.constantFrom('a', 'b', '', 'c'), { minLength: 1, maxLength: 5 })
      .map((levels) => levels.join('/')),
    { minLength: 20, maxLength: 60 },
  );
  const plain = (text: string) => text.replaceAll('{x}', '+');

  test.prop([filter, topics])('match as filters do', (text, names) => {
    for (const name of names) {
      const matches = matchPattern(patternOf(text), name.split('/')) !== undefined;
      expect([text, name, matches]).toEqual([text, name, naiveMatches(plain(text), name)]);
    }
  });

  test.prop([filter, filter, topics])('cover and intersect as their topics do', (left, right, names) => {
    const [one, other] = [patternOf(left), patternOf(right)];
    for (const name of names) {
      const [inOne, inOther] = [naiveMatches(plain(left), name), naiveMatches(plain(right), name)];
      if (inOne && inOther) expect([left, right, intersects(one, other)]).toEqual([left, right, true]);
      if (inOther && !inOne) expect([left, right, covers(one, other)]).toEqual([left, right, false]);
    }
  });

  it('intersect means that there is a topic of both', () => {
    expect(intersects(patternOf('a/+/c'), patternOf('+/b/#'))).toBe(true);
    expect(intersects(patternOf('a/b'), patternOf('a/b/c'))).toBe(false);
    expect(intersects(patternOf('a/#'), patternOf('a'))).toBe(true);
    expect(covers(patternOf('a/#'), patternOf('a/b/+'))).toBe(true);
  });
});

describe('what a rule says of its topics', () => {
  it('replay is refused to a filter that reaches a topic without', () => {
    const mappings = new Mappings([mappingRule({ match: 'secret/{x}/log', replay: false })]);
    expect(
      ['secret/#', 'secret/1/log', '+/+/log', '#'].map((filter) => mappings.allowsReplay(filter)),
    ).toEqual([false, false, false, false]);
    expect(['secret/1', 'open/#', '+/+'].map((filter) => mappings.allowsReplay(filter))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('isolation is that of the first rule that stores in the Kafka topic', () => {
    const mappings = new Mappings([
      mappingRule({ match: 'fast/{x}', topic: 'fast-{x}', isolation: 'read_uncommitted' }),
      mappingRule({ match: 'a/#', isolation: 'read_uncommitted' }),
      DOTTED,
    ]);
    expect(['fast-1', 'a', 'a.b', 'fast'].map((topic) => mappings.visibilityOf(topic))).toEqual([
      'highWatermark',
      'highWatermark',
      'lastStable',
      'lastStable',
    ]);
  });
});

describe('conflicts', () => {
  const told = (...rules: MappingRule[]) =>
    mappingConflicts(rules, (index) => `rule ${index}`).map(
      ({ index, key, message }) => `${index} ${key}: ${message}`,
    );

  it.each([
    ['none', [STATE, TELEMETRY, ALARM, DOTTED], []],
    [
      'a wildcard within a level',
      [mappingRule({ match: 'a+/b' })],
      ['0 match: + and # fill a level, and # is the last'],
    ],
    ['# in front', [mappingRule({ match: '#/b' })], ['0 match: + and # fill a level, and # is the last']],
    [
      'half a capture',
      [mappingRule({ match: 'a/x{b}' })],
      ['0 match: "x{b}" is no capture: {name} fills a level, and a name is letters, digits and _'],
    ],
    ['a capture twice', [mappingRule({ match: '{a}/{a}' })], ['0 match: {a} stands twice']],
    [
      'a name that is taken',
      [mappingRule({ match: '{clientId}/a' })],
      ['0 match: {clientId} has a meaning of its own in templates'],
    ],
    ['topics of the hub', [mappingRule({ match: '$SYS/#' })], ['0 match: nobody publishes to "$SYS"']],
    [
      'an unknown capture',
      [mappingRule({ match: 'a/{b}', topic: 't-{c}' })],
      ['0 topic: {c} is no capture of match'],
    ],
    [
      'an unknown capture in the key',
      [mappingRule({ match: 'a/{b}', key: '{c}' })],
      ['0 key: {c} is no capture of match'],
    ],
    [
      'the client in the topic',
      [mappingRule({ match: 'a', topic: '{clientId}' })],
      ['0 topic: {clientId} may stand in key alone'],
    ],
    ['a brace alone', [mappingRule({ match: 'a', topic: 't{' })], ['0 topic: a { has no }']],
    [
      'an illegal name',
      [mappingRule({ match: 'a', topic: 'a b' })],
      ['0 topic: "a b" makes no legal topic name'],
    ],
    [
      'a name of the hub’s own',
      [mappingRule({ match: 'a', topic: '__a' })],
      ["0 topic: names that begin with __ are the hub's own"],
    ],
    [
      'a preset and a topic',
      [mappingRule({ match: '#', preset: 'dotted', topic: 'a' })],
      ['0 topic: the preset "dotted" names the topic'],
    ],
    [
      'values side by side',
      [mappingRule({ match: '{a}/{b}', topic: '{a}{b}' })],
      ['0 topic: where {a} ends cannot be told on the way back'],
    ],
    [
      'a separator that escapes have',
      [mappingRule({ match: '{a}/{b}', topic: '{a}_{b}' })],
      ['0 topic: where {a} ends cannot be told on the way back'],
    ],
    [
      'the same, but nothing goes back',
      [mappingRule({ match: '{a}/{b}', topic: '{a}_{b}', direction: 'in' })],
      [],
    ],
    [
      'a rule behind a wider one',
      [DOTTED, STATE],
      ['1 match: "device/{id}/state" never counts: rule 0 matches all of it and comes first'],
    ],
    [
      'the same rule twice',
      [STATE, STATE],
      ['1 match: "device/{id}/state" never counts: rule 0 matches all of it and comes first'],
    ],
    [
      'two topics under one key',
      [STATE, mappingRule({ match: 'sensor/{id}/state', topic: 'states', key: '{id}' })],
      ['1 topic: a record of Kafka could be of this rule or of rule 0: topic and key may be the same'],
    ],
    [
      'two topics under keys that differ',
      [STATE, mappingRule({ match: 'sensor/{id}/state', topic: 'states', key: 's/{id}' })],
      [],
    ],
    [
      'two topics in topics that differ',
      [STATE, mappingRule({ match: 'sensor/{id}/state', topic: 's.{id}.x', key: '{id}' })],
      [],
    ],
    [
      'the same key, but nothing goes back',
      [STATE, mappingRule({ match: 'sensor/{id}/state', topic: 'states', key: '{id}', direction: 'in' })],
      [],
    ],
    [
      'the same topic, whole keys',
      [mappingRule({ match: 'a/{x}', topic: 't' }), mappingRule({ match: 'b/{x}', topic: 't' })],
      [],
    ],
  ] as const)('%s', (_what, rules, lines) => {
    expect(told(...rules)).toEqual(lines);
  });
});
