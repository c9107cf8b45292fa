// Every topic config that Kafka 4.4 knows: type, default, range, whether it has an effect here, and what it says. A
// value that would have no effect is refused, so that what is accepted is what happens.
import type { TopicConfigEntry } from '../../protocols/port.ts';

export interface ConfigDefinition {
  readonly name: string;
  readonly type: TopicConfigEntry['type'];
  readonly default: string;
  /** Undefined when the value is one of the type, else what it should have been. */
  readonly check: (value: string) => string | undefined;
  /** Every legal value has its effect. Otherwise only the default and `alsoTrue` are accepted. */
  readonly honoured: boolean;
  /** Values besides the default that say what happens anyway. */
  readonly alsoTrue: readonly string[];
  readonly documentation: string;
}

const INT_MAX = 2n ** 31n - 1n;
const LONG_MAX = 2n ** 63n - 1n;
/** Kafka's largest long, which says that there is no limit. */
export const LONG_MAX_NUMBER = Number(LONG_MAX);
/** The largest array that Kafka's virtual machine makes. */
const JVM_ARRAY_MAX = INT_MAX - 8n;

/** Small enough for tests and for the impatient, large enough that a file holds more than a few batches. */
const SEGMENT_BYTES_MIN = 1024n;

const COMPRESSIONS = ['uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer'] as const;

/** Sorted by name. */
export const DEFINITIONS: readonly ConfigDefinition[] = [
  honoured('cleanup.policy', list('compact', 'delete'), 'delete', [
    'What becomes of old records: "delete" removes whole segments by age and size, "compact" keeps the latest record of',
    'each key, both do both, and an empty list keeps everything.',
  ]),
  ignored('compression.gzip.level', int(-1n, 9n), '-1', ['How hard gzip tries.']),
  ignored('compression.lz4.level', int(1n, 17n), '9', ['How hard lz4 tries.']),
  ignored(
    'compression.type',
    oneOf(...COMPRESSIONS),
    'producer',
    ['How batches are stored. There is one stored form, uncompressed, whatever producers send.'],
    'uncompressed',
  ),
  ignored('compression.zstd.level', int(-131072n, 22n), '3', ['How hard zstd tries.']),
  honoured('delete.retention.ms', long(0n, LONG_MAX), '86400000', [
    'How long a tombstone of a compacted topic is kept, so that readers from the start see it.',
  ]),
  ignored('errors.deadletterqueue.group.enable', boolean(), 'false', [
    'Whether share groups may use the topic for records that nobody could process. There are no share groups.',
  ]),
  ignored(
    'file.delete.delay.ms',
    long(0n, LONG_MAX),
    '60000',
    ['How long a file is kept after its segment is gone. Files go at once, and readers of them are told.'],
    '0',
  ),
  // Kafka leaves flushing to the system and relies on copies; here every acknowledged batch is on disk by default.
  honoured('flush.messages', long(1n, LONG_MAX), '1', [
    'After how many records they are flushed to the disk. With 1 a record is acknowledged and seen when it is on disk.',
  ]),
  honoured('flush.ms', long(0n, LONG_MAX), '1000', [
    'How long a record waits for its flush at most, where flush.messages lets it wait.',
  ]),
  ignored('follower.replication.throttled.replicas', anyList(), '', ['Replicas whose copying is throttled.']),
  ignored('index.interval.bytes', int(0n, INT_MAX), '4096', [
    'Log bytes between two entries of the offset index. The hub has one setting for all topics.',
  ]),
  ignored('leader.replication.throttled.replicas', anyList(), '', ['Replicas whose copying is throttled.']),
  ignored('local.retention.bytes', long(-2n, LONG_MAX), '-2', [
    'Bytes kept locally of a log with tiered storage, which there is not.',
  ]),
  ignored('local.retention.ms', long(-2n, LONG_MAX), '-2', [
    'Time for which a log with tiered storage is kept locally. There is no tiered storage.',
  ]),
  honoured('max.compaction.lag.ms', long(1n, LONG_MAX), String(LONG_MAX), [
    'How long a record waits for compaction at most.',
  ]),
  ignored('max.decompressed.message.bytes', int(1n, JVM_ARRAY_MAX), String(JVM_ARRAY_MAX), [
    'Bytes of a batch after decompression. The hub has one bound for all topics.',
  ]),
  honoured('max.message.bytes', int(0n, INT_MAX), '1048588', [
    'The largest batch, as its producer sends it, that is taken.',
  ]),
  honoured('message.timestamp.after.max.ms', long(0n, LONG_MAX), '3600000', [
    'How far ahead of the clock of the hub a timestamp that a producer gives may be.',
  ]),
  honoured('message.timestamp.before.max.ms', long(0n, LONG_MAX), String(LONG_MAX), [
    'How far behind the clock of the hub a timestamp that a producer gives may be.',
  ]),
  honoured('message.timestamp.type', oneOf('CreateTime', 'LogAppendTime'), 'CreateTime', [
    'Whether a record has the time that its producer gives, or that at which it was appended.',
  ]),
  honoured('min.cleanable.dirty.ratio', ratio(), '0.5', [
    'The share of a log that is not compacted yet from which on compaction is worth its work.',
  ]),
  honoured('min.compaction.lag.ms', long(0n, LONG_MAX), '0', [
    'How long a record is safe from compaction at least.',
  ]),
  honoured('min.insync.replicas', int(1n, INT_MAX), '1', [
    'Copies that must have a record before a producer with acks=all is answered. Above the number of nodes every such',
    'produce request is refused.',
  ]),
  ignored('preallocate', boolean(), 'false', [
    'Whether a file takes its whole size from the disk when it is made.',
  ]),
  ignored('remote.copy.lag.bytes', long(-1n, LONG_MAX), '-1', ['Of tiered storage, which there is not.']),
  ignored('remote.copy.lag.ms', long(-1n, LONG_MAX), '0', ['Of tiered storage, which there is not.']),
  ignored('remote.log.copy.disable', boolean(), 'false', ['Of tiered storage, which there is not.']),
  ignored('remote.log.delete.on.disable', boolean(), 'false', ['Of tiered storage, which there is not.']),
  ignored('remote.storage.enable', boolean(), 'false', [
    'Whether the log has tiered storage, which there is not.',
  ]),
  honoured('retention.bytes', long(-LONG_MAX - 1n, LONG_MAX), '-1', [
    'Bytes of each partition that are kept; the oldest segments beyond go. Negative: no limit.',
  ]),
  honoured('retention.ms', long(-1n, LONG_MAX), '604800000', [
    'How long records are kept before their segment goes. -1: for ever.',
  ]),
  honoured('segment.bytes', int(SEGMENT_BYTES_MIN, INT_MAX), '1073741824', [
    'The size at which a file of the log is closed and another one begun.',
  ]),
  honoured('segment.index.bytes', int(4n, INT_MAX), '10485760', [
    'The size of its index at which a file of the log is closed and another one begun.',
  ]),
  ignored('segment.jitter.ms', long(0n, LONG_MAX), '0', [
    'A random time by which segments are closed before segment.ms says.',
  ]),
  honoured('segment.ms', long(1n, LONG_MAX), '604800000', [
    'The age at which a file of the log is closed, full or not.',
  ]),
  ignored('unclean.leader.election.enable', boolean(), 'false', [
    'Whether a copy that misses records may become the leader. There is one copy.',
  ]),
];

