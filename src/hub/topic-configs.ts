// The configuration of a topic: every name that Kafka 4.4 knows, with its type, default and range, and whether the
// hub honours it. A name that Kafka does not know is refused, a value out of range too, and so is a value that
// would have no effect: what is accepted is what happens.
import type { TopicConfig } from '../../protocols/port.ts';
import type { LogConfig } from '../../storage/index.ts';

interface ConfigDefinition {
  readonly name: string;
  readonly default: string;
  /** Undefined when the value is one of the type, else what it should have been. */
  readonly check: (value: string) => string | undefined;
  /** Every legal value has its effect. Otherwise only the default and `alsoTrue` are accepted. */
  readonly honoured: boolean;
  /** Values besides the default that say what happens anyway. */
  readonly alsoTrue?: readonly string[];
}

const INT_MAX = 2n ** 31n - 1n;
const LONG_MAX = 2n ** 63n - 1n;
const LONG_MAX_NUMBER = Number(LONG_MAX);
/** The largest array that Kafka's virtual machine makes. */
const JVM_ARRAY_MAX = INT_MAX - 8n;

/** Small enough for tests and for the impatient, large enough that a file holds more than a few batches. */
const SEGMENT_BYTES_MIN = 1024n;

const DEFINITIONS: readonly ConfigDefinition[] = [
  honoured('cleanup.policy', 'delete', oneOfList('compact', 'delete')),
  ignored('compression.gzip.level', '-1', integer(-1n, 9n)),
  ignored('compression.lz4.level', '9', integer(1n, 17n)),
  ignored('compression.type', 'producer', oneOf('uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer')),
  ignored('compression.zstd.level', '3', integer(-131072n, 22n)),
  honoured('delete.retention.ms', '86400000', integer(0n, LONG_MAX)),
  ignored('errors.deadletterqueue.group.enable', 'false', boolean),
  ignored('file.delete.delay.ms', '60000', integer(0n, LONG_MAX)),
  // Kafka leaves flushing to the system and relies on copies; here every acknowledged batch is on disk by default.
  honoured('flush.messages', '1', integer(1n, LONG_MAX)),
  honoured('flush.ms', '1000', integer(0n, LONG_MAX)),
  ignored('follower.replication.throttled.replicas', '', text),
  ignored('index.interval.bytes', '4096', integer(0n, INT_MAX)),
  ignored('leader.replication.throttled.replicas', '', text),
  ignored('local.retention.bytes', '-2', integer(-2n, LONG_MAX)),
  ignored('local.retention.ms', '-2', integer(-2n, LONG_MAX)),
  honoured('max.compaction.lag.ms', String(LONG_MAX), integer(1n, LONG_MAX)),
  ignored('max.decompressed.message.bytes', String(JVM_ARRAY_MAX), integer(1n, JVM_ARRAY_MAX)),
  honoured('max.message.bytes', '1048588', integer(0n, INT_MAX)),
  ignored('message.timestamp.after.max.ms', '3600000', integer(0n, LONG_MAX)),
  ignored('message.timestamp.before.max.ms', String(LONG_MAX), integer(0n, LONG_MAX)),
  honoured('message.timestamp.type', 'CreateTime', oneOf('CreateTime', 'LogAppendTime')),
  honoured('min.cleanable.dirty.ratio', '0.5', ratio),
  honoured('min.compaction.lag.ms', '0', integer(0n, LONG_MAX)),
  ignored('min.insync.replicas', '1', integer(1n, INT_MAX)),
  ignored('preallocate', 'false', boolean),
  ignored('remote.copy.lag.bytes', '-1', integer(-1n, LONG_MAX)),
  ignored('remote.copy.lag.ms', '0', integer(-1n, LONG_MAX)),
  ignored('remote.log.copy.disable', 'false', boolean),
  ignored('remote.log.delete.on.disable', 'false', boolean),
  ignored('remote.storage.enable', 'false', boolean),
  honoured('retention.bytes', '-1', integer(-LONG_MAX - 1n, LONG_MAX)),
  honoured('retention.ms', '604800000', integer(-1n, LONG_MAX)),
  honoured('segment.bytes', '1073741824', integer(SEGMENT_BYTES_MIN, INT_MAX)),
  honoured('segment.index.bytes', '10485760', integer(4n, INT_MAX)),
  ignored('segment.jitter.ms', '0', integer(0n, LONG_MAX)),
  honoured('segment.ms', '604800000', integer(1n, LONG_MAX)),
  ignored('unclean.leader.election.enable', 'false', boolean),
];

const BY_NAME: ReadonlyMap<string, ConfigDefinition> = new Map(DEFINITIONS.map((each) => [each.name, each]));

/** Names whose values have an effect, sorted. */
export const HONOURED_NAMES: readonly string[] = DEFINITIONS.filter((each) => each.honoured).map(
  (each) => each.name,
);

