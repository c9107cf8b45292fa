// A broker's configuration for tests: any free port, small limits.
import { DEFAULT_OPTIONS } from '../../protocols/mqtt/options.ts';
import type { BrokerConfig, ListenerConfig } from '../../src/config/broker-config.ts';
import { resolveBroker } from '../../src/config/resolve.ts';
import { configSchema } from '../../src/config/schema.ts';
import { TOPIC_DEFAULTS } from './hub/hub-fixture.ts';

export function listener(name: string, protocol: string): ListenerConfig {
  return { name, protocol, host: '127.0.0.1', port: 0, connectionsMax: 10 };
}

/** What counts where the configuration says nothing. */
export const KAFKA_DEFAULTS = resolveBroker(configSchema.parse({}), '.').kafka;

export function configOf(dataDirectory: string, listeners: readonly ListenerConfig[]): BrokerConfig {
  return {
    dataDirectory,
    nodeId: 7,
    listeners,
    storage: {
      flushTimeoutMs: 30_000,
      diskReserveBytes: 0,
      checkIntervalMs: 300_000,
      checkpointBytes: 1024 * 1024,
      indexIntervalBytes: 4096,
      tailCacheBytes: 1024 * 1024,
    },
    topics: TOPIC_DEFAULTS,
    declaredTopics: [{ name: 'declared', partitions: 2, config: {} }],
    detailedTopics: [],
    kafka: {
      ...KAFKA_DEFAULTS,
      requestBytesMax: 1024 * 1024,
      fetchMaxWaitMs: 1000,
      idleTimeoutMs: 0,
      groupMinSessionTimeoutMs: 1000,
      groupMaxSessionTimeoutMs: 60_000,
      groupInitialRebalanceDelayMs: 0,
      offsetsRetentionMs: 3_600_000,
    },
    mqtt: { ...DEFAULT_OPTIONS, packetBytesMax: 64 * 1024 },
  };
}
