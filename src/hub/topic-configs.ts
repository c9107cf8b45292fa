// The configuration of a topic: checked, changed, and put into effect. A name that Kafka does not know is refused, a
// value out of range too, and so is a value that would have no effect (topic-config-definitions.ts).
import type { TopicConfig, TopicConfigChange, TopicConfigEntry } from '../../protocols/port.ts';
import type { LogConfig } from '../../storage/index.ts';
import {
  type ConfigDefinition,
  DEFINITION_BY_NAME,
  DEFINITIONS,
  itemsOf,
  LONG_MAX_NUMBER,
} from './topic-config-definitions.ts';

/** Kafka's names and values. */
export type ConfigValues = Readonly<Record<string, string>>;

/** Names whose values have an effect, sorted. */
export const HONOURED_NAMES: readonly string[] = DEFINITIONS.filter((each) => each.honoured).map(
  (each) => each.name,
);

/** Undefined when every entry can be honoured, else a sentence about the first one that cannot. */
export function checkTopicConfig(config: ConfigValues): string | undefined {
  for (const [name, value] of Object.entries(config)) {
    const problem = checkEntry(name, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkEntry(name: string, value: string): string | undefined {
  const definition = DEFINITION_BY_NAME.get(name);
  if (definition === undefined) return `unknown topic config "${name}"`;
  const wanted = definition.check(value);
  if (wanted !== undefined) return `topic config "${name}" must be ${wanted}, not "${value}"`;
  if (definition.honoured || saysTheSame(definition, value)) return undefined;
  return `topic config "${name}" has no effect here; only its default "${definition.default}" is accepted, not "${value}"`;
}

function saysTheSame({ type, default: byDefault, alsoTrue }: ConfigDefinition, value: string): boolean {
  const trimmed = value.trim();
  return (type === 'boolean' ? trimmed.toLowerCase() : trimmed) === byDefault || alsoTrue.includes(trimmed);
}

/** Undefined unless entries in effect contradict each other. All have passed {@link checkTopicConfig}. */
export function checkTogether(topic: ConfigValues, defaults: ConfigValues): string | undefined {
  // Exactly, as Kafka does: numbers so large are not told apart as floating-point ones.
  const lagOf = (name: string) => BigInt(valueInEffect(name, topic, defaults));
  const min = lagOf('min.compaction.lag.ms');
  const max = lagOf('max.compaction.lag.ms');
  if (min <= max) return undefined;
  return `topic config "min.compaction.lag.ms" (${min}) must not be above "max.compaction.lag.ms" (${max})`;
}

/**
 * What the topic's own entries are after the changes, or why they cannot be made. A deletion of what is not there
 * changes nothing, whatever its name. Items are appended to, and subtracted from, what is in effect (KIP-339).
 */
export function changedConfig(
  topic: ConfigValues,
  defaults: ConfigValues,
  changes: readonly TopicConfigChange[],
): { readonly config: ConfigValues } | { readonly problem: string } {
  // Names are whatever a client sends: no keys of an object before they are checked.
  const changed = new Map(Object.entries(topic));
  for (const { name, operation, value } of changes) {
    if (operation === 'delete') {
      changed.delete(name);
    } else if (operation === 'set') {
      changed.set(name, value);
    } else {
      const definition = DEFINITION_BY_NAME.get(name);
      if (definition === undefined) return { problem: `unknown topic config "${name}"` };
      if (definition.type !== 'list')
        return { problem: `topic config "${name}" is no list: nothing can be added to it or taken from it` };
      const items = itemsOf(changed.get(name) ?? valueInEffect(name, {}, defaults));
      const combined = (operation === 'append' ? appended : subtracted)(items, itemsOf(value));
      changed.set(name, combined.join(','));
    }
  }
  const config = Object.fromEntries(changed);
  const problem = checkTopicConfig(config) ?? checkTogether(config, defaults);
  return problem === undefined ? { config } : { problem };
}

function appended(items: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...items, ...more])];
}

