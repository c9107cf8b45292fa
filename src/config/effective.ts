// What is in effect: every value of the configuration with its key and where it comes from.
import { configSchema } from './schema.ts';
import { type Path, type SchemaNode, schemaTree } from './schema-tree.ts';
import { dottedKey, type Source, sourceOf, valueAt, type WrittenTree } from './sources.ts';

export interface EffectiveValue {
  /** From the section on; elements of arrays by position. */
  readonly path: Path;
  /** Dotted, elements of arrays by name. */
  readonly key: string;
  /** As it is written, or would be; undefined for a secret. */
  readonly value: unknown;
  readonly source: Source;
  /** Another value would be in effect after a restart only. */
  readonly restart: boolean;
}

/** In the order of the schema; what is neither written nor has a default is left out. */
export function effectiveValues(tree: WrittenTree): EffectiveValue[] {
  return [...valuesUnder(tree, schemaTree(configSchema), [])];
}

function* valuesUnder(tree: WrittenTree, node: SchemaNode, path: Path): Generator<EffectiveValue> {
  switch (node.kind) {
    case 'table':
      for (const [key, child] of node.keys) yield* valuesUnder(tree, child, [...path, key]);
      return;
    case 'tables': {
      const elements = valueAt(tree.values, path);
      if (!Array.isArray(elements)) return;
      for (const index of elements.keys()) yield* valuesUnder(tree, node.element, [...path, index]);
      return;
    }
    case 'value': {
      const written = valueAt(tree.values, path);
      const value = written ?? node.default;
      if (value === undefined) return;
      const source: Source = written === undefined ? { kind: 'default' } : sourceOf(tree, path);
      const key = dottedKey(tree.values, path);
      yield { path, key, value: source.kind === 'secret' ? undefined : value, source, restart: node.restart };
      return;
    }
    default:
      throw new TypeError(`unknown node ${node satisfies never}`);
  }
}
