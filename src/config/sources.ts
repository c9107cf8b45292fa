// Where each written value comes from, and how a problem with it is told: one line,
// `file:line: key: message (hint)`.
import type { Path } from './schema-tree.ts';
import { type KeyLines, pathKey } from './toml-positions.ts';

export type Source =
  | { readonly kind: 'file'; readonly file: string; readonly line: number | undefined }
  | { readonly kind: 'environment'; readonly name: string }
  /** A secret: its value is shown to nobody. */
  | { readonly kind: 'secret'; readonly name: string; readonly file: string }
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'default' };

/** One thing that is wrong with the configuration. */
export interface ConfigIssue {
  readonly source: Source;
  /** Dotted, elements of arrays by name; empty for the document as a whole. */
  readonly key: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The values as written, from the file first and then changed by overrides, which leave their names here. */
export interface WrittenTree {
  readonly file: string;
  readonly values: WrittenTable;
  readonly lines: KeyLines;
  readonly overridden: Map<string, Source>;
  /** Names of the variables that the file asks for. */
  readonly variables: Set<string>;
}

export type WrittenTable = { [key: string]: unknown };

export function isTable(value: unknown): value is WrittenTable {
  // Dates are the one kind of object that a TOML value can be besides tables and arrays.
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

export function valueAt(tree: WrittenTable, path: Path): unknown {
  let value: unknown = tree;
  for (const step of path) {
    // An array is a table of its positions here.
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as WrittenTable)[step];
  }
  return value;
}

/** Of a key that is missing: the table that it is missing from. */
export function sourceOf(tree: WrittenTree, path: Path): Source {
  for (let length = path.length; length > 0; length--) {
    const key = pathKey(path.slice(0, length));
    const override = tree.overridden.get(key);
    if (override) return override;
    const line = tree.lines.get(key);
    if (line !== undefined) return { kind: 'file', file: tree.file, line };
  }
  return { kind: 'file', file: tree.file, line: undefined };
}

export function dottedKey(tree: WrittenTable, path: Path): string {
  let dotted = '';
  path.forEach((step, index) => {
    if (typeof step === 'string') {
      dotted += index === 0 ? step : `.${step}`;
      return;
    }
    const name = valueAt(tree, [...path.slice(0, index + 1), 'name']);
    dotted += typeof name === 'string' && name !== '' ? `.${name}` : `[${step}]`;
  });
  return dotted;
}

export function formatSource(source: Source): string {
  switch (source.kind) {
    case 'file':
      return source.line === undefined ? source.file : `${source.file}:${source.line}`;
    case 'environment':
    case 'secret':
      return source.name;
    case 'flag':
      return source.flag;
    case 'default':
      return 'default';
    default:
      throw new TypeError(`unknown source ${source satisfies never}`);
  }
}

export function formatIssue(issue: ConfigIssue): string {
  const isToldBySource = issue.source.kind === 'flag' && issue.source.flag.endsWith(` ${issue.key}`);
  const key = issue.key === '' || isToldBySource ? '' : `${issue.key}: `;
  const hint = issue.hint === undefined ? '' : ` (${issue.hint})`;
  // A quoted value may hold anything; the promise is one line.
  return oneLine(`${formatSource(issue.source)}: ${key}${issue.message}${hint}`);
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** By line, then what came from elsewhere, in the order found. */
export function sortIssues(issues: readonly ConfigIssue[]): ConfigIssue[] {
  const rank = ({ source }: ConfigIssue) =>
    source.kind === 'file' ? (source.line ?? 0) : Number.MAX_SAFE_INTEGER;
  return [...issues].sort((left, right) => rank(left) - rank(right));
}
