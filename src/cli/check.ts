// `polylog check`: everything that is wrong with a configuration, and what this machine has against it; `--print` shows
// what is in effect and where each value comes from, `--schema` the JSON Schema of the file.
import { effectiveValues } from '../config/effective.ts';
import { jsonSchemaText } from '../config/json-schema.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { checkMachine } from '../config/machine.ts';
import { checkPaths } from '../config/paths.ts';
import { printConfig } from '../config/print.ts';
import { type ConfigIssue, formatIssue, formatSource } from '../config/sources.ts';
import { type ConfigOptions, loadOptionsOf } from './config-option.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface CheckOptions extends ConfigOptions {
  readonly print?: boolean;
  readonly schema?: boolean;
  readonly output: 'table' | 'json';
}

export async function check(options: CheckOptions, surroundings: Surroundings): Promise<number> {
  if (options.schema === true) {
    surroundings.out(jsonSchemaText());
    return EXIT.done;
  }
  const { config, issues: wrong } = await loadConfig(loadOptionsOf(options, surroundings));
  const errors = wrong ?? (await checkPaths(config));
  const warnings = errors.length > 0 || config === undefined ? [] : await checkMachine(config);
  if (options.print === true) tellValues(config, errors, options, surroundings);
  else tellIssues(errors, warnings, options, surroundings);
  if (errors.length > 0) return EXIT.failed;
  if (options.print !== true && options.output === 'table')
    surroundings.out(summaryOf(config!, warnings.length)); // without errors there is one
  return EXIT.done;
}

function tellIssues(
  errors: readonly ConfigIssue[],
  warnings: readonly ConfigIssue[],
  { output }: CheckOptions,
  surroundings: Surroundings,
): void {
  if (output === 'table') {
    for (const issue of errors) surroundings.err(`${formatIssue(issue)}\n`);
    for (const issue of warnings)
      surroundings.err(`${formatIssue({ ...issue, message: `warning: ${issue.message}` })}\n`);
    return;
  }
  const told = [
    ...errors.map((issue) => jsonOf('error', issue)),
    ...warnings.map((issue) => jsonOf('warning', issue)),
  ];
  for (const each of told) surroundings.out(`${JSON.stringify(each)}\n`);
}

function jsonOf(severity: 'error' | 'warning', { source, key, message, hint }: ConfigIssue): object {
  const place = source.kind === 'file' ? { file: source.file, line: source.line ?? null } : {};
  return { severity, source: formatSource(source), ...place, key, message, hint };
}

function tellValues(
  config: LoadedConfig | undefined,
  errors: readonly ConfigIssue[],
  options: CheckOptions,
  surroundings: Surroundings,
): void {
  for (const issue of errors) surroundings.err(`${formatIssue(issue)}\n`);
  if (config === undefined || errors.length > 0) return;
  if (options.output === 'table') {
    surroundings.out(printConfig(config.written));
    return;
  }
  for (const { key, value, source } of effectiveValues(config.written))
    surroundings.out(`${JSON.stringify({ key, value: value ?? null, source: formatSource(source) })}\n`);
}

function summaryOf({ file }: LoadedConfig, warnings: number): string {
  const more = warnings === 0 ? '' : warnings === 1 ? ', 1 warning' : `, ${warnings} warnings`;
  return `${file}: nothing wrong${more}\n`;
}
