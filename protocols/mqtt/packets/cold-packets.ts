// CONNACK, SUBACK, UNSUBACK and DISCONNECT from the server (sections 3.2, 3.9, 3.11, 3.14), encoded by mqtt-packet:
// they come once per connection or subscription, so its objects cost nothing that counts.
import mqttPacket from 'mqtt-packet';
import type { Version } from './publish.ts';

// By default it keeps a buffer for each of the 65,536 numbers of two bytes, from the first packet on.
mqttPacket.writeToStream.cacheNumbers = false;

/** What CONNACK may tell a v5 client (section 3.2.2.3); an absent one means the protocol's own default. */
export interface ConnackProperties {
  readonly sessionExpiryInterval?: number;
  readonly receiveMaximum?: number;
  readonly topicAliasMaximum?: number;
  readonly retainAvailable?: boolean;
  readonly maximumPacketSize?: number;
  readonly assignedClientIdentifier?: string;
  readonly reasonString?: string;
  readonly sharedSubscriptionAvailable?: boolean;
  readonly serverKeepAlive?: number;
  readonly responseInformation?: string;
}

/** @param code a reason code in version 5, a return code below it. */
export function encodeConnack(
  version: Version,
  code: number,
  sessionPresent: boolean,
  properties: ConnackProperties = {},
): Buffer {
  const packet =
    version === 5
      ? ({ cmd: 'connack', reasonCode: code, sessionPresent, properties } as const)
      : ({ cmd: 'connack', returnCode: code, sessionPresent } as const);
  return mqttPacket.generate(packet, { protocolVersion: version });
}

/**
 * @param codes one per filter asked for, in its order [MQTT-3.8.4-6].
 * @param reasonString of version 5, for people
 */
export function encodeSuback(
  version: Version,
  packetId: number,
  codes: readonly number[],
  reasonString?: string,
): Buffer {
  const properties = reasonString === undefined || version < 5 ? {} : { properties: { reasonString } };
  return mqttPacket.generate(
    { cmd: 'suback', messageId: packetId, granted: [...codes], ...properties },
    { protocolVersion: version },
  );
}

/** Below version 5 there are no codes (3.1.1 section 3.11.3). */
export function encodeUnsuback(version: Version, packetId: number, codes: readonly number[]): Buffer {
  return mqttPacket.generate(
    { cmd: 'unsuback', messageId: packetId, granted: [...codes] },
    { protocolVersion: version },
  );
}

/** PUBACK or PUBREC of version 5 that says why (sections 3.4.2.2.2 and 3.5.2.2.2). */
export function encodeRefusedPublish(
  cmd: 'puback' | 'pubrec',
  messageId: number,
  reasonCode: number,
  reasonString: string,
): Buffer {
  return mqttPacket.generate(
    { cmd, messageId, reasonCode, properties: { reasonString } },
    { protocolVersion: 5 },
  );
}

/** Only a v5 client can be told why (section 3.14). */
export function encodeDisconnect(reasonCode: number, reasonString?: string): Buffer {
  const properties = reasonString === undefined ? {} : { reasonString };
  return mqttPacket.generate({ cmd: 'disconnect', reasonCode, properties }, { protocolVersion: 5 });
}

/** The whole of PINGRESP (section 3.13). */
export const PINGRESP = Buffer.from([0xd0, 0x00]);
