// The schema of the file as JSON Schema, for editors that complete and check `polylog.toml`; shipped as
// config/polylog.schema.json, and printed by `polylog check --schema`.
import * as z from 'zod';
import { configSchema } from './schema.ts';

/** What may stand in the place of any value: text with a variable in it. */
const VARIABLE = '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\\}';
const DURATION = '^([0-9]+(\\.[0-9]+)?(ms|[smhdw]))+$';
const SIZE = '^[0-9]+(\\.[0-9]+)? ?([KMGT]iB|[kKMGT]B|B)$';
const ADDRESS = '^(\\[[0-9A-Fa-f:.%]+\\]|[^\\s:\\[\\]/]+):[0-9]{1,5}$';

/** Of the forms in value-kinds.ts and schema.ts that are written as text. */
const PATTERNS: Readonly<Record<string, string>> = {
  duration: DURATION,
  size: SIZE,
  'host:port': ADDRESS,
};

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** JSON, two spaces deep. */
export function jsonSchemaText(): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' });
  return `${JSON.stringify({ ...adapted(schema), title: 'Polylog configuration' }, null, 2)}\n`;
}

/** zod knows nothing of units and variables; our own meta means nothing to an editor. */
function adapted({ form, restart: _, ...schema }: JsonSchema): JsonSchema {
  if (schema.properties !== undefined) {
    // What is in a table are schemas, and never the booleans that JSON Schema allows too.
    const properties = Object.entries(schema.properties).map(([key, child]) => [
      key,
      adapted(child as JsonSchema),
    ]);
    return { ...schema, properties: Object.fromEntries(properties) };
  }
  if (schema.items !== undefined) return { ...schema, items: adapted(schema.items as JsonSchema) };
  const { description, default: byDefault, ...rest } = schema;
  if (rest.maximum !== undefined && rest.maximum >= Number.MAX_SAFE_INTEGER) delete rest.maximum;
  const pattern = typeof form === 'string' ? PATTERNS[form] : undefined;
  const isPlainText =
    rest.type === 'string' && rest.enum === undefined && (pattern ?? rest.pattern) === undefined;
  const own: JsonSchema = pattern === undefined ? rest : { ...rest, pattern };
  return {
    ...(description === undefined ? {} : { description }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    ...(isPlainText ? own : { anyOf: [...(own.anyOf ?? [own]), { type: 'string', pattern: VARIABLE }] }),
  };
}
