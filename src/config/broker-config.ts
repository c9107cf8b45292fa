// What a broker is started with: plain, resolved values. The configuration file, the environment and the flags
// end here; nothing below the composition root (src/broker.ts) reads any of them. Milliseconds and bytes are
// numbers, addresses are host and port, paths are absolute.

import type { MappingConfig } from './mappings.ts';

export interface BrokerConfig {
  /** Absolute path of `data/`. */
  readonly dataDirectory: string;
  /** ≥ 0, as Kafka's `node.id`. */
  readonly nodeId: number;
  readonly rack?: string;
  /** In the order of the file; names are unique. The one of protocol `http` is the admin server's. */
  readonly listeners: readonly ListenerConfig[];
  readonly storage: StorageConfig;
  readonly topics: TopicDefaults;
  /** Made at the start if missing and brought to what is said of them; never deleted. */
  readonly declaredTopics: readonly DeclaredTopic[];
  readonly kafka: KafkaConfig;
  readonly mqtt: MqttConfig;
  /** Whose partitions `/metrics/detailed` tells of when it is asked for none. */
  readonly detailedTopics: readonly string[];
}

export interface ListenerConfig {
  readonly name: string;
  /** `kafka`, `mqtt`, `mqtt-ws` or `http`; a front end's protocol name otherwise. */
  readonly protocol: string;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** What clients are told to connect to; absent = the address that the client reached. Never a wildcard. */
  readonly advertised?: { readonly host: string; readonly port: number };
  readonly connectionsMax: number;
  /** Absent = clients connect directly. */
  readonly proxyTrusted?: readonly string[];
  /** Connections a second; 0 = any number. */
  readonly connectRateMax?: number;
  readonly origins?: readonly string[];
  /** The admin API's: names by which requests may address it beside its own. */
  readonly hosts?: readonly string[];
}

export interface StorageConfig {
  readonly flushTimeoutMs: number;
  /** 0 = none. */
  readonly diskReserveBytes: number;
  readonly checkIntervalMs: number;
  readonly checkpointBytes: number;
  readonly indexIntervalBytes: number;
  readonly tailCacheBytes: number;
}

export interface TopicDefaults {
  /** Partitions of a topic made with −1 or by first use. */
  readonly partitions: number;
  /** Upper bound of the partitions that one topic may be made with. */
  readonly partitionsMax: number;
  readonly autoCreate: boolean;
  /** First use makes no further topic when this many exist, internal ones not counted. */
  readonly autoCreateLimit: number;
  /** Kafka's names and values, numbers without units: `{ 'segment.bytes': '1073741824' }`. */
  readonly config: Readonly<Record<string, string>>;
  /** Partitions of each internal state topic; fixed when the topic is first made. */
  readonly statePartitions: number;
}

export interface DeclaredTopic {
  readonly name: string;
  /** −1 = the default when it is made, and then as many as it has. */
  readonly partitions: number;
  readonly config: Readonly<Record<string, string>>;
  /** For whoever tries to change it; absent = nobody can be told where. */
  readonly origin?: DeclaredOrigin;
}

/** Where it is said, each as `file:line` or the name of a variable or flag. */
export interface DeclaredOrigin {
  readonly topic: string;
  readonly partitions: string;
  /** By Kafka's names. */
  readonly config: Readonly<Record<string, string>>;
}

export interface KafkaConfig {
  readonly requestBytesMax: number;
  /** Of all listeners; 0 = any number. */
  readonly connectionsPerAddressMax: number;
  readonly fetchMaxWaitMs: number;
  readonly fetchBytesMax: number;
  readonly fetchSessionsMax: number;
  /** A connection that says nothing and waits for nothing is closed after this; 0 = never. */
  readonly idleTimeoutMs: number;
  readonly groupsMax: number;
  readonly groupMembersMax: number;
  readonly groupMinSessionTimeoutMs: number;
  readonly groupMaxSessionTimeoutMs: number;
  readonly groupInitialRebalanceDelayMs: number;
  /** Of members of the consumer protocol (KIP-848), for which the server sets it. */
  readonly groupConsumerSessionTimeoutMs: number;
  readonly groupConsumerHeartbeatIntervalMs: number;
  readonly offsetMetadataBytesMax: number;
  /** Committed offsets of a group without members are kept this long. */
  readonly offsetsRetentionMs: number;
  /** Longest that a producer may ask its transactions to last. */
  readonly transactionTimeoutMaxMs: number;
  readonly transactionalIdsMax: number;
  /** A transactional id that has done nothing for so long is forgotten. */
  readonly transactionalIdExpirationMs: number;
  /** How often transactions are looked for that have lasted too long. */
  readonly transactionAbortCheckMs: number;
}

export interface MqttConfig {
  readonly packetBytesMax: number;
  /** From the connection to a whole CONNECT. */
  readonly connectTimeoutMs: number;
  /** Kept alive at most this long by the client's word; 0 = as long as it asks. */
  readonly keepaliveMaxSeconds: number;
  readonly receiveMaximum: number;
  readonly inflightMax: number;
  readonly topicAliasMaximum: number;
  /** A session outlives its connection no longer than this; 0xffffffff = for ever. */
  readonly sessionExpiryMaxSeconds: number;
  /** 0 = any number, as of the queue's limits. */
  readonly sessionsMax: number;
  readonly queueCountMax: number;
  readonly queueAgeMaxMs: number;
  readonly subscriptionsMax: number;
  readonly sharedGroupsMax: number;
  readonly retainedCountMax: number;
  readonly retainedSizeMax: number;
  readonly topicLevelsMax: number;
  readonly topicBytesMax: number;
  readonly wildcardsMax: number;
  readonly userPropertiesMax: number;
  readonly userPropertyBytesMax: number;
  readonly connectBytesMax: number;
  /** 0 = any number, in these two. */
  readonly connectionsPerAddressMax: number;
  readonly publishRateMax: number;
  /** 0 = no `$SYS/broker/…`. */
  readonly sysIntervalMs: number;
  /** In the order in which they count, without conflicts. */
  readonly mappings: readonly MappingConfig[];
}
