// Limits and times of the MQTT front end; the configuration's `[mqtt]` gives those that users may set.

import type { MappingRule } from './mapping/rule.ts';

export interface MqttOptions {
  /** In the order in which they count; checked, see mapping/conflicts.ts. */
  readonly mappings: readonly MappingRule[];
  /** Largest packet accepted, fixed header included; CONNACK says so (section 3.2.2.3.6). */
  readonly packetBytesMax: number;
  /** A v5 client that asks for more, or for none, is told this (section 3.2.2.3.14); 0 = as long as it asks. */
  readonly keepaliveMaxSeconds: number;
  /** QoS 1 and 2 publishes of one connection that wait for the log or for PUBREL (section 3.2.2.3.3). */
  readonly receiveMaximum: number;
  /** QoS 1 and 2 messages on their way to one client at most, whatever larger number it allows. */
  readonly inflightMax: number;
  /** A session outlives its connection no longer than this, whatever its client asks for; 0xffffffff = for ever. */
  readonly sessionExpiryMaxSeconds: number;
  /** Sessions that outlive their connections, of clients that are connected or not; 0 = any number. */
  readonly sessionsMax: number;
  /** Messages that wait for a client at most, and for how long: the oldest are skipped; 0 = no limit. */
  readonly queueCountMax: number;
  readonly queueAgeMaxMs: number;
  /** Topic aliases that a client may give (section 3.2.2.3.8). */
  readonly topicAliasMaximum: number;
  readonly subscriptionsMax: number;
  /** Shared subscriptions, of whatever members. */
  readonly sharedGroupsMax: number;
  /** Memory that the subscriptions of all clients together may take, about. */
  readonly subscriptionBytesTotalMax: number;
  /** Retained messages of all topics at most. */
  readonly retainedCountMax: number;
  /** Payload and properties of a retained message at most. */
  readonly retainedSizeMax: number;
  /** Memory that the index of retained messages may take, about. */
  readonly retainedIndexBytesMax: number;
  /** Bytes of retained messages that are kept in memory, those that were used last. */
  readonly retainedCacheBytesMax: number;
  /** Levels of a topic name or filter. */
  readonly topicLevelsMax: number;
  /** Bytes of a topic name or filter; the protocol ends at 65,535. */
  readonly topicBytesMax: number;
  /** `+` and `#` in one filter. */
  readonly wildcardsMax: number;
  /** Of one message: how many, and the bytes of their names and values. */
  readonly userPropertiesMax: number;
  readonly userPropertyBytesMax: number;
  /** At once, of one address; 0 = any number. */
  readonly connectionsPerAddressMax: number;
  /** Publishes of one client a second, above which it is read more slowly; 0 = any number. */
  readonly publishRateMax: number;
  /** Between two updates of `$SYS/broker/…`; 0 = there is no such thing. */
  readonly sysIntervalMs: number;
  /** The packet before which nothing is known of the client: small, and soon. */
  readonly connectBytesMax: number;
  readonly connectTimeoutMs: number;
  readonly clientIdBytesMax: number;
  /** Payload bytes of one connection, and of all, that wait for the log before reading from sockets stops. */
  readonly unstoredBytesMax: number;
  readonly unstoredBytesTotalMax: number;
  /** Bytes waiting for a client's socket above which it counts as slow. */
  readonly outputBytesMax: number;
  /** Above which nothing more is read from it. Messages stop earlier, so it is answers that it does not read. */
  readonly unreadBytesMax: number;
  /** Stored bytes that a follower is handed at a time. */
  readonly followBytesMax: number;
  /** How long a connection that is told to go may take to read its last packet. */
  readonly closeTimeoutMs: number;
}

export const DEFAULT_OPTIONS: MqttOptions = {
  mappings: [],
  packetBytesMax: 1024 * 1024,
  keepaliveMaxSeconds: 0,
  receiveMaximum: 1024,
  inflightMax: 1024,
  sessionExpiryMaxSeconds: 0xffff_ffff,
  sessionsMax: 0,
  queueCountMax: 0,
  queueAgeMaxMs: 0,
  sharedGroupsMax: 1000,
  topicAliasMaximum: 32,
  subscriptionsMax: 10_000,
  subscriptionBytesTotalMax: 512 * 1024 * 1024,
  retainedCountMax: 1_000_000,
  retainedSizeMax: 1024 * 1024,
  retainedIndexBytesMax: 1024 * 1024 * 1024,
  retainedCacheBytesMax: 16 * 1024 * 1024,
  topicLevelsMax: 128,
  topicBytesMax: 65_535,
  wildcardsMax: 128,
  userPropertiesMax: 256,
  userPropertyBytesMax: 64 * 1024,
  connectionsPerAddressMax: 0,
  publishRateMax: 0,
  sysIntervalMs: 10_000,
  connectBytesMax: 64 * 1024,
  connectTimeoutMs: 10_000,
  clientIdBytesMax: 1024,
  unstoredBytesMax: 4 * 1024 * 1024,
  unstoredBytesTotalMax: 128 * 1024 * 1024,
  outputBytesMax: 1024 * 1024,
  unreadBytesMax: 2 * 1024 * 1024,
  followBytesMax: 256 * 1024,
  closeTimeoutMs: 1000,
};
