// What is wrong with mapping rules: each by itself, one that never counts, and two between which a Kafka record could not
// be told. For whoever reads a configuration; the rules at work are mappings.ts.
import type { Pattern } from './pattern.ts';
import { covers } from './pattern.ts';
import type { MappingRule, RuleProblem } from './rule.ts';
import { CompiledRule, ruleProblems } from './rule.ts';
import type { Template } from './template.ts';

export interface MappingConflict extends RuleProblem {
  /** Of the rule in the list. */
  readonly index: number;
}

/** @param label names a rule by its index, for messages. */
export function mappingConflicts(
  rules: readonly MappingRule[],
  label: (index: number) => string,
): MappingConflict[] {
  const conflicts: MappingConflict[] = [];
  const sound: { readonly index: number; readonly compiled: CompiledRule }[] = [];
  for (const [index, rule] of rules.entries()) {
    const problems = ruleProblems(rule);
    conflicts.push(...problems.map((problem) => ({ index, ...problem })));
    if (problems.length > 0) continue;
    const compiled = new CompiledRule(rule);
    const hider = sound.find((earlier) => covers(earlier.compiled.pattern, compiled.pattern));
    if (hider) conflicts.push({ index, ...neverCounts(rule, label(hider.index)) });
    else conflicts.push(...rivalsOf(compiled, sound, label).map((problem) => ({ index, ...problem })));
    sound.push({ index, compiled });
  }
  return conflicts;
}

function neverCounts({ match }: MappingRule, hider: string): RuleProblem {
  return {
    key: 'match',
    message: `"${match}" never counts: ${hider} matches all of it and comes first`,
    hint: 'the first rule that matches wins; put the narrower one before it',
  };
}

/** Of the earlier rules, those by which some record of this one's could have come as well. */
function rivalsOf(
  compiled: CompiledRule,
  earlier: readonly { readonly index: number; readonly compiled: CompiledRule }[],
  label: (index: number) => string,
): RuleProblem[] {
  if (!compiled.hasWayBack) return [];
  return earlier
    .filter((other) => other.compiled.hasWayBack && areRivals(other.compiled, compiled))
    .map((other) => ({
      key: compiled.topicTemplate === undefined ? ('match' as const) : ('topic' as const),
      message: `a record of Kafka could be of this rule or of ${label(other.index)}: topic and key may be the same`,
      hint: 'let topic or key tell them apart, or say direction = "in" for one of them',
    }));
}

/** @param left the earlier rule. */
function areRivals(left: CompiledRule, right: CompiledRule): boolean {
  // A wider rule behind a narrower one is what is left over: the first that matches wins on the way back too.
  if (covers(right.pattern, left.pattern)) return false;
  // Where the name or the key is the whole MQTT topic, both rules read the same from it.
  if (tellsWholeTopic(left) && tellsWholeTopic(right)) return false;
  return overlaps(topicShape(left), topicShape(right)) && overlaps(keyShape(left), keyShape(right));
}

function tellsWholeTopic({ rule, keyTemplate }: CompiledRule): boolean {
  const [only, ...more] = keyTemplate;
  return (
    rule.preset === 'dotted' || (more.length === 0 && only?.kind === 'value' && only.name === 'mqttTopic')
  );
}

/** What a name or key may look like: characters, and two kinds of gap. */
type Shape = readonly string[];

/** One level's text, and any text; no character is that long. */
const LEVEL = 'level';
const ANYTHING = 'anything';

function topicShape({ pattern, topicTemplate, rule, defaultTopic }: CompiledRule): Shape {
  if (rule.preset === 'dotted') return shapeOf(pattern, '.');
  if (topicTemplate === undefined) return defaultTopic === undefined ? [ANYTHING] : [...defaultTopic];
  return templateShape(topicTemplate, [ANYTHING]);
}

function keyShape({ pattern, keyTemplate }: CompiledRule): Shape {
  return templateShape(keyTemplate, shapeOf(pattern, '/'));
}

function templateShape(template: Template, whole: Shape): Shape {
  return template.flatMap((part) => {
    if (part.kind === 'text') return [...part.text];
    if (part.name === 'mqttTopic') return whole;
    return part.name === 'clientId' ? [ANYTHING] : [LEVEL];
  });
}

function shapeOf({ levels, isOpen }: Pattern, separator: string): Shape {
  const shape = levels.flatMap((level, depth) => [
    ...(depth > 0 ? [separator] : []),
    ...(level.kind === 'literal' ? level.text : [LEVEL]),
  ]);
  return isOpen ? [...shape, ANYTHING] : shape;
}

/** Whether some text has both shapes: the pairs of positions that can be reached, row by row. */
function overlaps(left: Shape, right: Shape): boolean {
  let row = reachable(new Array<boolean>(right.length + 1).fill(false), undefined, right, true);
  for (const element of left) row = reachable(row, element, right, false);
  return row[right.length]!;
}

/** @param above the row before `element` of the other shape was taken; undefined = none is. */
function reachable(
  above: readonly boolean[],
  element: string | undefined,
  right: Shape,
  isStart: boolean,
): boolean[] {
  const row: boolean[] = [isStart || (isGap(element) && above[0]!)];
  for (let at = 0; at < right.length; at++) {
    const other = right[at]!;
    const bothMove = element !== undefined && !isGap(element) && takes(other, element) && above[at]!;
    const leftEnds = isGap(element) && above[at + 1]!;
    const leftGrows = isGap(element) && takes(element, other) && row[at]!;
    const rightEnds = isGap(other) && row[at]!;
    const rightGrows = element !== undefined && isGap(other) && takes(other, element) && above[at + 1]!;
    row.push(bothMove || leftEnds || leftGrows || rightEnds || rightGrows);
  }
  return row;
}

function isGap(element: string | undefined): boolean {
  return element === LEVEL || element === ANYTHING;
}

/** Whether an element can stand where the other does. */
function takes(element: string | undefined, other: string): boolean {
  if (element === ANYTHING || element === other) return true;
  return element === LEVEL ? other !== '/' : other === ANYTHING || (other === LEVEL && element !== '/');
}
