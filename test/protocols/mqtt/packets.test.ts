// Every packet but PUBLISH: annotated bytes, mqtt-packet as the other side, and what is refused.
import type { Packet } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { MqttError } from '../../../protocols/mqtt/errors.ts';
import {
  ACKNOWLEDGEMENT,
  acknowledgementLength,
  readAcknowledgement,
  writeAcknowledgement,
} from '../../../protocols/mqtt/packets/acknowledgement.ts';
import {
  encodeConnack,
  encodeDisconnect,
  encodeSuback,
  encodeUnsuback,
} from '../../../protocols/mqtt/packets/cold-packets.ts';
import { readConnect } from '../../../protocols/mqtt/packets/connect.ts';
import { readDisconnect } from '../../../protocols/mqtt/packets/disconnect.ts';
import type { Version } from '../../../protocols/mqtt/packets/publish.ts';
import { readSubscribe } from '../../../protocols/mqtt/packets/subscribe.ts';
import { readUnsubscribe } from '../../../protocols/mqtt/packets/unsubscribe.ts';
import { REASON } from '../../../protocols/mqtt/reason-codes.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const encode = (packet: Packet, protocolVersion: Version) => mqttPacket.generate(packet, { protocolVersion });

/** Bodies below are shorter than 128 bytes or have their length taken off here. */
function bodyOf(packet: Buffer): Buffer {
  let at = 1;
  while (packet[at]! >= 0x80) at++;
  return packet.subarray(at + 1);
}

function connect(body: Buffer) {
  return readConnect(body, 0, body.length, { version: undefined, packetBytesMax: 0 });
}

function codeOf(read: () => unknown): number {
  try {
    read();
    return 0;
  } catch (error) {
    if (error instanceof MqttError) return error.reasonCode;
    throw error;
  }
}

