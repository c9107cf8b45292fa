// What the admin API is given of MQTT, all of it.
import type { MessagingDirectory } from '../../port.ts';
import type { Context } from '../client.ts';
import { clientDirectory } from './client-directory.ts';
import { mappingDirectory } from './mapping-directory.ts';
import { messagePublisher } from './publisher.ts';
import { retainedDirectory } from './retained-directory.ts';
import { sessionDirectory } from './session-directory.ts';
import { subscriptionDirectory } from './subscription-directory.ts';

export function messagingDirectory(context: Context): MessagingDirectory {
  return {
    clients: clientDirectory(context),
    sessions: sessionDirectory(context),
    subscriptions: subscriptionDirectory(context),
    retained: retainedDirectory(context),
    publisher: messagePublisher(context),
    mappings: mappingDirectory(context),
  };
}
