// What the keys of the configuration must be to each other. The schema has seen to each key alone; a part of the
// configuration that it refused is left out here, so that one mistake does not hide the others.
import { isIP } from 'node:net';
import { collisionKeyOf, isReservedTopicName } from '../hub/topic-names.ts';
import { type Address, formatAddress, isLoopback, isNetwork, isWildcard } from './address.ts';
import type { BrokenRule, Numbered } from './broken-rule.ts';
import { type CheckedMapping, mappingRules, mappingSchema } from './mappings.ts';
import {
  type CheckedConfig,
  type CheckedListener,
  type CheckedTopic,
  configSchema,
  listenerSchema,
  topicSchema,
} from './schema.ts';
import type { Path } from './schema-tree.ts';
import type { WrittenTable } from './sources.ts';
import { ONCE } from './value-kinds.ts';

/** Those parts of the configuration that are sound by themselves. */
interface SoundParts {
  readonly listeners: readonly Numbered<CheckedListener>[];
  readonly declaredTopics: readonly Numbered<CheckedTopic>[];
  readonly mappings: readonly Numbered<CheckedMapping>[];
  readonly kafka: CheckedConfig['kafka'] | undefined;
  readonly topics: CheckedConfig['topics'] | undefined;
}

export function brokenRules(
  values: WrittenTable,
  { isEmbedded = false }: { readonly isEmbedded?: boolean } = {},
): BrokenRule[] {
  const parts = soundParts(values);
  return [
    ...(isEmbedded ? [] : missingListener(values)),
    ...listenerRules(parts.listeners),
    ...sameNames('topic', parts.declaredTopics),
    ...nameRules(parts.declaredTopics),
    ...topicRules(parts),
    ...kafkaRules(parts.kafka),
    ...mappingRules(parts.mappings),
  ];
}

function soundParts(values: WrittenTable): SoundParts {
  const sections = configSchema.shape;
  return {
    listeners: soundElements(values['listener'], (value) => listenerSchema.safeParse(value, ONCE).data),
    declaredTopics: soundElements(values['topic'], (value) => topicSchema.safeParse(value, ONCE).data),
    mappings: soundElements(values['mapping'], (value) => mappingSchema.safeParse(value, ONCE).data),
    kafka: sections.kafka.safeParse(values['kafka'], ONCE).data,
    topics: sections.topics.safeParse(values['topics'], ONCE).data,
  };
}

function soundElements<T>(elements: unknown, check: (value: unknown) => T | undefined): Numbered<T>[] {
  if (!Array.isArray(elements)) return [];
  return elements.flatMap((element: unknown, index) => {
    const value = check(element);
    return value === undefined ? [] : [{ index, value }];
  });
}

function* missingListener(values: WrittenTable): Generator<BrokenRule> {
  const written = values['listener'];
  if (written === undefined || (Array.isArray(written) && written.length === 0)) {
    yield {
      path: ['listener'],
      message: 'is missing',
      hint: 'at least one [[listener]] with name, protocol and bind',
    };
  }
}

function* listenerRules(listeners: readonly Numbered<CheckedListener>[]): Generator<BrokenRule> {
  yield* sameNames('listener', listeners);
  yield* sameBinds(listeners);
  for (const { index, value } of listeners) {
    yield* anonymousRules(['listener', index], value);
    yield* advertisedRules(['listener', index], value);
    yield* proxyRules(['listener', index], value);
    yield* hostRules(['listener', index], value);
  }
}

function* anonymousRules(path: Path, listener: CheckedListener): Generator<BrokenRule> {
  if (listener.anonymous === false) {
    const hint =
      'there is no authentication yet; leave it out and bind a loopback address to keep others away';
    yield { path: [...path, 'anonymous'], message: 'false would let nobody in', hint };
  }
  if (listener.anonymous === undefined && !isLoopback(listener.bind.host)) {
    yield {
      path: [...path, 'bind'],
      message: `${formatAddress(listener.bind)} can be reached from other machines, and there is no authentication yet`,
      hint: 'bind 127.0.0.1, or let everyone in with anonymous = true',
    };
  }
}

function* advertisedRules(path: Path, listener: CheckedListener): Generator<BrokenRule> {
  const { advertised, protocol } = listener;
  if (advertised === undefined) return;
  const at = [...path, 'advertised'];
  if (protocol !== 'kafka') {
    yield {
      path: at,
      message: `means nothing to ${protocol}`,
      hint: 'Kafka clients alone are told an address',
    };
  } else if (isWildcard(advertised.host)) {
    const hint =
      'write the name or address that clients use, or leave it out to tell each the one it reached';
    yield { path: at, message: `no client can connect to ${formatAddress(advertised)}`, hint };
  } else if (advertised.port === 0) {
    yield {
      path: at,
      message: 'must have a port other than 0',
      hint: 'leave it out to tell each client the one it reached',
    };
  }
}