describe('CONNECT', () => {
  it('of 3.1.1 with everything, annotated', () => {
    const body = hex(
      // MQTT | level 4 | user, password, will retain, will QoS 1, will, clean | keep alive 10
      '0004 4d515454 04 ee 000a' +
        // id c | will topic w | will payload x | user u | password p
        '0001 63 0001 77 0001 78 0001 75 0001 70',
    );
    expect(connect(body)).toMatchObject({
      version: 4,
      clean: true,
      keepAliveSeconds: 10,
      clientId: 'c',
      will: { topic: 'w', payload: Buffer.from('x'), qos: 1, retain: true },
      userName: 'u',
      password: Buffer.from('p'),
    });
  });

  it('of 3.1 calls itself MQIsdp and may leave out what its flags promise', () => {
    expect(connect(hex('0006 4d5149736470 03 c2 000a 0001 63'))).toMatchObject({
      version: 3,
      clientId: 'c',
      userName: undefined,
      password: undefined,
    });
  });

  it('of 5 agrees with mqtt-packet', () => {
    const packet = encode(
      {
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 5,
        clean: false,
        keepalive: 300,
        clientId: 'größe',
        username: 'u',
        password: Buffer.from([0, 255]),
        properties: {
          sessionExpiryInterval: 3600,
          receiveMaximum: 7,
          maximumPacketSize: 1000,
          topicAliasMaximum: 3,
          requestProblemInformation: true,
          userProperties: { a: ['1', '2'] },
        },
        will: {
          topic: 'w/t',
          payload: Buffer.from('gone'),
          qos: 2,
          retain: false,
          properties: { willDelayInterval: 5, contentType: 'text', userProperties: { k: 'v' } },
        },
      },
      5,
    );
    const read = connect(bodyOf(packet));
    expect(read).toMatchObject({
      version: 5,
      clean: false,
      keepAliveSeconds: 300,
      clientId: 'größe',
      userName: 'u',
      password: Buffer.from([0, 255]),
      sessionExpirySeconds: 3600,
      receiveMaximum: 7,
      packetBytesMax: 1000,
      topicAliasMaximum: 3,
      will: { topic: 'w/t', payload: Buffer.from('gone'), qos: 2, retain: false },
    });
    expect(read.will?.properties).toMatchObject({ willDelaySeconds: 5, userPropertyCount: 1 });
  });

  const head = '0004 4d515454';
  it.each([
    ['its reserved flag [MQTT-3.1.2-3]', `${head} 04 03 0000 0001 63`],
    ['will QoS without a will [MQTT-3.1.2-11]', `${head} 04 0a 0000 0001 63`],
    ['will retain without a will [MQTT-3.1.2-13]', `${head} 04 22 0000 0001 63`],
    ['will QoS 3 [MQTT-3.1.2-12]', `${head} 04 1e 0000 0001 63 0001 77 0001 78`],
    ['a password alone in 3.1.1 [MQTT-3.1.2-22]', `${head} 04 42 0000 0001 63 0001 70`],
    ['bytes too many', `${head} 04 02 0000 0001 63 00`],
    ['a client identifier beyond the end', `${head} 04 02 0000 0009 63`],
    ['a control character in its identifier', `${head} 04 02 0000 0001 07`],
    ['an ill-formed user name', `${head} 04 82 0000 0001 63 0001 ff`],
  ])('with %s is malformed', (_what, text) => {
    expect(codeOf(() => connect(hex(text)))).toBe(REASON.MALFORMED_PACKET);
  });

  it.each(['04', '05'])(
    'of level %s by another name, in lower case, is not of a version that is served',
    (level) => {
      const text = `0004 6d717474 ${level} 02 0000 00 0001 63`;
      expect(codeOf(() => connect(hex(text)))).toBe(REASON.UNSUPPORTED_PROTOCOL_VERSION);
    },
  );

  it('with a wildcard in its will topic is refused for that', () => {
    const text = `${head} 05 06 0000 00 0001 63 00 0001 23 0001 78`;
    expect(codeOf(() => connect(hex(text)))).toBe(REASON.TOPIC_NAME_INVALID);
  });

  it.each([
    ['0004 4d515454 03', 'MQTT at level 3'],
    ['0004 4d515454 06', 'MQTT at level 6'],
    ['0006 4d5149736470 04', 'MQIsdp at level 4'],
  ])('%s (%s) is of a version that is not served', (text) => {
    expect(() => connect(hex(`${text} 02 0000 0001 63`))).toThrow('protocol');
  });

  it('of 5 may have a password alone (section 3.1.2.9)', () => {
    expect(connect(hex(`${head} 05 42 0000 00 0001 63 0001 70`)).password).toEqual(Buffer.from('p'));
  });

  it('with authentication data and no method is a protocol error', () => {
    expect(codeOf(() => connect(hex(`${head} 05 02 0000 04 16000161 0001 63`)))).toBe(REASON.PROTOCOL_ERROR);
  });

  it('cut anywhere is refused and reads nothing behind it', () => {
    const packet = encode(
      {
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 5,
        clientId: 'c',
        username: 'u',
        properties: { receiveMaximum: 7 },
        will: { topic: 'w', payload: 'x' },
      },
      5,
    );
    const body = bodyOf(packet);
    for (let length = 0; length < body.length; length++) {
      expect(
        codeOf(() => readConnect(body, 0, length, { version: undefined, packetBytesMax: 0 })),
      ).toBeGreaterThan(0);
    }
  });
});

