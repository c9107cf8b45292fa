// One mapping rule: as the configuration gives it, what can be wrong with it by itself, and made ready for use.
import type { QoS } from '../packets/publish.ts';
import { isReservedTopic, kafkaTopicOf, withinNameLimit } from '../record-mapping.ts';
import type { Captures, Pattern } from './pattern.ts';
import { matchPattern, parsePattern, topicOfCaptures } from './pattern.ts';
import type { Template } from './template.ts';
import { fillTemplate, namesOf, parseTemplate, readTemplate } from './template.ts';
import { dottedName, escapeTopicPart, topicOfDottedName, unescapeTopicPart } from './topic-escape.ts';

export interface MappingRule {
  /** A topic filter whose levels may be named. */
  readonly match: string;
  /** `dotted`: `a/b/c` is `a.b.c` one to one; then there is no `topic`. */
  readonly preset?: 'dotted';
  /** Template of the Kafka topic; absent = as without a rule. */
  readonly topic?: string;
  /** Template of the key. */
  readonly key: string;
  /** Of records that MQTT did not write. */
  readonly qos: QoS;
  /** `ignore`: a publish is taken as not retained. */
  readonly retain: 'store' | 'ignore';
  /** `in`: from MQTT alone, nothing is delivered. `out`: to MQTT alone, publishes are refused. */
  readonly direction: 'both' | 'in' | 'out';
  /** Whether records of open and aborted transactions are delivered. */
  readonly isolation: 'read_committed' | 'read_uncommitted';
  /** Whether history may be asked for. */
  readonly replay: boolean;
  /** Where the configuration says so, `file:line`: for those who ask. */
  readonly declaredAt?: string;
}

export interface RuleProblem {
  readonly key: 'match' | 'preset' | 'topic' | 'key';
  readonly message: string;
  readonly hint?: string;
}

/** Names that every key template may use. */
const OF_PUBLISH = { TOPIC: 'mqttTopic', CLIENT_ID: 'clientId' } as const;

export class CompiledRule {
  readonly rule: MappingRule;
  readonly pattern: Pattern;
  /** Undefined with a preset, and where the topic is as without a rule. */
  readonly topicTemplate: Template | undefined;
  readonly keyTemplate: Template;
  /** Whether the key differs from client to client. */
  readonly keyNamesClient: boolean;

  /** @param rule without problems, see {@link ruleProblems}. */
  constructor(rule: MappingRule) {
    this.rule = rule;
    this.pattern = sound(parsePattern(rule.match));
    this.topicTemplate = rule.topic === undefined ? undefined : sound(parseTemplate(rule.topic));
    this.keyTemplate = sound(parseTemplate(rule.key));
    this.keyNamesClient = namesOf(this.keyTemplate).includes(OF_PUBLISH.CLIENT_ID);
  }

  /** Undefined when the rule is not for this topic. */
  captures(topicLevels: readonly string[]): Captures | undefined {
    return matchPattern(this.pattern, topicLevels);
  }

  /** Undefined when the name that comes out is illegal. */
  kafkaTopicOf(mqttTopic: string, captures: Captures): string | undefined {
    const name = this.#kafkaName(mqttTopic, captures);
    const isLegal = name !== '' && name !== '.' && name !== '..' && !name.startsWith('__');
    return isLegal ? withinNameLimit(name, mqttTopic) : undefined;
  }

  #kafkaName(mqttTopic: string, captures: Captures): string {
    if (this.rule.preset === 'dotted') return dottedName(mqttTopic);
    if (this.topicTemplate === undefined) return kafkaTopicOf(mqttTopic);
    return fillTemplate(this.topicTemplate, (name, next) => {
      const value = name === OF_PUBLISH.TOPIC ? mqttTopic : (captures.get(name) ?? '');
      return escapeTopicPart(value, endOfValue(next));
    });
  }

  keyOf(mqttTopic: string, captures: Captures, clientId: string): string {
    return fillTemplate(this.keyTemplate, (name) => {
      if (name === OF_PUBLISH.TOPIC) return mqttTopic;
      return name === OF_PUBLISH.CLIENT_ID ? clientId : (captures.get(name) ?? '');
    });
  }

  /** What a Kafka topic's name says of the MQTT topics that are stored there; undefined = it is not this rule's. */
  readKafkaTopic(name: string): Captures | undefined {
    if (this.rule.preset === 'dotted') {
      const topic = topicOfDottedName(name);
      return topic === undefined ? undefined : new Map([[OF_PUBLISH.TOPIC as string, topic]]);
    }
    if (this.topicTemplate === undefined) {
      const only = this.defaultTopic;
      return only === undefined || only === name ? NO_CAPTURES : undefined;
    }
    const escaped = readTemplate(this.topicTemplate, name);
    if (escaped === undefined) return undefined;
    const captures = new Map<string, string>();
    for (const [capture, text] of escaped) {
      const value = unescapeTopicPart(text);
      if (value === undefined) return undefined;
      captures.set(capture, value);
    }
    return captures;
  }

  /** Without preset and template: the one topic that the first level goes to, if the rule names it. */
  get defaultTopic(): string | undefined {
    const first = this.pattern.levels.find((level) => level.kind === 'any' || level.text !== '');
    return first?.kind === 'literal' ? kafkaTopicOf(first.text) : undefined;
  }

  /**
   * The MQTT topic that topic and key tell together; to be taken for true only if it is stored in that topic.
   * @param key undefined = null, or none that could be read as text.
   */
  readMqttTopic(ofTopic: Captures, key: string | undefined): string | undefined {
    const ofKey = key === undefined ? undefined : readTemplate(this.keyTemplate, key);
    const whole = ofTopic.get(OF_PUBLISH.TOPIC) ?? ofKey?.get(OF_PUBLISH.TOPIC);
    if (whole !== undefined) return whole;
    for (const [name, value] of ofKey ?? []) {
      if (ofTopic.has(name) && ofTopic.get(name) !== value) return undefined;
    }
    return topicOfCaptures(this.pattern, new Map([...ofTopic, ...(ofKey ?? [])]));
  }

  /** Whether topic and key can tell the MQTT topic at all. */
  get hasWayBack(): boolean {
    if (this.rule.direction === 'in') return false;
    if (this.rule.preset === 'dotted') return true;
    const told = new Set([...namesOf(this.topicTemplate ?? []), ...namesOf(this.keyTemplate)]);
    if (told.has(OF_PUBLISH.TOPIC)) return true;
    const { pattern } = this;
    return (
      !pattern.isOpen &&
      pattern.levels.every((level) => level.kind === 'literal' || told.has(level.name ?? ''))
    );
  }
}

