// The schema seen as a tree of tables and values, for what zod itself does not do: finding a key by the path of an
// override, naming the nearest known key, listing every key with its default.
import type * as z from 'zod';

export type SchemaNode = TableNode | TablesNode | ValueNode;

/** `[section]`, or `{ … }` as a value. */
export interface TableNode {
  readonly kind: 'table';
  readonly keys: ReadonlyMap<string, SchemaNode>;
}

/** `[[section]]`: elements are found by their `name`. */
export interface TablesNode {
  readonly kind: 'tables';
  readonly element: TableNode;
}

export interface ValueNode {
  readonly kind: 'value';
  /** `list`: of texts. */
  readonly type: 'number' | 'boolean' | 'string' | 'number-or-string' | 'list';
  /** What is to be written, for people: `duration`, `size`, `true or false`, `kafka | mqtt | http`. */
  readonly form: string;
  readonly choices: readonly string[];
  /** As it would be written; undefined when there is none. */
  readonly default: unknown;
  readonly required: boolean;
  readonly description: string;
  /** In effect after a restart only. */
  readonly restart: boolean;
}

export type Path = readonly (string | number)[];

/** @throws when the schema uses a kind of type that this does not know: a mistake in schema.ts. */
export function schemaTree(schema: z.ZodType): SchemaNode {
  const { inner, required, fallback, description, form, restart } = unwrap(schema);
  const definition = inner.def;
  switch (definition.type) {
    case 'object': {
      const keys = new Map<string, SchemaNode>();
      for (const [key, value] of Object.entries((definition as z.core.$ZodObjectDef).shape)) {
        // The shape of a schema made with zod's classic API holds classic schemas; the core type does not say so.
        keys.set(key, schemaTree(value as z.ZodType));
      }
      return { kind: 'table', keys };
    }
    case 'array': {
      const element = schemaTree((definition as z.core.$ZodArrayDef).element as z.ZodType);
      if (element.kind === 'table') return { kind: 'tables', element };
      if (element.kind !== 'value' || element.type !== 'string') {
        throw new TypeError('an array of the configuration holds tables or texts');
      }
      const shape = { type: 'list', form: form ?? 'list of texts', choices: [] } as const;
      return { kind: 'value', ...shape, default: fallback, required, description, restart };
    }
    case 'enum': {
      const choices = Object.values((definition as z.core.$ZodEnumDef).entries).map(String);
      const shape = { type: 'string', form: choices.join(' | '), choices } as const;
      return { kind: 'value', ...shape, default: fallback, required, description, restart };
    }
    default: {
      const type = valueType(definition.type);
      const plainForm = { number: 'whole number', boolean: 'true or false', string: 'text' } as const;
      const written = form ?? (type === 'number-or-string' ? 'number or text' : plainForm[type]);
      return {
        kind: 'value',
        type,
        form: written,
        choices: [],
        default: fallback,
        required,
        description,
        restart,
      };
    }
  }
}

function valueType(type: string): Exclude<ValueNode['type'], 'list'> {
  if (type === 'number' || type === 'boolean' || type === 'string') return type;
  if (type === 'union') return 'number-or-string';
  throw new TypeError(`the configuration has no key of type ${type}`);
}

/** Takes off what is around the type itself: defaults, optionality, conversions. */
function unwrap(schema: z.ZodType) {
  let inner = schema;
  let required = true;
  let fallback: unknown;
  let description: string | undefined;
  let form: string | undefined;
  let restart = false;
  for (;;) {
    const meta = inner.meta();
    description ??= meta?.description;
    form ??= meta?.form;
    restart ||= meta?.restart === true;
    const definition = inner.def;
    // Casts: `def.type` decides which definition it is, but zod's types do not discriminate on it.
    if (definition.type === 'prefault') {
      const { innerType, defaultValue } = definition as z.core.$ZodPrefaultDef;
      required = false;
      fallback = defaultValue;
      inner = innerType as z.ZodType;
    } else if (definition.type === 'optional') {
      required = false;
      inner = (definition as z.core.$ZodOptionalDef).innerType as z.ZodType;
    } else if (definition.type === 'pipe') {
      inner = (definition as z.core.$ZodPipeDef).in as z.ZodType;
    } else {
      return { inner, required, fallback, description: description ?? '', form, restart };
    }
  }
}

/** The node that a path of the parsed file leads to: names of keys, positions in arrays. */
export function nodeAt(root: SchemaNode, path: Path): SchemaNode | undefined {
  let node: SchemaNode | undefined = root;
  for (const step of path) {
    if (node?.kind === 'tables') node = typeof step === 'number' ? node.element : undefined;
    else if (node?.kind === 'table') node = node.keys.get(String(step));
    else return undefined;
  }
  return node;
}

/** Every value of the schema with its path, `*` for any element of an array, in the order of the schema. */
export function* schemaValues(
  node: SchemaNode,
  path: readonly string[] = [],
): Generator<{ readonly path: readonly string[]; readonly node: ValueNode }> {
  if (node.kind === 'value') yield { path, node };
  else if (node.kind === 'tables') yield* schemaValues(node.element, [...path, '*']);
  else for (const [key, child] of node.keys) yield* schemaValues(child, [...path, key]);
}
