// `POLYLOG__SECTION__KEY`, or `POLYLOG__SECTION__KEY_FILE` with the name of a file that holds the value, and `--set section.key=value`: one value each, put over the file's.
// An element of an array is named by its `name`: `POLYLOG__LISTENER__kafka__BIND`, `--set listener.kafka.bind=…`.
import { readFileSync, statSync } from 'node:fs';
import { type Environment, readText } from './interpolation.ts';
import { nearest } from './nearest.ts';
import type { Path, SchemaNode } from './schema-tree.ts';
import {
  type ConfigIssue,
  isTable,
  type Source,
  valueAt,
  type WrittenTable,
  type WrittenTree,
} from './sources.ts';
import { pathKey } from './toml-positions.ts';

const ENVIRONMENT_PREFIX = 'POLYLOG__';
const FILE_SUFFIX = '_FILE';
const SECRET_BYTES_MAX = 64 * 1024;

/** How keys are spelt where the override comes from. */
interface Spelling {
  readonly separator: string;
  /** What is compared; the same for all spellings of one key. */
  normal(key: string): string;
  /** The key as a user would write it there. */
  written(key: string): string;
}

const IN_ENVIRONMENT: Spelling = {
  separator: '__',
  normal: (key) => key.toUpperCase().replace(/[.-]/g, '_'),
  written: (key) => key.toUpperCase().replace(/[.-]/g, '_'),
};

const IN_FLAG: Spelling = { separator: '.', normal: (key) => key, written: (key) => key };

export function overrideFromEnvironment(
  tree: WrittenTree,
  schema: SchemaNode,
  environment: Environment,
): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  for (const name of Object.keys(environment).sort()) {
    const text = environment[name];
    if (!name.startsWith(ENVIRONMENT_PREFIX) || text === undefined) continue;
    const issue = overrideByVariable(tree, schema, name, text);
    if (issue) issues.push(issue);
  }
  return issues;
}

function overrideByVariable(
  tree: WrittenTree,
  schema: SchemaNode,
  name: string,
  text: string,
): ConfigIssue | undefined {
  const source = { kind: 'environment', name } as const;
  const key = name.slice(ENVIRONMENT_PREFIX.length);
  const found = find(tree.values, schema, key, IN_ENVIRONMENT);
  const valueKey = key.endsWith(FILE_SUFFIX) ? key.slice(0, -FILE_SUFFIX.length) : undefined;
  if (!('message' in found) || valueKey === undefined)
    return override(tree, schema, source, key, text, IN_ENVIRONMENT);
  const ofFile = find(tree.values, schema, valueKey, IN_ENVIRONMENT);
  if ('message' in ofFile) return { source, key: '', ...ofFile };
  if (tree.overridden.has(pathKey(ofFile.path))) {
    const hint = `unset it or ${ENVIRONMENT_PREFIX}${valueKey}`;
    return { source, key: '', message: 'says the same key once more', hint };
  }
  const secret = readSecret(text);
  if ('problem' in secret) return { source, key: '', message: secret.problem };
  return override(tree, schema, { kind: 'secret', name, file: text }, valueKey, secret.text, IN_ENVIRONMENT);
}

/** The line's end at the end of the file is an editor's, not the secret's. */
function readSecret(file: string): { readonly text: string } | { readonly problem: string } {
  try {
    const bytes = statSync(file).size;
    if (bytes > SECRET_BYTES_MAX)
      return { problem: `names ${file}, which has ${bytes} bytes: too many for a value` };
    return { text: readFileSync(file, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problem: `names a file that cannot be read: ${reason}` };
  }
}

/** @param settings as given to `--set`: `section.key=value`. */
export function overrideFromFlags(
  tree: WrittenTree,
  schema: SchemaNode,
  settings: readonly string[],
): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  for (const setting of settings) {
    const equals = setting.indexOf('=');
    const key = equals < 0 ? setting : setting.slice(0, equals);
    const source = { kind: 'flag', flag: `--set ${key}` } as const;
    const issue =
      equals < 0
        ? { source, key: '', message: 'has no value', hint: 'write --set section.key=value' }
        : override(tree, schema, source, key, setting.slice(equals + 1), IN_FLAG);
    if (issue) issues.push(issue);
  }
  return issues;
}