/** Undefined when every entry can be honoured, else a sentence about the first one that cannot. */
export function checkTopicConfig(config: Readonly<Record<string, string>>): string | undefined {
  for (const [name, value] of Object.entries(config)) {
    const problem = checkEntry(name, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkEntry(name: string, value: string): string | undefined {
  const definition = BY_NAME.get(name);
  if (definition === undefined) return `unknown topic config "${name}"`;
  const wanted = definition.check(value);
  if (wanted !== undefined) return `topic config "${name}" must be ${wanted}, not "${value}"`;
  if (definition.honoured || isSaidAlready(definition, value.trim())) return undefined;
  return `topic config "${name}" has no effect here; only its default "${definition.default}" is accepted, not "${value}"`;
}

function isSaidAlready(definition: ConfigDefinition, value: string): boolean {
  return value === definition.default || definition.alsoTrue?.includes(value) === true;
}

/**
 * What is in effect: the topic's own entries, else the hub's defaults for new topics, else Kafka's. All have
 * passed {@link checkTopicConfig}.
 */
export function effectiveTopicConfig(
  topic: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
): TopicConfig {
  const inEffect = (name: string) => honouredValue(name, topic, defaults);
  return {
    cleanupPolicy: cleanupPolicyOf(inEffect('cleanup.policy')),
    maxMessageBytes: Number(inEffect('max.message.bytes')),
    messageTimestampType:
      inEffect('message.timestamp.type') === 'LogAppendTime' ? 'LogAppendTime' : 'CreateTime',
  };
}

/** The same in the store's words. */
export function logConfigOf(
  topic: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
): LogConfig {
  const numberOf = (name: string) => Number(honouredValue(name, topic, defaults));
  /** Kafka's largest long, and any negative value, say that there is no limit. */
  const limitOf = (name: string) => {
    const value = numberOf(name);
    return value < 0 || value >= LONG_MAX_NUMBER ? Number.POSITIVE_INFINITY : value;
  };
  const policy = cleanupPolicyOf(honouredValue('cleanup.policy', topic, defaults));
  return {
    segmentBytes: numberOf('segment.bytes'),
    segmentMs: limitOf('segment.ms'),
    indexBytesMax: numberOf('segment.index.bytes'),
    flushMessages: limitOf('flush.messages'),
    flushMs: limitOf('flush.ms'),
    deletes: policy !== 'compact',
    retentionMs: limitOf('retention.ms'),
    retentionBytes: limitOf('retention.bytes'),
    compacts: policy !== 'delete',
    minCleanableDirtyRatio: numberOf('min.cleanable.dirty.ratio'),
    minCompactionLagMs: limitOf('min.compaction.lag.ms'),
    maxCompactionLagMs: limitOf('max.compaction.lag.ms'),
    deleteRetentionMs: limitOf('delete.retention.ms'),
  };
}

function cleanupPolicyOf(value: string): TopicConfig['cleanupPolicy'] {
  const policies = new Set(value.split(',').map((each) => each.trim()));
  if (!policies.has('compact')) return 'delete';
  return policies.has('delete') ? 'compact,delete' : 'compact';
}

/** The value in effect of an honoured name. */
export function honouredValue(
  name: string,
  topic: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
): string {
  return (topic[name] ?? defaults[name] ?? BY_NAME.get(name)?.default ?? '').trim();
}

// ------------------------------------------------------------------------------------- definitions, types

function honoured(name: string, byDefault: string, check: ConfigDefinition['check']): ConfigDefinition {
  return { name, default: byDefault, check, honoured: true };
}

function ignored(
  name: string,
  byDefault: string,
  check: ConfigDefinition['check'],
  ...alsoTrue: string[]
): ConfigDefinition {
  return { name, default: byDefault, check, honoured: false, alsoTrue };
}

function integer(min: bigint, max: bigint): ConfigDefinition['check'] {
  return (value) => {
    const trimmed = value.trim();
    if (/^[+-]?\d{1,19}$/.test(trimmed)) {
      const number = BigInt(trimmed.replace('+', ''));
      if (number >= min && number <= max) return undefined;
    }
    return `an integer from ${min} to ${max}`;
  };
}

function oneOf(...values: string[]): ConfigDefinition['check'] {
  return (value) => (values.includes(value.trim()) ? undefined : `one of ${values.join(', ')}`);
}

function oneOfList(...values: string[]): ConfigDefinition['check'] {
  return (value) => {
    const items = value.split(',').map((item) => item.trim());
    return items.every((item) => values.includes(item)) ? undefined : `a list of ${values.join(', ')}`;
  };
}

function boolean(value: string): string | undefined {
  return /^(true|false)$/i.test(value.trim()) ? undefined : 'true or false';
}

function ratio(value: string): string | undefined {
  const number = value.trim() === '' ? Number.NaN : Number(value);
  return number >= 0 && number <= 1 ? undefined : 'a number from 0 to 1';
}

function text(): undefined {
  return undefined;
}
