// The configuration of the node under Kafka's names, with what is true here. All of it comes from the hub's
// configuration file and none of it can be changed over the protocol. A name that means nothing here is not in it.

import type { ListenerView, TopicConfigEntry } from '../port.ts';
import type { Call } from './api.ts';
import { ASSIGNORS } from './groups/consumer/assignors.ts';

export interface BrokerConfig {
  readonly name: string;
  readonly value: string | null;
  readonly type: TopicConfigEntry['type'];
  readonly documentation: string;
  /** What counts where nobody says anything; null = nothing. */
  readonly byDefault: string | null;
}

/** The name under which the node's configuration has the default of a topic's; absent = it has none. */
export const BROKER_NAMES: ReadonlyMap<string, string> = new Map([
  ['cleanup.policy', 'log.cleanup.policy'],
  ['compression.gzip.level', 'compression.gzip.level'],
  ['compression.lz4.level', 'compression.lz4.level'],
  ['compression.type', 'compression.type'],
  ['compression.zstd.level', 'compression.zstd.level'],
  ['delete.retention.ms', 'log.cleaner.delete.retention.ms'],
  ['file.delete.delay.ms', 'log.segment.delete.delay.ms'],
  ['flush.messages', 'log.flush.interval.messages'],
  ['flush.ms', 'log.flush.interval.ms'],
  ['index.interval.bytes', 'log.index.interval.bytes'],
  ['local.retention.bytes', 'log.local.retention.bytes'],
  ['local.retention.ms', 'log.local.retention.ms'],
  ['max.compaction.lag.ms', 'log.cleaner.max.compaction.lag.ms'],
  ['max.decompressed.message.bytes', 'max.decompressed.message.bytes'],
  ['max.message.bytes', 'message.max.bytes'],
  ['message.timestamp.after.max.ms', 'log.message.timestamp.after.max.ms'],
  ['message.timestamp.before.max.ms', 'log.message.timestamp.before.max.ms'],
  ['message.timestamp.type', 'log.message.timestamp.type'],
  ['min.cleanable.dirty.ratio', 'log.cleaner.min.cleanable.ratio'],
  ['min.compaction.lag.ms', 'log.cleaner.min.compaction.lag.ms'],
  ['min.insync.replicas', 'min.insync.replicas'],
  ['preallocate', 'log.preallocate'],
  ['remote.copy.lag.bytes', 'log.remote.copy.lag.bytes'],
  ['remote.copy.lag.ms', 'log.remote.copy.lag.ms'],
  ['retention.bytes', 'log.retention.bytes'],
  ['retention.ms', 'log.retention.ms'],
  ['segment.bytes', 'log.segment.bytes'],
  ['segment.index.bytes', 'log.index.size.max.bytes'],
  ['segment.jitter.ms', 'log.roll.jitter.ms'],
  ['segment.ms', 'log.roll.ms'],
  ['unclean.leader.election.enable', 'unclean.leader.election.enable'],
]);

/**
 * Of these the broker has no default under the name above, since Kafka has it under another one, in another unit
 * (`log.retention.hours`): what is not configured has no synonym.
 */
export const WITHOUT_BROKER_DEFAULT: ReadonlySet<string> = new Set([
  'flush.ms',
  'retention.ms',
  'segment.jitter.ms',
  'segment.ms',
]);

const MINUTE_MS = 60_000;
const INT32_MAX = 0x7fff_ffff;
/** What Kafka has when the file says nothing. */
const PLAINTEXT = 'PLAINTEXT';

/** Sorted by name. */
export function brokerConfigs(call: Call): readonly BrokerConfig[] {
  return [...ofTopics(call), ...ofNode(call), ...ofGroups(call), ...ofTransactions(call)].sort(
    (left, right) => (left.name < right.name ? -1 : 1),
  );
}

