// Connections that may say CONNECT and hear why they are not let in.
import type { MqttCounters } from './counters.ts';
import { MqttError } from './errors.ts';
import { REASON } from './reason-codes.ts';

/** There are as many of the address as there may be; there are more a second than there may be. */
export type Unwelcome = 'address-limit' | 'connect-rate';

export function unwelcomeError(why: Unwelcome, counters: MqttCounters): MqttError {
  if (why === 'connect-rate') {
    counters.connectRateRefused++;
    return new MqttError(why, REASON.CONNECTION_RATE_EXCEEDED, 'Too many connections a second');
  }
  counters.addressLimitRefused++;
  return new MqttError(why, REASON.QUOTA_EXCEEDED, 'Too many connections from this address');
}
