// What the admin API shows: the running hub. A broker is one.
import type {
  GroupDirectory,
  Hub,
  ListenerView,
  MessagingDirectory,
  MetricSink,
  TransactionDirectory,
} from '../../protocols/port.ts';
import type { StoreCounters } from '../../storage/index.ts';
import type { BrokerConfig } from '../config/broker-config.ts';
import type { Recovery } from '../recovery.ts';

export interface AdminTarget {
  readonly hub: Hub;
  readonly config: Pick<BrokerConfig, 'detailedTopics'>;
  readonly recovery: Pick<Recovery, 'durationMs' | 'recoveredBytes'>;
  readonly storeCounters: Readonly<StoreCounters>;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly groups: GroupDirectory;
  readonly transactions: TransactionDirectory;
  /** Undefined while no listener has clients that publish and subscribe. */
  readonly messaging?: MessagingDirectory | undefined;
  /** What front ends have counted. */
  collect(sink: MetricSink): void;
  /** All of them, the admin API's too. */
  listeners(): readonly ListenerView[];
  /** Why it does not serve everything, a phrase each; empty when it does. */
  ready(): readonly string[];
}
