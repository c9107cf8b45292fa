// Random packets of clients that are right, written by mqtt-packet and read here: every field must be what was said.
// PUBLISH has a test of its own.
import fc from 'fast-check';
import type { Packet, UserProperties } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { FRAME, findFrame, flagsAreLegal } from '../../../protocols/mqtt/framing.ts';
import { readAcknowledgement } from '../../../protocols/mqtt/packets/acknowledgement.ts';
import { readAuth } from '../../../protocols/mqtt/packets/auth.ts';
import { readConnect } from '../../../protocols/mqtt/packets/connect.ts';
import { readDisconnect } from '../../../protocols/mqtt/packets/disconnect.ts';
import type { Version } from '../../../protocols/mqtt/packets/publish.ts';
import { readSubscribe } from '../../../protocols/mqtt/packets/subscribe.ts';
import { readUnsubscribe } from '../../../protocols/mqtt/packets/unsubscribe.ts';

/** Read among other bytes, as it comes from a socket. */
function readFrom<Result>(
  packet: Packet,
  protocolVersion: Version,
  read: (bytes: Buffer, start: number, end: number, type: number) => Result,
): Result {
  const written = mqttPacket.generate(packet, { protocolVersion });
  const bytes = Buffer.concat([Buffer.from([0xff]), written, Buffer.from([0xff, 0xff])]);
  const bounds = { bodyStart: 0, bodyEnd: 0 };
  expect(findFrame(bytes, 1, bytes.length, 1 << 20, bounds)).toBe(FRAME.COMPLETE);
  expect(bounds.bodyEnd).toBe(1 + written.length);
  expect(flagsAreLegal(bytes[1]!, protocolVersion)).toBe(true);
  return read(bytes, bounds.bodyStart, bounds.bodyEnd, bytes[1]! >> 4);
}

const versions = fc.constantFrom<4 | 5>(4, 5);
const packetIds = fc.integer({ min: 1, max: 65_535 });
const fourBytes = fc.nat(0xffff_ffff);
const binaries = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const hasControls = (text: string) => [...text].some((character) => /\p{Cc}/u.test(character));
const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }).filter((text) => !hasControls(text));
const topics = names.filter((text) => !/[+#]/.test(text));
const filters = fc
  .array(fc.constantFrom('', '+', 'a', 'größe', '$', ' '), { minLength: 1, maxLength: 6 })
  .map((levels) => levels.join('/'))
  .filter((filter) => filter !== '');
/** mqtt-packet leaves out an empty one. */
const texts = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 12 })
  .filter((text) => !text.includes('\0'));
const userProperties: fc.Arbitrary<UserProperties> = fc.dictionary(
  texts.filter((text) => text !== '__proto__'),
  texts,
  { minKeys: 1, maxKeys: 3 },
);
const optional = { requiredKeys: [] };

/** mqtt-packet takes no key whose value is undefined. */
const given = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Value; // only its keys go

const wills = fc.record({
  topic: topics,
  payload: binaries,
  qos: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
  retain: fc.boolean(),
  properties: fc.record(
    { willDelayInterval: fourBytes, messageExpiryInterval: fourBytes, contentType: texts, userProperties },
    optional,
  ),
});

