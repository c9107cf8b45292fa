// From the keys of the file to what the broker is started with: `max_packet_size = "1MiB"` → `packetBytesMax`.
import path from 'node:path';
import type { BrokerConfig, DeclaredOrigin, DeclaredTopic, ListenerConfig } from './broker-config.ts';
import { resolveMapping } from './mappings.ts';
import type { CheckedConfig, CheckedListener, CheckedTopic } from './schema.ts';
import type { Path } from './schema-tree.ts';

export interface LogConfig {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'text' | 'json';
}

/** Session Expiry Interval of MQTT 5, section 3.1.2.11.2. */
const MQTT_SESSION_NEVER_EXPIRES = 0xffff_ffff;

export function resolveLog(config: CheckedConfig): LogConfig {
  return config.log;
}

/** @param placeOf where a key of the file is written: `file:line`, or the name of a variable or flag */
export function resolveBroker(
  config: CheckedConfig,
  workingDirectory: string,
  placeOf?: (path: Path) => string,
): BrokerConfig {
  const { server, storage, topics, kafka, mqtt } = config;
  return {
    dataDirectory: path.resolve(workingDirectory, server.data_dir),
    nodeId: server.node_id,
    ...(server.rack === undefined ? {} : { rack: server.rack }),
    listeners: config.listener.map(resolveListener),
    storage: {
      flushTimeoutMs: storage.flush_timeout,
      diskReserveBytes: storage.disk_reserve_size,
      checkIntervalMs: storage.check_interval,
      checkpointBytes: storage.checkpoint_size,
      indexIntervalBytes: storage.index_interval_size,
      tailCacheBytes: storage.tail_cache_size,
    },
    topics: {
      partitions: topics.partitions,
      partitionsMax: topics.partitions_max,
      autoCreate: topics.auto_create,
      autoCreateLimit: topics.auto_create_limit,
      config: {
        'flush.messages': String(storage.flush_messages),
        'flush.ms': String(storage.flush_interval),
        ...kafkaConfig(topics.config),
      },
      statePartitions: topics.state_partitions,
    },
    declaredTopics: config.topic.map((topic, index) => ({
      ...resolveTopic(topic),
      ...(placeOf === undefined ? {} : { origin: originOf(topic, index, placeOf) }),
    })),
    detailedTopics: config.metrics.detailed_topics,
    kafka: {
      requestBytesMax: kafka.request_size_max,
      connectionsPerAddressMax: kafka.connections_per_address_max,
      fetchMaxWaitMs: kafka.fetch_max_wait,
      fetchBytesMax: kafka.fetch_size_max,
      fetchSessionsMax: kafka.fetch_sessions_max,
      idleTimeoutMs: kafka.idle_timeout,
      groupsMax: kafka.groups_max,
      groupMembersMax: kafka.group_members_max,
      groupMinSessionTimeoutMs: kafka.group_min_session_timeout,
      groupMaxSessionTimeoutMs: kafka.group_max_session_timeout,
      groupInitialRebalanceDelayMs: kafka.group_initial_rebalance_delay,
      groupConsumerSessionTimeoutMs: kafka.group_consumer_session_timeout,
      groupConsumerHeartbeatIntervalMs: kafka.group_consumer_heartbeat_interval,
      offsetMetadataBytesMax: kafka.offset_metadata_size_max,
      offsetsRetentionMs: kafka.offsets_retention,
      transactionTimeoutMaxMs: kafka.transaction_max_timeout,
      transactionalIdsMax: kafka.transactional_ids_max,
      transactionalIdExpirationMs: kafka.transactional_id_expiration,
      transactionAbortCheckMs: kafka.transaction_abort_check_interval,
    },
    mqtt: {
      packetBytesMax: mqtt.max_packet_size,
      connectTimeoutMs: mqtt.connect_timeout,
      keepaliveMaxSeconds: Math.ceil(mqtt.keepalive_max / 1000),
      receiveMaximum: mqtt.receive_maximum,
      inflightMax: mqtt.inflight_max,
      topicAliasMaximum: mqtt.topic_alias_maximum,
      sessionExpiryMaxSeconds:
        mqtt.session_expiry_max === 0
          ? MQTT_SESSION_NEVER_EXPIRES
          : Math.ceil(mqtt.session_expiry_max / 1000),
      sessionsMax: mqtt.sessions_max,
      queueCountMax: mqtt.queue_count_max,
      queueAgeMaxMs: mqtt.queue_age_max,
      subscriptionsMax: mqtt.subscriptions_max,
      sharedGroupsMax: mqtt.shared_groups_max,
      retainedCountMax: mqtt.retained_count_max,
      retainedSizeMax: mqtt.retained_size_max,
      topicLevelsMax: mqtt.topic_levels_max,
      topicBytesMax: mqtt.topic_length_max,
      wildcardsMax: mqtt.wildcards_max,
      userPropertiesMax: mqtt.user_properties_max,
      userPropertyBytesMax: mqtt.user_properties_size_max,
      connectBytesMax: mqtt.max_connect_size,
      connectionsPerAddressMax: mqtt.connections_per_address_max,
      publishRateMax: mqtt.publish_rate_max,
      sysIntervalMs: mqtt.sys_interval,
      mappings: config.mapping.map((mapping, index) => ({
        ...resolveMapping(mapping),
        ...(placeOf === undefined ? {} : { declaredAt: placeOf(['mapping', index]) }),
      })),
    },
  };
}

/** Connections a second that a listener takes unless it is told otherwise. */
const CONNECT_RATE_MAX = 1000;

function resolveListener(listener: CheckedListener): ListenerConfig {
  return {
    name: listener.name,
    protocol: listener.protocol,
    host: listener.bind.host,
    port: listener.bind.port,
    ...(listener.advertised === undefined ? {} : { advertised: listener.advertised }),
    connectionsMax: listener.limits.connections,
    // MQTT's alone; others have been refused one.
    connectRateMax: listener.limits.connect_rate ?? CONNECT_RATE_MAX,
    ...(listener.proxy_trusted === undefined ? {} : { proxyTrusted: listener.proxy_trusted }),
    ...(listener.origins === undefined ? {} : { origins: listener.origins }),
    ...(listener.hosts === undefined ? {} : { hosts: listener.hosts }),
  };
}

function resolveTopic(topic: CheckedTopic): DeclaredTopic {
  return { name: topic.name, partitions: topic.partitions ?? -1, config: kafkaConfig(topic.config) };
}

function originOf(topic: CheckedTopic, index: number, placeOf: (path: Path) => string): DeclaredOrigin {
  const at = (...rest: Path) => placeOf(['topic', index, ...rest]);
  return {
    topic: at('name'),
    partitions: at('partitions'),
    config: Object.fromEntries(Object.keys(topic.config).map((key) => [key, at('config', key)])),
  };
}

/** Kafka keeps its topic configs as text, numbers without units. */
function kafkaConfig(config: CheckedTopic['config']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