/** Dynamic configuration that a group would have: what the hub tells its members (KIP-848). */
export function groupConfigs(call: Call): readonly BrokerConfig[] {
  const { consumer } = call.kafka.settings.groups;
  return [
    int('consumer.heartbeat.interval.ms', consumer.heartbeatIntervalMs, 5_000, [
      'How often members of the consumer protocol are told to send a heartbeat.',
    ]),
    int('consumer.session.timeout.ms', consumer.sessionTimeoutMs, 45_000, [
      'How long a member of the consumer protocol may be silent before it is out.',
    ]),
  ];
}

function* ofTopics(call: Call): Iterable<BrokerConfig> {
  for (const entry of call.kafka.hub.topics.describeNewConfig({})) {
    const name = BROKER_NAMES.get(entry.name);
    if (name === undefined) continue;
    const { value, type, documentation, defaultValue } = entry;
    yield { name, value, type, documentation, byDefault: defaultValue };
  }
}

function ofNode(call: Call): BrokerConfig[] {
  const { hub, settings } = call.kafka;
  const { dataDirectory, defaultPartitions, autoCreate, statePartitions } = hub.settings;
  const { nodeId } = hub.cluster;
  const rack = hub.cluster.nodes().find((node) => node.nodeId === nodeId)?.rack ?? null;
  return [
    list('advertised.listeners', listenersOf(call, advertisedAddress), null, [
      'Where clients are told to connect; a listener that advertises nothing has the address that the client reached.',
    ]),
    boolean('auto.create.topics.enable', autoCreate, true, ['Whether first use makes a topic.']),
    int('broker.id', nodeId, null, ['The id of this node.']),
    { ...text, name: 'broker.rack', value: rack, documentation: 'The rack of this node.', byDefault: null },
    long('connections.max.idle.ms', settings.idleTimeoutMs, 600_000, [
      'A connection that says nothing and waits for nothing is closed after this.',
    ]),
    int('default.replication.factor', 1, 1, ['Copies of a topic that is made without saying how many.']),
    boolean('delete.topic.enable', true, true, ['Whether topics can be deleted.']),
    int('fetch.max.bytes', settings.fetchBytesMax, null, ['Record data in one answer to a Fetch, at most.']),
    list('listeners', listenersOf(call, boundAddress), null, ['Where this node listens.']),
    boolean('log.cleaner.enable', true, true, ['Whether compacted topics are compacted.']),
    list('log.dirs', dataDirectory, null, ['Where the data is.']),
    int('node.id', nodeId, null, ['The id of this node.']),
    int('num.partitions', defaultPartitions, 1, [
      'Partitions of a topic that is made without saying how many.',
    ]),
    int('max.connections.per.ip', settings.connectionsPerAddressMax || INT32_MAX, INT32_MAX, [
      'Connections of one address.',
    ]),
    int('max.incremental.fetch.session.cache.slots', settings.fetchSessions.sessionsMax, 1_000, [
      'Fetch sessions that are kept.',
    ]),
    int('offsets.topic.num.partitions', statePartitions, 50, [
      'Partitions of the topic of committed offsets.',
    ]),
    int('offsets.topic.replication.factor', 1, 3, ['Copies of the topic of committed offsets.']),
    int('socket.request.max.bytes', settings.requestBytesMax, 104_857_600, ['The longest request.']),
  ];
}