describe('SUBSCRIBE', () => {
  const subscribe = (text: string | Buffer, version: Version) => {
    const body = typeof text === 'string' ? hex(text) : text;
    return readSubscribe(body, 0, body.length, version);
  };

  it('of 5 agrees with mqtt-packet', () => {
    const packet = encode(
      {
        cmd: 'subscribe',
        messageId: 300,
        subscriptions: [
          { topic: 'a/+', qos: 1, nl: true, rap: true, rh: 2 },
          { topic: '#', qos: 0 },
        ],
        properties: { subscriptionIdentifier: 268_435_455 },
      },
      5,
    );
    expect(subscribe(bodyOf(packet), 5)).toEqual({
      packetId: 300,
      identifier: 268_435_455,
      requests: [
        { filter: 'a/+', qos: 1, noLocal: true, retainAsPublished: true, retainHandling: 2 },
        { filter: '#', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 },
      ],
    });
  });

  it.each([
    ['no filter [MQTT-3.8.3-2]', '0001', 4, REASON.PROTOCOL_ERROR],
    ['packet identifier 0', '0000 0001 61 00', 4, REASON.PROTOCOL_ERROR],
    ['an empty filter', '0001 0000 00', 4, REASON.MALFORMED_PACKET],
    ['QoS 3', '0001 00 0001 61 03', 5, REASON.PROTOCOL_ERROR],
    ['reserved bits of 3.1.1', '0001 0001 61 04', 4, REASON.MALFORMED_PACKET],
    ['reserved bits of 5', '0001 00 0001 61 40', 5, REASON.MALFORMED_PACKET],
    ['retain handling 3', '0001 00 0001 61 30', 5, REASON.PROTOCOL_ERROR],
    ['no options', '0001 0001 61', 4, REASON.MALFORMED_PACKET],
    ['an ill-formed filter', '0001 0001 ff 00', 4, REASON.MALFORMED_PACKET],
    ['identifier 0', '0001 02 0b00 0001 61 00', 5, REASON.PROTOCOL_ERROR],
    ['properties beyond the end', '0001 7f 0b01', 5, REASON.MALFORMED_PACKET],
  ] as const)('with %s is refused', (_what, text, version, code) => {
    expect(codeOf(() => subscribe(text, version))).toBe(code);
  });
});

describe('UNSUBSCRIBE', () => {
  const unsubscribe = (text: string, version: Version) => {
    const body = hex(text);
    return readUnsubscribe(body, 0, body.length, version);
  };

  it('names filters in order', () => {
    expect(unsubscribe('0007 0001 61 0003 622f23', 4)).toEqual({ packetId: 7, filters: ['a', 'b/#'] });
    expect(unsubscribe('0007 07 26000161000162 0001 61', 5)).toEqual({ packetId: 7, filters: ['a'] });
  });

  it.each([
    ['no filter', '0007', REASON.PROTOCOL_ERROR],
    ['packet identifier 0', '0000 0001 61', REASON.PROTOCOL_ERROR],
    ['an empty filter', '0007 0000', REASON.MALFORMED_PACKET],
  ])('with %s is refused', (_what, text, code) => {
    expect(codeOf(() => unsubscribe(text, 4))).toBe(code);
  });
});

