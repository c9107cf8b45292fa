// The effective configuration as TOML, each value with where it comes from: `polylog check --print`.

import { configSchema } from './schema.ts';
import { schemaTree, type TableNode, type ValueNode } from './schema-tree.ts';
import { formatSource, sourceOf, valueAt, type WrittenTree } from './sources.ts';

export function printConfig(tree: WrittenTree): string {
  const root = schemaTree(configSchema);
  if (root.kind !== 'table') throw new TypeError('the configuration is a table');
  const blocks: string[] = [];
  for (const [name, node] of root.keys) {
    if (node.kind === 'table') blocks.push(block(`[${name}]`, tree, node, [name]));
    else if (node.kind === 'tables') blocks.push(...elements(tree, node.element, name));
  }
  return `${blocks.filter((text) => text !== '').join('\n\n')}\n`;
}

function elements(tree: WrittenTree, element: TableNode, name: string): string[] {
  const written = tree.values[name];
  if (!Array.isArray(written)) return [];
  return written.map((_, index) => block(`[[${name}]]`, tree, element, [name, index]));
}

function block(
  title: string,
  tree: WrittenTree,
  table: TableNode,
  path: readonly (string | number)[],
): string {
  const lines = [...pairs(tree, table, path, '')];
  const width = Math.max(0, ...lines.map(({ text }) => Math.min(text.length, 48)));
  const shown = lines.map(({ text, source }) => `${text.padEnd(width)}  # ${source}`);
  return shown.length === 0 ? '' : [title, ...shown].join('\n');
}

/** Tables inside a table are shown with dotted keys; a value that is neither written nor has a default is not shown. */
function* pairs(
  tree: WrittenTree,
  table: TableNode,
  path: readonly (string | number)[],
  prefix: string,
): Generator<{ readonly text: string; readonly source: string }> {
  for (const [key, node] of table.keys) {
    const at = [...path, key];
    const name = prefix + (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key));
    if (node.kind === 'table') yield* pairs(tree, node, at, `${name}.`);
    else if (node.kind === 'value') yield* pair(tree, node, at, name);
  }
}

function* pair(tree: WrittenTree, node: ValueNode, at: readonly (string | number)[], name: string) {
  const written = valueAt(tree.values, at);
  const value = written ?? node.default;
  if (value === undefined) return;
  const source = written === undefined ? 'default' : formatSource(sourceOf(tree, at));
  yield { text: `${name} = ${JSON.stringify(value)}`, source };
}
