// All mapping rules, in their order: the first that matches an MQTT topic counts, and it alone. Asked when a topic is
// first seen; what is remembered of the answer is routes.ts and deliveries.ts on the ways in and out, and here for the
// keys of Kafka records. The rules may be replaced while all of it is at work; then what is remembered is forgotten.
import { ByteKeyedCache } from '../byte-keyed-cache.ts';
import { kafkaTopicOf } from '../record-mapping.ts';
import type { Captures } from './pattern.ts';
import { intersects, parsePattern } from './pattern.ts';
import type { MappingRule } from './rule.ts';
import { CompiledRule } from './rule.ts';
import type { KafkaTopicName, WayBack } from './way-back.ts';

/** Where an MQTT topic is stored. */
export interface Mapped {
  readonly rule: CompiledRule | undefined;
  /** Undefined when the rule makes no legal name of this topic. */
  readonly kafkaTopic: string | undefined;
  /** The record's key by who publishes. */
  keyOf(clientId: string): string;
}

interface KnownKey {
  readonly key: Buffer;
  readonly seed: number;
  /** Undefined = no rule tells. */
  readonly topic: Buffer | undefined;
}

const SLOTS = 16_384;
const KEY_BYTES_MAX = 512;

export class Mappings {
  #rules: readonly CompiledRule[];
  #version = 0;
  readonly #listeners: (() => void)[] = [];
  readonly #knownKeys = new ByteKeyedCache<KnownKey>(SLOTS, KEY_BYTES_MAX);
  #seed = 0;

  /** @param rules checked: those with problems throw. */
  constructor(rules: readonly MappingRule[] = []) {
    this.#rules = rules.map((rule) => new CompiledRule(rule));
  }

  /** In the order in which they count. */
  get rules(): readonly CompiledRule[] {
    return this.#rules;
  }

  /** Counts the replacements. */
  get version(): number {
    return this.#version;
  }

  /**
   * Other rules from now on. What is published, delivered and found on the way back follows them at once, and so does how
   * far partitions are read.
   * @param rules checked: those with problems throw, and nothing changes.
   */
  replace(rules: readonly MappingRule[]): void {
    this.#rules = rules.map((rule) => new CompiledRule(rule));
    this.#version++;
    this.#knownKeys.clear();
    for (const listener of this.#listeners) listener();
  }

  /** Called when the rules have been replaced, by who remembers what they said. */
  onReplaced(listener: () => void): void {
    this.#listeners.push(listener);
  }

  ruleOf(mqttTopic: string): MappingRule | undefined {
    return this.#rules.length === 0 ? undefined : this.#find(mqttTopic)?.rule.rule;
  }

  /** @param mqttTopic a topic name that clients may publish to. */
  map(mqttTopic: string): Mapped {
    const found = this.#rules.length === 0 ? undefined : this.#find(mqttTopic);
    if (found === undefined) {
      return { rule: undefined, kafkaTopic: kafkaTopicOf(mqttTopic), keyOf: () => mqttTopic };
    }
    const { rule, captures } = found;
    return {
      rule,
      kafkaTopic: rule.kafkaTopicOf(mqttTopic, captures),
      keyOf: (clientId) => rule.keyOf(mqttTopic, captures, clientId),
    };
  }

  /** The MQTT topic of a record by its key (−1, −1 = null); undefined when no rule tells. */
  mqttTopicOf(way: WayBack, bytes: Buffer, keyStart: number, keyEnd: number): Buffer | undefined {
    // An even seed is a key, an odd one null: an empty key is another.
    const seed = keyEnd < 0 ? way.seed + 1 : way.seed;
    const start = Math.max(keyStart, 0);
    const end = Math.max(keyEnd, 0);
    const known = this.#knownKeys.get(bytes, start, end, seed);
    if (known !== undefined) return known.topic;
    const key = Buffer.from(bytes.subarray(start, end));
    const topic = this.#readTopic(way, keyEnd < 0 ? undefined : key);
    this.#knownKeys.set({ key, seed, topic });
    return topic;
  }

  nameOf(kafkaTopic: string): KafkaTopicName {
    return new NameUnderRules(kafkaTopic, this);
  }

  /** Of the followers of a Kafka topic: what the first rule says that may store there. */
  visibilityOf(kafkaTopic: string): 'lastStable' | 'highWatermark' {
    const rule = this.#rules.find((each) => each.readKafkaTopic(kafkaTopic) !== undefined);
    return rule?.rule.isolation === 'read_uncommitted' ? 'highWatermark' : 'lastStable';
  }

  /** Whether history of what this filter matches may be asked for: not if a rule forbids it for some of it. */
  allowsReplay(filter: string): boolean {
    if (this.#rules.length === 0) return true;
    // A `{` in a filter is a character like others.
    const pattern = parsePattern(filter.replaceAll(/[{}]/g, '_'));
    if (typeof pattern === 'string') return true;
    return !this.#rules.some(({ rule, pattern: own }) => !rule.replay && intersects(own, pattern));
  }

  wayBackOf(kafkaTopic: string): WayBack | undefined {
    const candidates = this.#rules.flatMap((rule) => {
      const ofTopic = rule.hasWayBack ? rule.readKafkaTopic(kafkaTopic) : undefined;
      return ofTopic === undefined ? [] : [{ rule, ofTopic }];
    });
    if (candidates.length === 0) return undefined;
    this.#seed += 2;
    return { seed: this.#seed, kafkaTopic, candidates };
  }

  #find(mqttTopic: string): { readonly rule: CompiledRule; readonly captures: Captures } | undefined {
    const levels = mqttTopic.split('/');
    for (const rule of this.#rules) {
      const captures = rule.captures(levels);
      if (captures !== undefined) return { rule, captures };
    }
    return undefined;
  }

  /** One that leads to a topic which is stored here by this very rule: there and back is where one began. */
  #readTopic({ candidates, kafkaTopic }: WayBack, key: Buffer | undefined): Buffer | undefined {
    const text = key?.toString('utf8');
    for (const { rule, ofTopic } of candidates) {
      const mqttTopic = rule.readMqttTopic(ofTopic, text);
      if (mqttTopic === undefined) continue;
      const mapped = this.map(mqttTopic);
      if (mapped.rule === rule && mapped.kafkaTopic === kafkaTopic) return Buffer.from(mqttTopic);
    }
    return undefined;
  }
}

/** Kept by those who read a topic, for as long as they do: its rules are looked up again when there are others. */
class NameUnderRules implements KafkaTopicName {
  readonly bytes: Buffer;
  readonly keyPrefix: Buffer;
  readonly #kafkaTopic: string;
  readonly #mappings: Mappings;
  #version: number;
  #wayBack: WayBack | undefined;

  constructor(kafkaTopic: string, mappings: Mappings) {
    this.bytes = Buffer.from(kafkaTopic);
    this.keyPrefix = Buffer.from(`${kafkaTopic}/`);
    this.#kafkaTopic = kafkaTopic;
    this.#mappings = mappings;
    this.#version = mappings.version;
    this.#wayBack = mappings.wayBackOf(kafkaTopic);
  }

  get wayBack(): WayBack | undefined {
    if (this.#version !== this.#mappings.version) {
      this.#version = this.#mappings.version;
      this.#wayBack = this.#mappings.wayBackOf(this.#kafkaTopic);
    }
    return this.#wayBack;
  }
}

/** Where there are no rules. */
export const NO_MAPPINGS = new Mappings();