function subtracted(items: readonly string[], less: readonly string[]): readonly string[] {
  return items.filter((item) => !less.includes(item));
}

/** Every config with what is in effect of it, by name. */
export function describeTopicConfig(topic: ConfigValues, defaults: ConfigValues): TopicConfigEntry[] {
  return DEFINITIONS.map(({ name, type, default: defaultValue, documentation, honoured }) => {
    // The shipped configuration spells out the defaults; that does not make them somebody's choice.
    const written = Object.hasOwn(defaults, name) ? defaults[name]?.trim() : undefined;
    const hubValue = written === defaultValue ? undefined : written;
    const isOwn = Object.hasOwn(topic, name);
    return {
      ...{ name, type, documentation, defaultValue, hubValue },
      hasEffect: honoured,
      value: valueInEffect(name, topic, defaults),
      source: isOwn ? 'topic' : hubValue === undefined ? 'default' : 'hub',
    };
  });
}

/**
 * What is in effect: the topic's own entries, else the hub's defaults for new topics, else Kafka's. All have
 * passed {@link checkTopicConfig}.
 */
export function effectiveTopicConfig(topic: ConfigValues, defaults: ConfigValues): TopicConfig {
  const inEffect = (name: string) => valueInEffect(name, topic, defaults);
  return {
    cleanupPolicy: cleanupPolicyOf(inEffect('cleanup.policy')),
    maxMessageBytes: Number(inEffect('max.message.bytes')),
    messageTimestampType:
      inEffect('message.timestamp.type') === 'LogAppendTime' ? 'LogAppendTime' : 'CreateTime',
    messageTimestampBeforeMaxMs: limitOf(inEffect('message.timestamp.before.max.ms')),
    messageTimestampAfterMaxMs: limitOf(inEffect('message.timestamp.after.max.ms')),
    minInsyncReplicas: Number(inEffect('min.insync.replicas')),
  };
}

/** The same in the store's words. */
export function logConfigOf(topic: ConfigValues, defaults: ConfigValues): LogConfig {
  const inEffect = (name: string) => valueInEffect(name, topic, defaults);
  const policy = cleanupPolicyOf(inEffect('cleanup.policy'));
  return {
    segmentBytes: Number(inEffect('segment.bytes')),
    segmentMs: limitOf(inEffect('segment.ms')),
    indexBytesMax: Number(inEffect('segment.index.bytes')),
    flushMessages: limitOf(inEffect('flush.messages')),
    flushMs: limitOf(inEffect('flush.ms')),
    deletes: policy === 'delete' || policy === 'compact,delete',
    retentionMs: limitOf(inEffect('retention.ms')),
    retentionBytes: limitOf(inEffect('retention.bytes')),
    compacts: policy === 'compact' || policy === 'compact,delete',
    minCleanableDirtyRatio: Number(inEffect('min.cleanable.dirty.ratio')),
    minCompactionLagMs: limitOf(inEffect('min.compaction.lag.ms')),
    maxCompactionLagMs: limitOf(inEffect('max.compaction.lag.ms')),
    deleteRetentionMs: limitOf(inEffect('delete.retention.ms')),
  };
}

/** Kafka's largest long, and any negative value, say that there is no limit. */
function limitOf(value: string): number {
  const number = Number(value);
  return number < 0 || number >= LONG_MAX_NUMBER ? Number.POSITIVE_INFINITY : number;
}

function cleanupPolicyOf(value: string): TopicConfig['cleanupPolicy'] {
  const policies = new Set(itemsOf(value));
  if (!policies.has('compact')) return policies.has('delete') ? 'delete' : 'none';
  return policies.has('delete') ? 'compact,delete' : 'compact';
}

export function valueInEffect(name: string, topic: ConfigValues, defaults: ConfigValues): string {
  return (topic[name] ?? defaults[name] ?? DEFINITION_BY_NAME.get(name)?.default ?? '').trim();
}