function* proxyRules(
  path: Path,
  { protocol, proxy_trusted, origins, limits }: CheckedListener,
): Generator<BrokenRule> {
  if (proxy_trusted !== undefined) {
    const at = [...path, 'proxy_trusted'];
    if (protocol !== 'mqtt' && protocol !== 'mqtt-ws') {
      yield {
        path: at,
        message: `means nothing to ${protocol}`,
        hint: 'MQTT listeners alone read PROXY headers',
      };
    }
    for (const text of proxy_trusted) {
      if (!isNetwork(text))
        yield { path: at, message: `"${text}" is no address`, hint: 'such as "10.0.0.0/8" or "::1"' };
    }
    if (proxy_trusted.length === 0) yield { path: at, message: 'lets nobody in', hint: 'leave it out' };
  }
  if (
    limits.connect_rate !== undefined &&
    limits.connect_rate > 0 &&
    protocol !== 'mqtt' &&
    protocol !== 'mqtt-ws'
  ) {
    const message = `means nothing to ${protocol}`;
    yield { path: [...path, 'limits', 'connect_rate'], message, hint: 'for MQTT listeners alone' };
  }
  if (origins !== undefined && protocol !== 'mqtt-ws') {
    const message = `means nothing to ${protocol}`;
    yield { path: [...path, 'origins'], message, hint: 'web pages connect to mqtt-ws alone' };
  }
}

function* hostRules(path: Path, { protocol, hosts }: CheckedListener): Generator<BrokenRule> {
  if (hosts === undefined) return;
  const at = [...path, 'hosts'];
  if (protocol !== 'http') {
    const message = `means nothing to ${protocol}`;
    yield { path: at, message, hint: 'requests of HTTP alone have a Host' };
  }
  for (const name of hosts) {
    if (isIP(name) !== 0 || /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(name)) continue;
    yield {
      path: at,
      message: `"${name}" is no name of a host`,
      hint: 'such as "hub.example", without a port',
    };
  }
}

function* sameNames(
  section: string,
  elements: readonly Numbered<{ readonly name: string }>[],
): Generator<BrokenRule> {
  const seen = new Set<string>();
  for (const { index, value } of elements) {
    if (seen.has(value.name)) {
      yield {
        path: [section, index, 'name'],
        message: `another [[${section}]] is named "${value.name}" too`,
      };
    }
    seen.add(value.name);
  }
}

function* sameBinds(listeners: readonly Numbered<CheckedListener>[]): Generator<BrokenRule> {
  for (const [position, { index, value }] of listeners.entries()) {
    const rival = listeners
      .slice(0, position)
      .find((earlier) => portsCollide(earlier.value.bind, value.bind));
    if (rival) {
      const message = `${formatAddress(value.bind)} is taken by listener ${rival.value.name} (${formatAddress(rival.value.bind)})`;
      yield { path: ['listener', index, 'bind'], message, hint: 'each listener needs a port of its own' };
    }
  }
}

/** Whether not both can be listened on. */
export function portsCollide(left: Address, right: Address): boolean {
  if (left.port !== right.port || left.port === 0) return false;
  return left.host === right.host || isWildcard(left.host) || isWildcard(right.host);
}

function* nameRules(declaredTopics: readonly Numbered<CheckedTopic>[]): Generator<BrokenRule> {
  const names = new Map<string, string>();
  for (const { index, value } of declaredTopics) {
    const path = ['topic', index, 'name'];
    const rival = names.get(collisionKeyOf(value.name));
    if (isReservedTopicName(value.name)) {
      yield { path, message: `"${value.name}" is the hub's own`, hint: 'choose another name' };
    } else if (rival !== undefined && rival !== value.name) {
      yield {
        path,
        message: `"${value.name}" collides with "${rival}"`,
        hint: 'to Kafka "." and "_" are the same here',
      };
    }
    names.set(collisionKeyOf(value.name), value.name);
  }
}

function* topicRules({ topics, declaredTopics }: SoundParts): Generator<BrokenRule> {
  if (topics === undefined) return;
  if (topics.partitions > topics.partitions_max) {
    const message = `must be at most partitions_max, which is ${topics.partitions_max}`;
    yield { path: ['topics', 'partitions'], message };
  }
  for (const { index, value } of declaredTopics) {
    if (value.partitions !== undefined && value.partitions > topics.partitions_max) {
      const message = `must be at most topics.partitions_max, which is ${topics.partitions_max}`;
      yield { path: ['topic', index, 'partitions'], message };
    }
  }
}

function* kafkaRules(kafka: CheckedConfig['kafka'] | undefined): Generator<BrokenRule> {
  if (kafka && kafka.group_consumer_heartbeat_interval >= kafka.group_consumer_session_timeout) {
    yield {
      path: ['kafka', 'group_consumer_heartbeat_interval'],
      message: 'must be shorter than group_consumer_session_timeout',
    };
  }
  if (kafka && kafka.group_min_session_timeout > kafka.group_max_session_timeout) {
    yield {
      path: ['kafka', 'group_min_session_timeout'],
      message: 'must not be longer than group_max_session_timeout',
    };
  }
}
