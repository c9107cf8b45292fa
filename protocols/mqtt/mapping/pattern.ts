// What a mapping rule matches: a topic filter (section 4.7) whose levels may be named, `plant/{site}/+/telemetry/#`.
// Levels are compared one behind another, so matching is linear and needs no stack.
import { isTopicFilter } from '../topic-filter.ts';

export type PatternLevel =
  | { readonly kind: 'literal'; readonly text: string }
  /** `+`, or `{name}`: any one level. */
  | { readonly kind: 'any'; readonly name: string | undefined };

export interface Pattern {
  readonly levels: readonly PatternLevel[];
  /** Ends in `#`: any further levels, and none. */
  readonly isOpen: boolean;
  readonly names: ReadonlySet<string>;
}

export type Captures = ReadonlyMap<string, string>;

/** Of captures; what templates have besides is theirs. */
export const CAPTURE_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
const RESERVED_NAMES: readonly string[] = ['mqttTopic', 'clientId'];

/** A text says what is wrong. */
export function parsePattern(filter: string): Pattern | string {
  const texts = filter.split('/');
  const names = new Set<string>();
  const levels: PatternLevel[] = [];
  for (const text of texts) {
    if (!/[{}]/.test(text)) {
      levels.push(text === '+' ? { kind: 'any', name: undefined } : { kind: 'literal', text });
      continue;
    }
    const name = /^\{(.*)\}$/.exec(text)?.[1];
    if (name === undefined || !CAPTURE_NAME.test(name)) {
      return `"${text}" is no capture: {name} fills a level, and a name is letters, digits and _`;
    }
    if (RESERVED_NAMES.includes(name)) return `{${name}} has a meaning of its own in templates`;
    if (names.has(name)) return `{${name}} stands twice`;
    names.add(name);
    levels.push({ kind: 'any', name });
  }
  const isOpen = texts.at(-1) === '#';
  if (isOpen) levels.pop();
  const plain = levels.map((level) => (level.kind === 'any' ? '+' : level.text));
  if (!isTopicFilter([...plain, ...(isOpen ? ['#'] : [])].join('/'))) {
    return '+ and # fill a level, and # is the last';
  }
  return { levels, isOpen, names };
}

/** @param topic the levels of a topic name. Undefined when it does not match. */
export function matchPattern(pattern: Pattern, topic: readonly string[]): Captures | undefined {
  const { levels, isOpen } = pattern;
  if (topic.length < levels.length || (!isOpen && topic.length > levels.length)) return undefined;
  for (let depth = 0; depth < levels.length; depth++) {
    const level = levels[depth]!;
    if (level.kind === 'literal' && level.text !== topic[depth]) return undefined;
  }
  if (pattern.names.size === 0) return NO_CAPTURES;
  const captures = new Map<string, string>();
  levels.forEach((level, depth) => {
    if (level.kind === 'any' && level.name !== undefined) captures.set(level.name, topic[depth]!);
  });
  return captures;
}

const NO_CAPTURES: Captures = new Map();

/** The one topic name that has these captures; undefined when the pattern leaves something open. */
export function topicOfCaptures(pattern: Pattern, captures: Captures): string | undefined {
  if (pattern.isOpen) return undefined;
  const texts: string[] = [];
  for (const level of pattern.levels) {
    const text = level.kind === 'literal' ? level.text : captures.get(level.name ?? '');
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return texts.join('/');
}

/** Whether every topic that `inner` matches is one that `outer` matches. */
export function covers(outer: Pattern, inner: Pattern): boolean {
  if (inner.isOpen && !outer.isOpen) return false;
  if (inner.levels.length < outer.levels.length) return false;
  if (!outer.isOpen && inner.levels.length > outer.levels.length) return false;
  return outer.levels.every((level, depth) => {
    const other = inner.levels[depth]!;
    return level.kind === 'any' || (other.kind === 'literal' && other.text === level.text);
  });
}

/** Whether some topic matches both. */
export function intersects(left: Pattern, right: Pattern): boolean {
  if (!left.isOpen && right.levels.length > left.levels.length) return false;
  if (!right.isOpen && left.levels.length > right.levels.length) return false;
  const common = Math.min(left.levels.length, right.levels.length);
  for (let depth = 0; depth < common; depth++) {
    const one = left.levels[depth]!;
    const other = right.levels[depth]!;
    if (one.kind === 'literal' && other.kind === 'literal' && one.text !== other.text) return false;
  }
  return true;
}
