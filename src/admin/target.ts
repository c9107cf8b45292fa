// What the admin API shows: the running hub. A broker is one.
import type {
  GroupDirectory,
  Hub,
  ListenerView,
  MessagingDirectory,
  TransactionDirectory,
} from '../../protocols/port.ts';

export interface AdminTarget {
  readonly hub: Hub;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly groups: GroupDirectory;
  readonly transactions: TransactionDirectory;
  /** Undefined while no listener has clients that publish and subscribe. */
  readonly messaging?: MessagingDirectory | undefined;
  /** All of them, the admin API's too. */
  listeners(): readonly ListenerView[];
  /** Why it does not serve everything, a phrase each; empty when it does. */
  ready(): readonly string[];
}
