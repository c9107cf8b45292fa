// All packets that a connected client may send, in the order of their types. CONNECT comes once and first, see connect.ts.
import type { PacketHandler } from '../client.ts';
import { pubackHandler, pubcompHandler, pubrecHandler, pubrelHandler } from './acknowledgements.ts';
import { authHandler } from './auth.ts';
import { disconnectHandler } from './disconnect.ts';
import { pingreqHandler } from './pingreq.ts';
import { publishHandler } from './publish.ts';
import { subscribeHandler } from './subscribe.ts';
import { unsubscribeHandler } from './unsubscribe.ts';

export const HANDLERS: readonly PacketHandler[] = [
  publishHandler,
  pubackHandler,
  pubrecHandler,
  pubrelHandler,
  pubcompHandler,
  subscribeHandler,
  unsubscribeHandler,
  pingreqHandler,
  disconnectHandler,
  authHandler,
];