const NO_CAPTURES: Captures = new Map();

function sound<T>(parsed: T | string): T {
  if (typeof parsed === 'string') throw new TypeError(`a mapping rule that was not checked: ${parsed}`);
  return parsed;
}

/**
 * The character that is escaped within a value, so that it ends where the literal behind it begins. Those that escapes
 * are made of cannot be: see {@link ruleProblems}.
 */
function endOfValue(next: string): string {
  return /^[.\-A-Zg-z]/.test(next) ? next.charAt(0) : '';
}

/** Everything about the rule that makes no sense by itself. */
export function ruleProblems(rule: MappingRule): RuleProblem[] {
  const pattern = parsePattern(rule.match);
  if (typeof pattern === 'string') return [{ key: 'match', message: pattern }];
  const first = pattern.levels[0];
  if (first?.kind === 'literal' && isReservedTopic(rule.match)) {
    return [{ key: 'match', message: `nobody publishes to "${first.text}"`, hint: "it is the hub's own" }];
  }
  return [...presetProblems(rule), ...topicProblems(rule, pattern), ...keyProblems(rule, pattern)];
}

function* presetProblems(rule: MappingRule): Generator<RuleProblem> {
  if (rule.preset === undefined || rule.topic === undefined) return;
  yield {
    key: 'topic',
    message: `the preset "${rule.preset}" names the topic`,
    hint: 'leave one of them out',
  };
}

function* topicProblems(rule: MappingRule, pattern: Pattern): Generator<RuleProblem> {
  if (rule.topic === undefined) return;
  const template = parseTemplate(rule.topic);
  if (typeof template === 'string') {
    yield { key: 'topic', message: template };
    return;
  }
  yield* unknownNames('topic', template, pattern, [OF_PUBLISH.TOPIC]);
  const literals = template.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');
  const sample = fillTemplate(template, () => 'x');
  if (!/^[A-Za-z0-9._-]*$/.test(literals) || sample === '' || sample === '.' || sample === '..') {
    yield { key: 'topic', message: `"${rule.topic}" makes no legal topic name`, hint: 'A-Z a-z 0-9 . _ -' };
  } else if (literals.length > NAME_LENGTH_MAX) {
    yield { key: 'topic', message: `is longer than the ${NAME_LENGTH_MAX} characters of a topic name` };
  } else if (sample.startsWith('__')) {
    yield {
      key: 'topic',
      message: "names that begin with __ are the hub's own",
      hint: 'choose another name',
    };
  }
  if (rule.direction !== 'in') yield* separatorProblems(template);
}

const NAME_LENGTH_MAX = 249;

/** Two values with nothing between them that could tell where the first ends. The last value ends where the name does. */
function* separatorProblems(template: Template): Generator<RuleProblem> {
  for (const [index, part] of template.entries()) {
    const next = template[index + 1];
    if (part.kind === 'text' || next === undefined) continue;
    const isLast = next.kind === 'text' && index + 2 === template.length;
    if (isLast || (next.kind === 'text' && endOfValue(next.text) !== '')) continue;
    yield {
      key: 'topic',
      message: `where {${part.name}} ends cannot be told on the way back`,
      hint: 'put . or - behind it, or say direction = "in"',
    };
  }
}

function* keyProblems(rule: MappingRule, pattern: Pattern): Generator<RuleProblem> {
  const template = parseTemplate(rule.key);
  if (typeof template === 'string') yield { key: 'key', message: template };
  else yield* unknownNames('key', template, pattern, [OF_PUBLISH.TOPIC, OF_PUBLISH.CLIENT_ID]);
}

function* unknownNames(
  key: 'topic' | 'key',
  template: Template,
  pattern: Pattern,
  others: readonly string[],
): Generator<RuleProblem> {
  const known = [...pattern.names, ...others];
  for (const name of namesOf(template)) {
    if (known.includes(name)) continue;
    const isClient = name === OF_PUBLISH.CLIENT_ID;
    yield {
      key,
      message: isClient ? '{clientId} may stand in key alone' : `{${name}} is no capture of match`,
      hint: isClient
        ? 'an MQTT topic has one Kafka topic, whoever publishes'
        : `known here: ${known.map((each) => `{${each}}`).join(', ')}`,
    };
  }
}