function ofGroups(call: Call): BrokerConfig[] {
  const { groups, offsets } = call.kafka.settings;
  const { consumer } = groups;
  return [
    list('group.consumer.assignors', [...ASSIGNORS.keys()].join(','), 'uniform,range', [
      'How partitions can be given to the members of a group of the consumer protocol; the first is the default.',
    ]),
    int('group.consumer.heartbeat.interval.ms', consumer.heartbeatIntervalMs, 5_000, [
      'How often members of the consumer protocol are told to send a heartbeat.',
    ]),
    int('group.consumer.max.size', consumer.membersMax, null, [
      'Members of one group of the consumer protocol.',
    ]),
    int('group.consumer.session.timeout.ms', consumer.sessionTimeoutMs, 45_000, [
      'How long a member of the consumer protocol may be silent before it is out.',
    ]),
    {
      ...{ ...text, name: 'group.consumer.migration.policy', value: 'bidirectional' },
      documentation: 'Groups turn from one protocol to the other with their members.',
      byDefault: 'bidirectional',
    },
    list('group.coordinator.rebalance.protocols', 'classic,consumer', null, [
      'The protocols that groups may have.',
    ]),
    int('group.initial.rebalance.delay.ms', groups.initialRebalanceDelayMs, 3_000, [
      'How long a new group waits for more members.',
    ]),
    int('group.max.session.timeout.ms', groups.maxSessionTimeoutMs, 1_800_000, [
      'The longest session timeout that a member may ask for.',
    ]),
    int('group.max.size', groups.membersMax, null, ['Members of one group.']),
    int('group.min.session.timeout.ms', groups.minSessionTimeoutMs, 6_000, [
      'The shortest session timeout that a member may ask for.',
    ]),
    int('offset.metadata.max.bytes', offsets.metadataBytesMax, 4_096, [
      'The longest text that may be kept with an offset.',
    ]),
    long('offsets.retention.check.interval.ms', offsets.retentionCheckMs, 600_000, [
      'How often offsets are looked for that have outlived their group.',
    ]),
    int('offsets.retention.minutes', Math.floor(offsets.retentionMs / MINUTE_MS), 10_080, [
      'How long offsets outlive the last member of their group.',
    ]),
  ];
}

function ofTransactions(call: Call): BrokerConfig[] {
  const { timeoutMaxMs, idExpirationMs, abortCheckMs, expirationCheckMs } = call.kafka.settings.transactions;
  return [
    int('transaction.abort.timed.out.transaction.cleanup.interval.ms', abortCheckMs, 10_000, [
      'How often transactions are looked for that have lasted too long.',
    ]),
    int('transaction.max.timeout.ms', timeoutMaxMs, 900_000, [
      'Longest that a producer may ask its transactions to last.',
    ]),
    int('transaction.remove.expired.transaction.cleanup.interval.ms', expirationCheckMs, 3_600_000, [
      'How often transactional ids are looked for that have done nothing for too long.',
    ]),
    int('transaction.state.log.num.partitions', call.kafka.hub.settings.statePartitions, 50, [
      'Partitions of the topic of transactional ids.',
    ]),
    int('transaction.state.log.replication.factor', 1, 3, ['Copies of the topic of transactional ids.']),
    int('transactional.id.expiration.ms', idExpirationMs, 604_800_000, [
      'A transactional id that has done nothing for so long is forgotten.',
    ]),
  ];
}

function listenersOf(call: Call, addressOf: (call: Call, listener: ListenerView) => string): string {
  return call.kafka
    .listeners()
    .map((listener) => `${listener.name || PLAINTEXT}://${addressOf(call, listener)}`)
    .join(',');
}

function boundAddress(_call: Call, { host, port }: ListenerView): string {
  return `${bracketed(host)}:${port}`;
}

function advertisedAddress(call: Call, listener: ListenerView): string {
  const { cluster } = call.kafka.hub;
  const isReached = listener.name === call.principal.listener;
  const address =
    cluster.endpoint(cluster.nodeId, listener.name) ?? (isReached ? call.reached : { ...listener });
  return `${bracketed(address.host)}:${address.port}`;
}

/** An IPv6 address in a list of addresses. */
function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

const text = { type: 'string' } as const;

function int(name: string, value: number, byDefault: number | null, documentation: string[]): BrokerConfig {
  const by = byDefault === null ? null : String(byDefault);
  return { name, value: String(value), type: 'int', documentation: documentation.join(' '), byDefault: by };
}

function long(name: string, value: number, byDefault: number, documentation: string[]): BrokerConfig {
  return { ...int(name, value, byDefault, documentation), type: 'long' };
}

function boolean(name: string, value: boolean, byDefault: boolean, documentation: string[]): BrokerConfig {
  const values = { value: String(value), byDefault: String(byDefault) };
  return { name, type: 'boolean', documentation: documentation.join(' '), ...values };
}

function list(name: string, value: string, byDefault: string | null, documentation: string[]): BrokerConfig {
  return { name, value, type: 'list', documentation: documentation.join(' '), byDefault };
}
