// AUTH (section 3.15): enhanced authentication is not offered, so no client that CONNACK accepted may send it.
import type { PacketHandler } from '../client.ts';
import { protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';

export const authHandler: PacketHandler = {
  type: PACKET_TYPE.AUTH,
  name: 'AUTH',
  handle() {
    throw protocolError('AUTH without an authentication method in CONNECT [MQTT-4.12.0-6]');
  },
};
