// DISCONNECT from a client (section 3.14).
import type { PacketHandler } from '../client.ts';
import { protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import { readDisconnect } from '../packets/disconnect.ts';
import { REASON } from '../reason-codes.ts';
import { grantedExpirySeconds } from './connect.ts';

export const disconnectHandler: PacketHandler = {
  type: PACKET_TYPE.DISCONNECT,
  name: 'DISCONNECT',
  handle(client, _firstByte, bytes, start, end) {
    const packet = readDisconnect(bytes, start, end, client.session.version);
    const { sessionExpirySeconds } = packet;
    if ((sessionExpirySeconds ?? 0) > 0 && !client.sessionExpiryAsked) {
      throw protocolError('DISCONNECT with a session expiry where CONNECT had none (section 3.14.2.2.2)');
    }
    const { durable } = client.session;
    if (durable !== undefined && sessionExpirySeconds !== undefined) {
      durable.expirySeconds = grantedExpirySeconds(sessionExpirySeconds, client.context.options);
    }
    // Only reason code 0x00 takes the will back [MQTT-3.14.4-3].
    client.leave(packet.reasonCode !== REASON.SUCCESS);
    return undefined;
  },
};