export const DEFINITION_BY_NAME: ReadonlyMap<string, ConfigDefinition> = new Map(
  DEFINITIONS.map((each) => [each.name, each]),
);

// ------------------------------------------------------------------------------------------------ types

type Type = Pick<ConfigDefinition, 'type' | 'check'>;

function honoured(name: string, type: Type, byDefault: string, documentation: string[]): ConfigDefinition {
  const text = documentation.join(' ');
  return { name, ...type, default: byDefault, honoured: true, alsoTrue: [], documentation: text };
}

function ignored(
  name: string,
  type: Type,
  byDefault: string,
  documentation: string[],
  ...alsoTrue: string[]
): ConfigDefinition {
  const accepted = alsoTrue.length === 0 ? 'the default is' : `the default and ${alsoTrue.join(', ')} are`;
  const text = `${documentation.join(' ')} It has no effect here: only ${accepted} accepted.`;
  return { name, ...type, default: byDefault, honoured: false, alsoTrue, documentation: text };
}

function int(min: bigint, max: bigint): Type {
  return { type: 'int', check: integer(min, max) };
}

function long(min: bigint, max: bigint): Type {
  return { type: 'long', check: integer(min, max) };
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

function oneOf(...values: string[]): Type {
  return {
    type: 'string',
    check: (value) => (values.includes(value.trim()) ? undefined : `one of ${values.join(', ')}`),
  };
}

/** Any of them, in any order, or none. */
function list(...values: string[]): Type {
  return {
    type: 'list',
    check: (value) =>
      itemsOf(value).every((item) => values.includes(item)) ? undefined : `a list of ${values.join(', ')}`,
  };
}

function anyList(): Type {
  return { type: 'list', check: () => undefined };
}

/** The items of a list as it is written; an empty text is an empty list. */
export function itemsOf(value: string): string[] {
  return value.trim() === '' ? [] : value.split(',').map((item) => item.trim());
}

function boolean(): Type {
  return {
    type: 'boolean',
    check: (value) => (/^(true|false)$/i.test(value.trim()) ? undefined : 'true or false'),
  };
}

function ratio(): Type {
  return {
    type: 'double',
    check: (value) => {
      const number = value.trim() === '' ? Number.NaN : Number(value);
      return number >= 0 && number <= 1 ? undefined : 'a number from 0 to 1';
    },
  };
}
