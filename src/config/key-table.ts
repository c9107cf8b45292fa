// The table of every key that config/README.md shows, made from the schema; a test holds the two together.
import { configSchema } from './schema.ts';
import { type SchemaNode, schemaTree } from './schema-tree.ts';

/** Markdown: key, what is written, default, whether a reload is enough, what it does. */
export function keyTable(): string {
  const rows = [
    ['key', 'value', 'default', 'reload', 'what'],
    ['---', '---', '---', '---', '---'],
    ...keyRows(schemaTree(configSchema), ''),
  ];
  return rows
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

function keyRows(node: SchemaNode, key: string): string[][] {
  switch (node.kind) {
    case 'table':
      return [...node.keys].flatMap(([name, child]) =>
        keyRows(child, key === '' ? name : `${key}.${shownKey(name)}`),
      );
    case 'tables':
      return keyRows(node.element, `[[${key}]]`);
    case 'value': {
      const fallback =
        node.default === undefined
          ? node.required
            ? 'required'
            : ''
          : `\`${JSON.stringify(node.default)}\``;
      return [[`\`${key}\``, node.form, fallback, node.restart ? 'restart' : 'yes', node.description]];
    }
    default:
      throw new TypeError(`unknown node ${node satisfies never}`);
  }
}

function shownKey(name: string): string {
  return name.includes('.') ? JSON.stringify(name) : name;
}
