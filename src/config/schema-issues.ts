// What zod found, in the words of the configuration: which key on which line, what it must be, what it is.
import type * as z from 'zod';
import { nearest } from './nearest.ts';
import { nodeAt, type Path, type SchemaNode, schemaValues, type ValueNode } from './schema-tree.ts';
import { type ConfigIssue, dottedKey, sourceOf, valueAt, type WrittenTree } from './sources.ts';
import { DURATION_FORM, SIZE_FORM } from './units.ts';

export function schemaIssues(
  tree: WrittenTree,
  schema: SchemaNode,
  found: readonly z.core.$ZodIssue[],
): ConfigIssue[] {
  return found.flatMap((issue) => {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
    if (issue.code !== 'unrecognized_keys') return [toIssue(tree, schema, path, issue)];
    return issue.keys.map((key) => unknownKey(tree, schema, path, key));
  });
}

function unknownKey(tree: WrittenTree, schema: SchemaNode, table: Path, key: string): ConfigIssue {
  const path = [...table, key];
  const node = nodeAt(schema, table);
  const siblings = node?.kind === 'table' ? [...node.keys.keys()] : [];
  const near = nearest(key, siblings);
  const elsewhere = [...schemaValues(schema)].find((value) => value.path.at(-1) === key)?.path.join('.');
  const meant = near ?? elsewhere?.replace('.*.', '.<name>.');
  return {
    source: sourceOf(tree, path),
    key: dottedKey(tree.values, path),
    message: 'unknown key',
    hint: meant === undefined ? listOf(siblings) : `did you mean ${meant}?`,
  };
}

function listOf(keys: readonly string[]): string | undefined {
  return keys.length === 0 ? undefined : `known here: ${keys.join(', ')}`;
}

function toIssue(tree: WrittenTree, schema: SchemaNode, path: Path, issue: z.core.$ZodIssue): ConfigIssue {
  const value = valueAt(tree.values, path);
  const where = { source: sourceOf(tree, path), key: dottedKey(tree.values, path) };
  const node = nodeAt(schema, path);
  if (value === undefined) return { ...where, message: 'is missing', hint: formHint(node) };
  switch (issue.code) {
    case 'invalid_value': {
      const choices = issue.values.map(String);
      const meant = typeof value === 'string' ? nearest(value, choices) : undefined;
      return {
        ...where,
        message: `must be one of ${choices.join(', ')}, not ${shown(value)}`,
        hint: meant === undefined ? undefined : `did you mean ${meant}?`,
      };
    }
    case 'too_small':
    case 'too_big': {
      if (value === '') return { ...where, message: 'must not be empty' };
      const bound = issue.code === 'too_small' ? `at least ${issue.minimum}` : `at most ${issue.maximum}`;
      const unit = { string: ' characters', array: ' elements' }[issue.origin as string] ?? '';
      return {
        ...where,
        message: `must be ${bound}${unit}, not ${issue.origin === 'number' ? shown(value) : sizeOf(value)}`,
      };
    }
    case 'invalid_format':
      return { ...where, message: `${issue.message}, not ${shown(value)}` };
    case 'custom':
      return { ...where, message: issue.message, hint: hintOf(issue) };
    default:
      return { ...where, message: `must be ${expected(node)}, not ${shown(value)}`, hint: formHint(node) };
  }
}

function hintOf(issue: z.core.$ZodIssueCustom): string | undefined {
  const hint: unknown = issue.params?.['hint'];
  return typeof hint === 'string' ? hint : undefined;
}

function expected(node: SchemaNode | undefined): string {
  if (node?.kind === 'table') return 'a table';
  if (node?.kind === 'tables') return 'an array of tables';
  if (node === undefined) return 'something else';
  const article = /^(?:duration|size|whole number|host:port|list)/.test(node.form) ? 'a ' : '';
  return node.form === 'host:port' ? '"host:port"' : `${article}${node.form}`;
}

function formHint(node: SchemaNode | undefined): string | undefined {
  if (node?.kind !== 'value') return undefined;
  const forms: Readonly<Record<ValueNode['form'], string>> = {
    duration: `such as ${DURATION_FORM}`,
    size: `such as ${SIZE_FORM}`,
    'host:port': 'such as "127.0.0.1:9092"',
  };
  return forms[node.form] ?? (node.choices.length > 0 ? `one of ${node.choices.join(', ')}` : undefined);
}

function sizeOf(value: unknown): string {
  return String(typeof value === 'string' || Array.isArray(value) ? value.length : value);
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return value instanceof Date ? 'a date' : 'a table';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