describe('acknowledgements', () => {
  const read = (type: number, text: string, version: Version) => {
    const fields = { packetId: 0, reasonCode: -1 };
    const body = hex(text);
    readAcknowledgement(fields, type, body, 0, body.length, version);
    return fields;
  };

  it.each([
    [4, '0102', 4, { packetId: 258, reasonCode: 0 }],
    [4, '0102', 5, { packetId: 258, reasonCode: 0 }],
    [5, '0102 97', 5, { packetId: 258, reasonCode: 0x97 }],
    [6, '0102 92 00', 5, { packetId: 258, reasonCode: 0x92 }],
    [7, '0102 00 04 1f000161', 5, { packetId: 258, reasonCode: 0 }],
  ] as const)('of type %i, %s in version %i', (type, text, version, fields) => {
    expect(read(type, text, version)).toEqual(fields);
  });

  it.each([
    ['of one byte', 4, '01', 4, REASON.MALFORMED_PACKET],
    ['with a reason below version 5', 4, '0001 00', 4, REASON.MALFORMED_PACKET],
    ['of packet identifier 0', 4, '0000', 4, REASON.PROTOCOL_ERROR],
    ['with a reason that PUBREL has not', 6, '0001 97', 5, REASON.PROTOCOL_ERROR],
    ['with a reason that nobody has', 5, '0001 ff', 5, REASON.PROTOCOL_ERROR],
    ['with bytes too many', 4, '0001 00 00 00', 5, REASON.MALFORMED_PACKET],
    ['with an ill-formed reason string', 4, '0001 00 04 1f0001ff', 5, REASON.MALFORMED_PACKET],
  ] as const)('%s are refused', (_what, type, text, version, code) => {
    expect(codeOf(() => read(type, text, version))).toBe(code);
  });

  it.each([
    ['puback', ACKNOWLEDGEMENT.PUBACK, 0x97],
    ['pubrec', ACKNOWLEDGEMENT.PUBREC, 0x97],
    ['pubrel', ACKNOWLEDGEMENT.PUBREL, 0x92],
    ['pubcomp', ACKNOWLEDGEMENT.PUBCOMP, 0x92],
  ] as const)('%s is written as mqtt-packet reads it', (cmd, firstByte, failure) => {
    for (const [version, reasonCode] of [
      [4, 0],
      [5, 0],
      [5, failure],
    ] as const) {
      const bytes = Buffer.alloc(acknowledgementLength(reasonCode, version));
      writeAcknowledgement(bytes, 0, firstByte, 513, reasonCode, version);
      const expected = { cmd, messageId: 513, ...(version === 5 ? { reasonCode } : {}) };
      expect(parse(bytes, version)).toMatchObject(expected);
    }
  });
});

describe('DISCONNECT', () => {
  const read = (text: string, version: Version) => {
    const body = hex(text);
    return readDisconnect(body, 0, body.length, version);
  };

  it.each([
    ['', 4, { reasonCode: 0, sessionExpirySeconds: undefined }],
    ['', 5, { reasonCode: 0, sessionExpirySeconds: undefined }],
    ['04', 5, { reasonCode: 4, sessionExpirySeconds: undefined }],
    ['00 05 11 0000003c', 5, { reasonCode: 0, sessionExpirySeconds: 60 }],
  ] as const)('"%s" in version %i', (text, version, packet) => {
    expect(read(text, version)).toEqual(packet);
  });

  it.each([
    ['a body below version 5', '00', 4, REASON.MALFORMED_PACKET],
    ['a reason that only servers have', '8d', 5, REASON.PROTOCOL_ERROR],
    ['an ill-formed reason string', '00 04 1f0001ff', 5, REASON.MALFORMED_PACKET],
    ['a property of another packet', '00 03 210001', 5, REASON.MALFORMED_PACKET],
    ['bytes too many', '00 00 00', 5, REASON.MALFORMED_PACKET],
  ] as const)('with %s is refused', (_what, text, version, code) => {
    expect(codeOf(() => read(text, version))).toBe(code);
  });
});

describe('packets of the server', () => {
  it('are what their annotated bytes say', () => {
    expect(encodeConnack(4, 2, false)).toEqual(hex('20 02 00 02'));
    expect(encodeConnack(5, 0, false, { receiveMaximum: 10 })).toEqual(hex('20 06 00 00 03 21000a'));
    expect(encodeSuback(4, 258, [0, 2, 0x80])).toEqual(hex('90 05 0102 00 02 80'));
    expect(encodeSuback(5, 258, [0x9e])).toEqual(hex('90 04 0102 00 9e'));
    expect(encodeUnsuback(4, 258, [0])).toEqual(hex('b0 02 0102'));
    expect(encodeUnsuback(5, 258, [0, 0x11])).toEqual(hex('b0 05 0102 00 00 11'));
    expect(encodeDisconnect(0x8b)).toEqual(hex('e0 02 8b 00'));
  });
});

function parse(packet: Buffer, version: Version): unknown {
  const parser = mqttPacket.parser({ protocolVersion: version });
  let parsed: unknown;
  parser.on('packet', (result) => {
    parsed = result;
  });
  parser.parse(packet);
  return parsed;
}
