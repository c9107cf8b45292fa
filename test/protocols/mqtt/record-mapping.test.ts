// The Kafka topic of an MQTT topic, and the source attributes of a publish.
import fc from 'fast-check';
import { unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { MessageProperties } from '../../../protocols/mqtt/packets/message-properties.ts';
import { PLACE } from '../../../protocols/mqtt/packets/properties.ts';
import {
  encodeAttributes,
  isReservedName,
  isReservedTopic,
  kafkaTopicOf,
  patchPacketId,
} from '../../../protocols/mqtt/record-mapping.ts';

describe('the Kafka topic of an MQTT topic', () => {
  it.each([
    ['telemetry', 'telemetry'],
    ['my_topic.v1-x', 'my_topic.v1-x'],
    ['plant/1/temp', 'plant'],
    ['/plant/1', 'plant'],
    ['//plant', 'plant'],
    ['a_b/c', 'a_b'],
    ['two words/x', 'two_20words'],
    ['größe/1', 'gr_c3_b6_c3_9fe'],
    ['a b_c/1', 'a_20b_5fc'],
    ['>', '_3e'],
    ['*/x', '_2a'],
    ['./x', '_2e'],
    ['..', '_2e_2e'],
    ['/', '_2f'],
    ['//', '_2f'],
    ['/$x', '_24x'],
  ])('of %s is %s', (mqttTopic, kafkaTopic) => {
    expect(kafkaTopicOf(mqttTopic)).toBe(kafkaTopic);
  });

  const topics = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 });

  it('is always legal, and never one of the hub’s own', () => {
    fc.assert(
      fc.property(topics, (mqttTopic) => {
        const name = kafkaTopicOf(mqttTopic);
        const isLegal = /^[A-Za-z0-9._-]{1,249}$/.test(name) && name !== '.' && name !== '..';
        return isLegal && (isReservedTopic(mqttTopic) || !name.startsWith('__'));
      }),
    );
  });

  it('tells apart all levels that need escaping', () => {
    const levels = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    const needsEscaping = (level: string) => !level.includes('/') && !/^[A-Za-z0-9._-]*$/.test(level);
    fc.assert(
      fc.property(levels.filter(needsEscaping), levels.filter(needsEscaping), (left, right) =>
        left === right ? true : kafkaTopicOf(left) !== kafkaTopicOf(right),
      ),
    );
  });

  it('of a level that is too long keeps its beginning and ends in a digest', () => {
    const [left, right] = [kafkaTopicOf(`${'a'.repeat(300)}x`), kafkaTopicOf(`${'a'.repeat(300)}y`)];
    expect(left).toMatch(/^a{216}_[0-9a-f]{32}$/);
    expect(left).not.toBe(right);
  });

  it.each(['$SYS/x', '$x', '__consumer_offsets', '__x/y', '/__x'])(
    '%s is nobody’s to publish to',
    (topic) => {
      expect(isReservedTopic(topic)).toBe(true);
    },
  );

  it.each(['a$', '_x', 'a/__x', '/$x'])('%s is like others', (topic) => {
    expect(isReservedTopic(topic)).toBe(false);
  });
});

describe('source attributes', () => {
  const publish = {
    topic: Buffer.from('plant/1/temp'),
    clientId: Buffer.from('device'),
    qos: 1,
    retain: false,
    packetId: 7,
  } as const;

  function decoded(attributes: Uint8Array): [string, string][] {
    const flat: unknown = unpack(attributes);
    const list = flat as (string | Uint8Array)[]; // names and values by turns, all present
    return list.flatMap((name, index) =>
      index % 2 === 0 ? [[String(name), Buffer.from(list[index + 1] as Uint8Array).toString('latin1')]] : [],
    );
  }

  it('are a MessagePack array of names and values, topic first', () => {
    expect(decoded(encodeAttributes(publish))).toEqual([
      ['mqtt.topic', 'plant/1/temp'],
      ['mqtt.client-id', 'device'],
      ['mqtt.qos', '1'],
    ]);
  });

  it('hold all that a v5 publish says of itself', () => {
    const bytes = Buffer.from('0101020000003c03000474657874080001720900022aff', 'hex');
    const values = new MessageProperties();
    values.read(bytes, 0, bytes.length, PLACE.PUBLISH);
    const attributes = encodeAttributes({ ...publish, qos: 2, retain: true }, { bytes, values });
    expect(decoded(attributes)).toEqual([
      ['mqtt.topic', 'plant/1/temp'],
      ['mqtt.client-id', 'device'],
      ['mqtt.qos', '2'],
      ['mqtt.retain', '1'],
      ['mqtt.content-type', 'text'],
      ['mqtt.response-topic', 'r'],
      ['mqtt.correlation-data', '*\xff'],
      ['mqtt.payload-format', '1'],
      ['mqtt.expiry', '60'],
      ['_mqtt.packet-id', '\x00\x07'],
    ]);
  });

  it('take another packet identifier in place', () => {
    const attributes = encodeAttributes({ ...publish, qos: 2 });
    patchPacketId(attributes, 0xabcd);
    expect(decoded(attributes).at(-1)).toEqual(['_mqtt.packet-id', '\xab\xcd']);
  });

  it('hold topics of any length', () => {
    for (const length of [255, 256, 65_535]) {
      const topic = Buffer.alloc(length, 'a');
      expect(decoded(encodeAttributes({ ...publish, topic }))[0]).toEqual(['mqtt.topic', 'a'.repeat(length)]);
    }
  });

  it.each([
    ['mqtt.topic', true],
    ['mqtt.', true],
    ['mqtt', false],
    ['mqttx', false],
    ['x', false],
  ])('%s is a name of the hub’s own: %s', (name, reserved) => {
    const bytes = Buffer.from(name);
    expect(isReservedName(bytes, 0, bytes.length)).toBe(reserved);
  });
});