function override(
  tree: WrittenTree,
  schema: SchemaNode,
  source: Source,
  key: string,
  text: string,
  spelling: Spelling,
): ConfigIssue | undefined {
  const found = find(tree.values, schema, key, spelling);
  if ('message' in found) return { source, key: '', ...found };
  put(tree.values, found.path, readText(found.node, text));
  tree.overridden.set(pathKey(found.path), source);
  return undefined;
}

type Found =
  | { readonly path: Path; readonly node: SchemaNode }
  | { readonly message: string; readonly hint?: string };

function find(values: WrittenTable, schema: SchemaNode, key: string, spelling: Spelling): Found {
  let node = schema;
  let path: Path = [];
  let rest = key;
  const before = () => key.slice(0, key.length - rest.length);
  for (;;) {
    const steps = stepsFrom(values, node, path);
    const step = longestMatch(steps, rest, spelling);
    if (!step) {
      const word = rest.split(spelling.separator, 1)[0]!;
      if (node.kind === 'tables') return unknownElement(path, word, steps);
      const meant = nearest(
        spelling.normal(word),
        steps.map(([name]) => spelling.normal(name)),
      );
      const full = steps.find(([name]) => spelling.normal(name) === meant)?.[0];
      if (full === undefined) {
        const known = steps.map(([name]) => spelling.written(name)).join(', ');
        return { message: 'unknown key', hint: `known here: ${known}` };
      }
      const prefix = spelling === IN_ENVIRONMENT ? ENVIRONMENT_PREFIX : '';
      const meantKey = `${prefix}${before()}${spelling.written(full)}${rest.slice(word.length)}`;
      return { message: 'unknown key', hint: `did you mean ${meantKey}?` };
    }
    const [name, at, child] = step;
    node = child;
    path = [...path, at];
    if (rest.length === name.length) {
      if (node.kind === 'value') return { path, node };
      const inside = stepsFrom(values, node, path).map(([inner]) => inner);
      return { message: 'is a table, not a value', hint: `set one in it: ${inside.join(', ')}` };
    }
    rest = rest.slice(name.length + spelling.separator.length);
  }
}

type Step = readonly [name: string, at: string | number, child: SchemaNode];

/** What may come next after `path`: keys of a table, names of an array's elements. */
function stepsFrom(values: WrittenTable, node: SchemaNode, path: Path): Step[] {
  if (node.kind === 'table') return [...node.keys].map(([key, child]) => [key, key, child] as const);
  if (node.kind === 'value') return [];
  const elements = valueAt(values, path);
  const steps: Step[] = [];
  if (!Array.isArray(elements)) return steps;
  elements.forEach((element: unknown, index) => {
    const name = isTable(element) ? element['name'] : undefined;
    if (typeof name === 'string') steps.push([name, index, node.element]);
  });
  return steps;
}

/** Keys may hold the separator (`segment.bytes`, a topic `a__b`), so the longest that fits is meant. */
function longestMatch(steps: readonly Step[], rest: string, spelling: Spelling): Step | undefined {
  const wanted = spelling.normal(rest);
  let best: Step | undefined;
  for (const step of steps) {
    const name = spelling.normal(step[0]);
    const fits = wanted === name || wanted.startsWith(name + spelling.separator);
    if (fits && name.length > (best?.[0].length ?? -1)) best = step;
  }
  return best;
}

function unknownElement(path: Path, word: string, steps: readonly Step[]): Found {
  const names = steps.map(([name]) => name);
  return {
    message: `no [[${path.join('.')}]] is named "${word}"`,
    hint: names.length === 0 ? 'the file has none' : `named are ${names.join(', ')}`,
  };
}

/** Opens the tables on the way. One that is no table stays, for the schema to complain about. */
function put(values: WrittenTable, path: Path, value: unknown): void {
  let target = values;
  for (const step of path.slice(0, -1)) {
    if (!Object.hasOwn(target, step)) target[step] = {};
    const next = target[step];
    if (typeof next !== 'object' || next === null) return;
    // An array is a table of its positions here.
    target = next as WrittenTable;
  }
  target[path[path.length - 1]!] = value;
}
