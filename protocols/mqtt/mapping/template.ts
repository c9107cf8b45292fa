// What a mapping rule makes of a topic: text with `{name}` in it, filled in on the way to Kafka and read back on the way
// from it. Reading back looks for each literal once, from the left: it is linear whatever a key holds.
import type { Captures } from './pattern.ts';
import { CAPTURE_NAME } from './pattern.ts';

export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly name: string };

export type Template = readonly TemplatePart[];

/** A text says what is wrong. */
export function parseTemplate(text: string): Template | string {
  const parts: TemplatePart[] = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('{', at);
    const literal = open < 0 ? text.slice(at) : text.slice(at, open);
    if (literal.includes('}')) return 'a } has no {';
    if (literal !== '') parts.push({ kind: 'text', text: literal });
    if (open < 0) break;
    const close = text.indexOf('}', open);
    if (close < 0) return 'a { has no }';
    const name = text.slice(open + 1, close);
    if (!CAPTURE_NAME.test(name)) return `{${name}} is no name`;
    parts.push({ kind: 'value', name });
    at = close + 1;
  }
  return parts;
}

export function namesOf(template: Template): readonly string[] {
  return template.flatMap((part) => (part.kind === 'value' ? [part.name] : []));
}

/** @param value gives the text for a name, and is told the literal that follows it. */
export function fillTemplate(template: Template, value: (name: string, next: string) => string): string {
  let filled = '';
  template.forEach((part, index) => {
    filled += part.kind === 'text' ? part.text : value(part.name, textAt(template, index + 1));
  });
  return filled;
}

/** What a filled template was filled with; a value ends where the literal behind it first stands. */
export function readTemplate(template: Template, filled: string): Captures | undefined {
  const captures = new Map<string, string>();
  let at = 0;
  for (let index = 0; index < template.length; index++) {
    const part = template[index]!;
    if (part.kind === 'text') {
      if (!filled.startsWith(part.text, at)) return undefined;
      at += part.text.length;
      continue;
    }
    const end = valueEnd(template, index, filled, at);
    if (end < at) return undefined;
    const value = filled.slice(at, end);
    const known = captures.get(part.name);
    if (known !== undefined && known !== value) return undefined;
    captures.set(part.name, value);
    at = end;
  }
  return at === filled.length ? captures : undefined;
}

function valueEnd(template: Template, index: number, filled: string, at: number): number {
  if (index === template.length - 1) return filled.length;
  const next = textAt(template, index + 1);
  // Two values side by side cannot be told apart: the first gets nothing.
  if (next === '') return at;
  return index === template.length - 2 ? filled.length - next.length : filled.indexOf(next, at);
}

function textAt(template: Template, index: number): string {
  const part = template[index];
  return part?.kind === 'text' ? part.text : '';
}
