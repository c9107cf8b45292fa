// Which Kafka topics hold messages that a filter matches: the way from a topic to its log, asked for all topics of a filter
// at once. Only for those who ask; the front end itself looks at every record.
import { kafkaTopicOf } from '../record-mapping.ts';
import type { Pattern, PatternLevel } from './pattern.ts';
import { covers, intersects } from './pattern.ts';
import type { CompiledRule } from './rule.ts';
import { unescapeTopicPart } from './topic-escape.ts';

/** Rules, by their position, through which a Kafka topic has such messages; −1 = without a rule. */
export function rulesReaching(
  filter: Pattern,
  kafkaTopic: string,
  rules: readonly CompiledRule[],
): readonly number[] {
  const found: number[] = [];
  for (const [index, rule] of rules.entries()) {
    if (rule.rule.direction === 'in') continue;
    const ofRule = patternIn(rule, kafkaTopic);
    if (ofRule === undefined || !intersects(ofRule, filter)) continue;
    // An earlier rule takes all of them.
    const narrower = covers(ofRule, filter) ? filter : ofRule;
    if (!rules.slice(0, index).some((earlier) => covers(earlier.pattern, narrower))) found.push(index);
  }
  if (patternsWithoutRule(kafkaTopic).some((pattern) => reachesWithoutRule(pattern, filter, rules))) {
    found.push(-1);
  }
  return found;
}

/** The MQTT topics that a rule stores in a Kafka topic; undefined = none. */
function patternIn(rule: CompiledRule, kafkaTopic: string): Pattern | undefined {
  const captures = rule.readKafkaTopic(kafkaTopic);
  if (captures === undefined) return undefined;
  const whole = captures.get('mqttTopic');
  if (whole !== undefined) {
    const exact = exactPattern(whole);
    return intersects(exact, rule.pattern) ? exact : undefined;
  }
  const { pattern } = rule;
  const levels = pattern.levels.map((level): PatternLevel => {
    const text = level.kind === 'any' && level.name !== undefined ? captures.get(level.name) : undefined;
    return text === undefined ? level : { kind: 'literal', text };
  });
  return { ...pattern, levels };
}

function reachesWithoutRule(pattern: Pattern, filter: Pattern, rules: readonly CompiledRule[]): boolean {
  if (!intersects(pattern, filter)) return false;
  const narrower = covers(pattern, filter) ? filter : pattern;
  return !rules.some((rule) => covers(rule.pattern, narrower));
}

/** What goes to a Kafka topic by its first level that is not empty; one empty level in front stands for any number. */
function patternsWithoutRule(kafkaTopic: string): Pattern[] {
  const firstLevels = new Set([kafkaTopic, unescapeTopicPart(kafkaTopic) ?? kafkaTopic]);
  return [...firstLevels]
    .filter((level) => !level.includes('/') && kafkaTopicOf(level) === kafkaTopic)
    .flatMap((text) => {
      const level: PatternLevel = { kind: 'literal', text };
      const empty: PatternLevel = { kind: 'literal', text: '' };
      return [openPattern([level]), openPattern([empty, level])];
    });
}

function openPattern(levels: readonly PatternLevel[]): Pattern {
  return { levels, isOpen: true, names: NO_NAMES };
}

function exactPattern(topic: string): Pattern {
  const levels = topic.split('/').map((text): PatternLevel => ({ kind: 'literal', text }));
  return { levels, isOpen: false, names: NO_NAMES };
}

/** A filter of a subscription, well-formed, in which `{` is a character like others. */
export function filterPattern(filter: string): Pattern {
  const texts = filter.split('/');
  const isOpen = texts.at(-1) === '#';
  if (isOpen) texts.pop();
  const levels = texts.map(
    (text): PatternLevel => (text === '+' ? { kind: 'any', name: undefined } : { kind: 'literal', text }),
  );
  return { levels, isOpen, names: NO_NAMES };
}

const NO_NAMES: ReadonlySet<string> = new Set();
