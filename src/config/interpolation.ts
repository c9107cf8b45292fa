// `${NAME}` and `${NAME:default}` in strings of the configuration file, replaced from the environment. They are
// replaced in values, after parsing: what a variable holds can never become a key or a table.
import { nodeAt, type Path, type SchemaNode } from './schema-tree.ts';
import {
  type ConfigIssue,
  dottedKey,
  isTable,
  sourceOf,
  type WrittenTable,
  type WrittenTree,
} from './sources.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Replaces in place. A value that is nothing but text from the environment may be a number or a boolean. */
export function interpolate(tree: WrittenTree, schema: SchemaNode, environment: Environment): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') return replace(value, path);
    if (Array.isArray(value)) return value.map((element, index) => visit(element, [...path, index]));
    if (isTable(value)) for (const key of Object.keys(value)) value[key] = visit(value[key], [...path, key]);
    return value;
  };
  const replace = (text: string, path: Path): unknown => {
    const found = substitute(text, environment, tree.variables);
    for (const problem of found.problems) {
      issues.push({ source: sourceOf(tree, path), key: dottedKey(tree.values, path), ...problem });
    }
    return found.text === text ? text : readText(nodeAt(schema, path), found.text);
  };
  visit(tree.values satisfies WrittenTable, []);
  return issues;
}

function substitute(text: string, environment: Environment, asked: Set<string>) {
  const problems: { message: string; hint: string }[] = [];
  const replaced = text.replace(
    /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(:[^}]*)?\})?/g,
    (match, name: string | undefined, fallback: string | undefined) => {
      if (match === '$${') return '${';
      if (name === undefined) {
        problems.push({
          message: '"${" opens no variable',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is about just that.
          hint: 'write "${NAME}", "${NAME:default}", or "$${" for the characters',
        });
        return match;
      }
      asked.add(name);
      const value = environment[name] ?? fallback?.slice(1);
      if (value === undefined) {
        problems.push({
          message: `environment variable ${name} is not set`,
          hint: `set it or write "\${${name}:default}"`,
        });
      }
      return value ?? match;
    },
  );
  return { text: replaced, problems };
}

/** Text from the environment or a flag, as the type that its key has; as it is where it does not fit. */
export function readText(node: SchemaNode | undefined, text: string): unknown {
  if (node?.kind !== 'value') return text;
  if (node.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (node.type === 'number' && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (node.type === 'list') return text === '' ? [] : text.split(',').map((each) => each.trim());
  return text;
}