describe('what mqtt-packet writes is read as it was said:', () => {
  it('CONNECT', () => {
    const connects = fc.record({
      protocolVersion: versions,
      clean: fc.boolean(),
      keepalive: fc.nat(65_535),
      clientId: names,
      username: fc.option(names, { nil: undefined }),
      password: fc.option(binaries, { nil: undefined }),
      will: fc.option(wills, { nil: undefined }),
      properties: fc.record(
        {
          sessionExpiryInterval: fourBytes,
          receiveMaximum: packetIds,
          maximumPacketSize: fc.integer({ min: 1, max: 0xffff_ffff }),
          topicAliasMaximum: fc.nat(65_535),
          requestResponseInformation: fc.boolean(),
          requestProblemInformation: fc.boolean(),
          authenticationMethod: texts,
          userProperties,
        },
        optional,
      ),
    });
    fc.assert(
      fc.property(connects, ({ protocolVersion, will, username, password, properties, ...rest }) => {
        // A password alone is for version 5 (section 3.1.2.9), and mqtt-packet writes none at all.
        const withPassword = username === undefined ? undefined : password;
        const packet = given({
          cmd: 'connect' as const,
          protocolId: 'MQTT' as const,
          protocolVersion,
          ...rest,
          username,
          password: withPassword,
          will: will && { ...will, properties: given(will.properties) },
          properties: given(properties),
        });
        const progress = { version: undefined, packetBytesMax: 0 };
        const read = readFrom(packet as Packet, protocolVersion, (bytes, start, end) =>
          readConnect(bytes, start, end, progress),
        );
        const said = protocolVersion === 5 ? properties : {};
        expect(read).toMatchObject({
          version: protocolVersion,
          clean: rest.clean,
          keepAliveSeconds: rest.keepalive,
          clientId: rest.clientId,
          userName: username,
          password: withPassword,
          sessionExpirySeconds: said.sessionExpiryInterval ?? 0,
          receiveMaximum: said.receiveMaximum ?? 65_535,
          packetBytesMax: said.maximumPacketSize ?? Number.MAX_SAFE_INTEGER,
          topicAliasMaximum: said.topicAliasMaximum ?? 0,
          wantsProblemInformation: said.requestProblemInformation ?? true,
          wantsResponseInformation: said.requestResponseInformation ?? false,
          authenticationMethod: said.authenticationMethod,
        });
        expect(read.will === undefined).toBe(will === undefined);
        if (will === undefined) return;
        const { properties: willSaid, ...plain } = will;
        expect(read.will).toMatchObject(plain);
        const { willDelayInterval = -1, messageExpiryInterval = -1 } = protocolVersion === 5 ? willSaid : {};
        expect(read.will?.properties).toMatchObject({
          willDelaySeconds: willDelayInterval,
          expirySeconds: messageExpiryInterval,
        });
      }),
      { numRuns: 150 },
    );
  });

  it('SUBSCRIBE', () => {
    const requests = fc.record({
      topic: filters,
      qos: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
      nl: fc.boolean(),
      rap: fc.boolean(),
      rh: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
    });
    const identifiers = fc.option(fc.integer({ min: 1, max: 268_435_455 }), { nil: undefined });
    fc.assert(
      fc.property(
        versions,
        packetIds,
        fc.array(requests, { minLength: 1, maxLength: 5 }),
        identifiers,
        (version, messageId, subscriptions, subscriptionIdentifier) => {
          const properties = given({ subscriptionIdentifier });
          const packet = { cmd: 'subscribe', messageId, subscriptions, properties } as Packet; // given() hides it
          const read = readFrom(packet, version, (bytes, start, end) =>
            readSubscribe(bytes, start, end, version),
          );
          expect(read).toMatchObject({
            packetId: messageId,
            identifier: version === 5 ? (subscriptionIdentifier ?? 0) : 0,
            requests: subscriptions.map(({ topic, qos, nl, rap, rh }) =>
              version === 5
                ? { filter: topic, qos, noLocal: nl, retainAsPublished: rap, retainHandling: rh }
                : { filter: topic, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 },
            ),
          });
        },
      ),
      { numRuns: 150 },
    );
  });

  it('UNSUBSCRIBE', () => {
    const lists = fc.array(filters, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        versions,
        packetIds,
        lists,
        userProperties,
        (version, messageId, unsubscriptions, pairs) => {
          const properties = { userProperties: pairs };
          const read = readFrom(
            { cmd: 'unsubscribe', messageId, unsubscriptions, properties },
            version,
            (bytes, start, end) => readUnsubscribe(bytes, start, end, version),
          );
          expect(read).toEqual({ packetId: messageId, filters: unsubscriptions });
        },
      ),
      { numRuns: 100 },
    );
  });

  it('PUBACK, PUBREC, PUBREL and PUBCOMP', () => {
    const publishes = [0x00, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99];
    const kinds = fc.oneof(
      fc.record({ cmd: fc.constantFrom('puback', 'pubrec'), reasonCode: fc.constantFrom(...publishes) }),
      fc.record({ cmd: fc.constantFrom('pubrel', 'pubcomp'), reasonCode: fc.constantFrom(0x00, 0x92) }),
    );
    const properties = fc.record({ reasonString: texts, userProperties }, optional);
    fc.assert(
      fc.property(versions, packetIds, kinds, properties, (version, messageId, kind, said) => {
        const packet = { ...kind, messageId, properties: given(said) } as Packet; // one of the four
        const fields = { packetId: 0, reasonCode: -1 };
        readFrom(packet, version, (bytes, start, end, type) =>
          readAcknowledgement(fields, type, bytes, start, end, version),
        );
        expect(fields).toEqual({ packetId: messageId, reasonCode: version === 5 ? kind.reasonCode : 0 });
      }),
      { numRuns: 150 },
    );
  });

  it('DISCONNECT', () => {
    const codes = [0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99];
    const said = fc.record(
      { sessionExpiryInterval: fourBytes, reasonString: texts, userProperties },
      optional,
    );
    fc.assert(
      fc.property(fc.constantFrom(...codes), said, (reasonCode, properties) => {
        const packet = { cmd: 'disconnect', reasonCode, properties: given(properties) } as Packet; // as above
        const read = readFrom(packet, 5, (bytes, start, end) => readDisconnect(bytes, start, end, 5));
        expect(read).toEqual({ reasonCode, sessionExpirySeconds: properties.sessionExpiryInterval });
      }),
      { numRuns: 100 },
    );
  });

  it('AUTH', () => {
    const said = fc.record(
      { authenticationMethod: texts, authenticationData: binaries, reasonString: texts, userProperties },
      { requiredKeys: ['authenticationMethod'] },
    );
    fc.assert(
      fc.property(fc.constantFrom(0x18, 0x19), said, (reasonCode, properties) => {
        const packet = { cmd: 'auth', reasonCode, properties: given(properties) } as Packet; // as above
        expect(readFrom(packet, 5, (bytes, start, end) => readAuth(bytes, start, end))).toBe(reasonCode);
      }),
      { numRuns: 100 },
    );
  });
});
