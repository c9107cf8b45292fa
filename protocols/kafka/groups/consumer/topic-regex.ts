// Regular expressions over topic names, as KIP-848 has them: RE2's syntax, matched against the whole name, in time
// linear in its length. What an expression may cost is bounded before it is accepted.

import { RE2JS } from 're2js';

/** Characters of an expression. */
const LENGTH_MAX = 1_024;
/** Length × repetitions: an atom is compiled as often as it is repeated, `(a{10}){10}` a hundred times. */
const REPEATED_LENGTH_MAX = 20_000;
/** Instructions of a compiled expression: each character of a name takes as many steps at worst. */
const PROGRAM_SIZE_MAX = 1_500;
/** Parentheses: they are parsed by recursion. */
const GROUPS_MAX = 100;

export type TopicPattern = (name: string) => boolean;

/** The pattern, or what is wrong with it. */
export function compileTopicRegex(regex: string): TopicPattern | { readonly problem: string } {
  if (regex.length > LENGTH_MAX) return { problem: `is longer than ${LENGTH_MAX} characters` };
  if (regex.split('(').length > GROUPS_MAX) return { problem: `has more than ${GROUPS_MAX} parentheses` };
  if (regex.length * repetitions(regex) > REPEATED_LENGTH_MAX) return { problem: 'repeats too much' };
  try {
    const compiled = RE2JS.compile(regex);
    if (compiled.programSize() > PROGRAM_SIZE_MAX) return { problem: 'is too complex' };
    return (name) => compiled.matches(name);
  } catch (error) {
    // Whatever the parser throws is about the expression: it does nothing else.
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** At most so often an atom is repeated, if all the counts stand inside one another. */
function repetitions(regex: string): number {
  let product = 1;
  for (const [, least, most] of regex.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    product *= Math.max(1, Number(least), Number(most ?? 0));
  return product;
}
