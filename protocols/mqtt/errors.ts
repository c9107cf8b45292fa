// What a client did that ends its connection, with the reason code that MQTT 5 has for it.
import { REASON } from './reason-codes.ts';

/** Thrown by decoders and handlers; caught by the connection that the bytes came from, and nowhere else. */
export class MqttError extends Error {
  readonly code: string;
  readonly reasonCode: number;

  constructor(code: string, reasonCode: number, message: string) {
    super(message);
    this.name = 'MqttError';
    this.code = code;
    this.reasonCode = reasonCode;
  }
}

/** The bytes cannot be read as the packet that they claim to be (section 4.13.1). */
export function malformed(message: string): MqttError {
  return new MqttError('malformed-packet', REASON.MALFORMED_PACKET, message);
}

/** The packet can be read, but may not say this, or not now (section 4.13.1). */
export function protocolError(message: string): MqttError {
  return new MqttError('protocol-error', REASON.PROTOCOL_ERROR, message);
}
