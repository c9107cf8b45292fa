// Configuration: file → `${NAME}` → environment → flags → schema → rules → resolved values. Every problem is
// collected before any is told; with one problem nothing is started.
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { BrokerConfig } from './broker-config.ts';
import { type Environment, interpolate } from './interpolation.ts';
import { overrideFromEnvironment, overrideFromFlags } from './overrides.ts';
import { type LogConfig, resolveBroker, resolveLog } from './resolve.ts';
import { brokenRules } from './rules.ts';
import { type CheckedConfig, configSchema } from './schema.ts';
import { schemaIssues } from './schema-issues.ts';
import { type Path, schemaTree } from './schema-tree.ts';
import {
  type ConfigIssue,
  dottedKey,
  formatSource,
  sortIssues,
  sourceOf,
  type WrittenTree,
} from './sources.ts';
import { locateKeys } from './toml-positions.ts';
import { ONCE } from './value-kinds.ts';

export interface LoadedConfig {
  readonly file: string;
  readonly broker: BrokerConfig;
  readonly log: LogConfig;
  /** What both were made of. */
  readonly checked: CheckedConfig;
  /** For showing each value with its source. */
  readonly written: WrittenTree;
}

export type ConfigResult =
  | { readonly config: LoadedConfig; readonly issues?: undefined }
  | { readonly config?: undefined; readonly issues: readonly ConfigIssue[] };

export interface LoadOptions {
  /** As shown in messages, and opened relative to `workingDirectory`. */
  readonly file: string;
  readonly environment: Environment;
  /** `section.key=value`, from flags. */
  readonly settings: readonly string[];
  /** What relative paths in the configuration start from. */
  readonly workingDirectory: string;
  /** The hub is of use to who has it in his own process, without a listener too. */
  readonly isEmbedded?: boolean;
}

/** Far above any real configuration; keeps a wrong file (a log, a device) from being read whole. */
const FILE_BYTES_MAX = 16 * 1024 ** 2;

export async function loadConfig(options: LoadOptions): Promise<ConfigResult> {
  const text = await readConfigFile(options.file, options.workingDirectory);
  if (typeof text !== 'string') return { issues: [text] };
  return readConfig(text, options);
}

/** {@link loadConfig} for the text of a file that is already there. */
export function readConfig(text: string, options: LoadOptions): ConfigResult {
  const tree = parseDocument(text, options);
  if ('message' in tree) return { issues: [tree] };
  const schema = schemaTree(configSchema);
  const issues = interpolate(tree, schema, options.environment);
  issues.push(...overrideFromEnvironment(tree, schema, options.environment));
  issues.push(...overrideFromFlags(tree, schema, options.settings));
  const checked = configSchema.safeParse(tree.values, ONCE);
  if (!checked.success) issues.push(...schemaIssues(tree, schema, checked.error.issues));
  for (const { path: at, ...broken } of brokenRules(tree.values, options)) {
    issues.push({ source: sourceOf(tree, at), key: dottedKey(tree.values, at), ...broken });
  }
  if (!checked.success || issues.length > 0)
    return { issues: sortIssues(oncePerKey(issues)).map(withoutSecret) };
  return { config: resolve(checked.data, tree, options) };
}

function resolve(checked: CheckedConfig, written: WrittenTree, options: LoadOptions): LoadedConfig {
  const placeOf = (path: Path) => formatSource(sourceOf(written, path));
  const broker = resolveBroker(checked, options.workingDirectory, placeOf);
  return { file: options.file, broker, log: resolveLog(checked), checked, written };
}

async function readConfigFile(file: string, workingDirectory: string): Promise<string | ConfigIssue> {
  const source = { kind: 'file', file, line: undefined } as const;
  try {
    const absolute = path.resolve(workingDirectory, file);
    const { size } = await stat(absolute);
    if (size > FILE_BYTES_MAX)
      return { source, key: '', message: `is ${size} bytes, too large for a configuration` };
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(absolute));
  } catch (error) {
    return { source, key: '', message: readProblem(error) };
  }
}

function readProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
      return 'may not be read (permission denied)';
    case 'EISDIR':
      return 'is a directory';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8 text';
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function parseDocument(text: string, { file, isEmbedded }: LoadOptions): WrittenTree | ConfigIssue {
  try {
    return {
      file,
      values: parse(text),
      // A program's options have no lines.
      lines: isEmbedded === true ? new Map() : locateKeys(text),
      overridden: new Map(),
      variables: new Set(),
    };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const said = error.message.split('\n', 1)[0]!.replace(/^Invalid TOML document: /, '');
    const source = { kind: 'file', file, line: error.line } as const;
    return { source, key: '', message: `is not TOML: ${said}`, hint: `column ${error.column}` };
  }
}

/** What is wrong with a secret is said without it. */
function withoutSecret(issue: ConfigIssue): ConfigIssue {
  if (issue.source.kind !== 'secret' || issue.key === '') return issue;
  return { ...issue, message: `${issue.source.file} does not hold what this key takes`, hint: undefined };
}

/** A variable that is missing leaves its text in the value, which the schema then refuses once more. */
function oncePerKey(issues: readonly ConfigIssue[]): ConfigIssue[] {
  const seen = new Set<string>();
  return issues.filter((issue) => {
    if (issue.key === '') return true;
    if (seen.has(issue.key)) return false;
    seen.add(issue.key);
    return true;
  });
}
