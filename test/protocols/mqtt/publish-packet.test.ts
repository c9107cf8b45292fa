// PUBLISH read and written, with mqtt-packet as the other side.
import fc from 'fast-check';
import mqttPacket from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { MqttError } from '../../../protocols/mqtt/errors.ts';
import { FRAME, findFrame } from '../../../protocols/mqtt/framing.ts';
import { MessageProperties } from '../../../protocols/mqtt/packets/message-properties.ts';
import { NOTHING_OWN } from '../../../protocols/mqtt/packets/own-properties.ts';
import { PLACE } from '../../../protocols/mqtt/packets/properties.ts';
import {
  publishBounds,
  readPublish,
  variableByteIntegerLength,
  writeVariableByteInteger,
} from '../../../protocols/mqtt/packets/publish.ts';
import {
  firstByteOf,
  publishRemainingLength,
  writePublishHead,
} from '../../../protocols/mqtt/packets/publish-writer.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

function read(packet: Buffer, version: 4 | 5) {
  const frame = { bodyStart: 0, bodyEnd: 0 };
  expect(findFrame(packet, 0, packet.length, 1 << 28, frame)).toBe(FRAME.COMPLETE);
  const bounds = publishBounds();
  readPublish(bounds, packet[0]!, packet, frame.bodyStart, frame.bodyEnd, version);
  const properties = new MessageProperties();
  properties.read(packet, bounds.propertiesStart, bounds.propertiesEnd, PLACE.PUBLISH);
  const text = (start: number, end: number) => (start < 0 ? undefined : packet.toString('utf8', start, end));
  const pairs: string[] = [];
  for (let at = 0; at < properties.userProperties.length; at += 2) {
    const [start, end] = [properties.userProperties[at]!, properties.userProperties[at + 1]!];
    pairs.push(packet.toString('utf8', start, end));
  }
  return {
    qos: bounds.qos,
    retain: bounds.retain,
    packetId: bounds.packetId,
    topic: text(bounds.topicStart, bounds.topicEnd),
    payload: packet.toString('hex', bounds.payloadStart, bounds.payloadEnd),
    contentType: text(properties.contentTypeStart, properties.contentTypeEnd),
    responseTopic: text(properties.responseTopicStart, properties.responseTopicEnd),
    correlationData: text(properties.correlationDataStart, properties.correlationDataEnd),
    payloadFormat: properties.payloadFormat,
    expirySeconds: properties.expirySeconds,
    pairs,
  };
}

