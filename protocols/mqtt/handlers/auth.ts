// AUTH (section 3.15): enhanced authentication is not offered, so no client that CONNACK accepted has begun it. One that asks
// to authenticate again is told that there is no such method; anything else is an answer to nothing.

import type { PacketHandler } from '../client.ts';
import { MqttError, protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import { AUTH_REASON, readAuth } from '../packets/auth.ts';
import { REASON } from '../reason-codes.ts';

export const authHandler: PacketHandler = {
  type: PACKET_TYPE.AUTH,
  name: 'AUTH',
  handle(client, _firstByte, bytes, start, end) {
    // Below version 5 there is no such packet.
    const isKnown = client.session.version === 5;
    if (isKnown && readAuth(bytes, start, end) === AUTH_REASON.RE_AUTHENTICATE) {
      throw new MqttError(
        'authentication',
        REASON.BAD_AUTHENTICATION_METHOD,
        'There is no method to authenticate with again',
      );
    }
    throw protocolError('AUTH without an authentication method in CONNECT [MQTT-4.12.0-6]');
  },
};