describe('reading PUBLISH', () => {
  it('of 3.1.1, annotated (3.1.1 figure 3.11)', () => {
    // QoS 1, retain | topic a/b | packet identifier 10 | payload
    expect(read(hex('33 09 0003612f62 000a 7879'), 4)).toMatchObject({
      qos: 1,
      retain: true,
      topic: 'a/b',
      packetId: 10,
      payload: '7879',
    });
  });

  it('of 5, annotated (section 3.3)', () => {
    // QoS 2 | topic t | packet identifier 258 | 9 bytes: expiry 60, payload format 1, alias… none | payload
    expect(read(hex('34 0e 000174 0102 07 0200 00003c 0101 ff'), 5)).toMatchObject({
      qos: 2,
      topic: 't',
      packetId: 258,
      expirySeconds: 60,
      payloadFormat: 1,
      payload: 'ff',
    });
  });

  const topics = fc.string({ minLength: 1, maxLength: 30 }).filter((topic) => !/[+#\0]/.test(topic));
  const texts = fc.string({ maxLength: 12 }).filter((text) => !text.includes('\0'));
  const pairs = fc.dictionary(
    texts.filter((text) => text !== '__proto__'),
    texts,
    { minKeys: 1, maxKeys: 4 },
  );

  it('agrees with mqtt-packet on everything that it can say', () => {
    fc.assert(
      fc.property(
        topics,
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom(0, 1, 2),
        fc.boolean(),
        fc.integer({ min: 1, max: 65_535 }),
        fc.record(
          { contentType: texts, expiry: fc.nat(0xffff_ffff), userProperties: pairs },
          { requiredKeys: [] },
        ),
        (topic, payload, qos, retain, messageId, { contentType, expiry, userProperties }) => {
          const properties = {
            ...(contentType === undefined ? {} : { contentType }),
            ...(expiry === undefined ? {} : { messageExpiryInterval: expiry }),
            ...(userProperties === undefined ? {} : { userProperties }),
          };
          const packet = mqttPacket.generate(
            {
              cmd: 'publish',
              topic,
              payload: Buffer.from(payload),
              qos: qos as 0 | 1 | 2, // of the constants above
              retain,
              dup: false,
              messageId,
              properties,
            },
            { protocolVersion: 5 },
          );
          expect(read(packet, 5)).toMatchObject({
            topic,
            qos,
            retain,
            packetId: qos === 0 ? 0 : messageId,
            payload: Buffer.from(payload).toString('hex'),
            contentType,
            expirySeconds: expiry ?? -1,
            pairs: Object.entries(userProperties ?? {}).flat(),
          });
        },
      ),
    );
  });

  it.each([
    ['QoS 3', '36 05 000174 0001'],
    ['DUP at QoS 0', '38 03 000174'],
    ['packet identifier 0', '32 05 000174 0000'],
    ['no topic length', '30 01 00'],
    ['a topic beyond the end', '30 03 000261'],
    ['no packet identifier', '32 04 000174 00'],
  ])('%s is refused', (_what, text) => {
    expect(() => read(hex(text), 4)).toThrow(MqttError);
  });

  it('a topic that reaches into the next packet is refused, not read', () => {
    const stream = hex('30 03 000a61 c000c000c000c000');
    const bounds = publishBounds();
    expect(() => readPublish(bounds, 0x30, stream, 2, 5, 4)).toThrow('ends within its topic name');
  });

  it('every cut before the payload is refused', () => {
    const packet = hex('32 16 0003612f62 0001 0d 03000374787426000161000162 70');
    const body = packet.subarray(2);
    for (let length = 0; length < body.length - 1; length++) {
      const cut = Buffer.concat([Buffer.from([0x32, length]), body.subarray(0, length)]);
      expect(() => read(cut, 5)).toThrow(MqttError);
    }
  });
});

describe('writing PUBLISH', () => {
  const form = fc.record({
    version: fc.constantFrom(4 as const, 5 as const),
    qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
    retain: fc.boolean(),
    packetId: fc.integer({ min: 1, max: 65_535 }),
    identifiers: fc.array(fc.integer({ min: 1, max: 268_435_455 }), { maxLength: 4 }),
    topic: fc.string({ minLength: 1, maxLength: 200 }),
    payload: fc.uint8Array({ maxLength: 300 }),
  });

  it('is what mqtt-packet reads', () => {
    fc.assert(
      fc.property(form, ({ version, qos, retain, packetId, identifiers, topic, payload }) => {
        const name = Buffer.from(topic);
        const parts = {
          topic: Buffer.concat([Buffer.from([name.length >> 8, name.length & 0xff]), name]),
          properties: hex('26000161000162'),
          propertiesLength: version === 5 ? 7 : 0,
          payload: Buffer.from(payload),
          payloadStart: 0,
          payloadEnd: payload.length,
        };
        const ids = version === 5 ? identifiers : [];
        const length = publishRemainingLength(parts, version, qos, ids, NOTHING_OWN);
        const packet = Buffer.alloc(1 + variableByteIntegerLength(length) + length);
        const at = writePublishHead(
          packet,
          0,
          firstByteOf(qos, retain),
          length,
          parts,
          version,
          qos === 0 ? 0 : packetId,
          ids,
          NOTHING_OWN,
        );
        packet.set(payload, at);
        expect(at + payload.length).toBe(packet.length);
        expect(parse(packet, version)).toMatchObject({
          cmd: 'publish',
          topic,
          qos,
          retain,
          payload: Buffer.from(payload),
          ...(qos > 0 ? { messageId: packetId } : {}),
          ...(ids.length > 0
            ? { properties: { subscriptionIdentifier: ids.length === 1 ? ids[0] : ids } }
            : {}),
        });
      }),
    );
  });

  it.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [16_383, 'ff7f'],
    [16_384, '808001'],
    [2_097_151, 'ffff7f'],
    [2_097_152, '80808001'],
    [268_435_455, 'ffffff7f'],
  ])('writes %s as %s (table 1-1)', (value, expected) => {
    const target = Buffer.alloc(4);
    const end = writeVariableByteInteger(target, 0, value);
    expect(target.toString('hex', 0, end)).toBe(expected);
    expect(variableByteIntegerLength(value)).toBe(end);
  });
});

function parse(packet: Buffer, version: 4 | 5): unknown {
  const parser = mqttPacket.parser({ protocolVersion: version });
  let parsed: unknown;
  parser.on('packet', (result) => {
    parsed = result;
  });
  parser.parse(packet);
  return parsed;
}
