// `--config F --set key=value …`, for the commands that read the configuration: which file, and what is said when
// something is wrong with it.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type ConfigResult, type LoadedConfig, type LoadOptions, loadConfig } from '../config/load.ts';
import { checkPaths } from '../config/paths.ts';
import { type ConfigIssue, formatIssue } from '../config/sources.ts';
import { packageFile } from './package-files.ts';
import type { Surroundings } from './surroundings.ts';

export interface ConfigOptions {
  readonly config?: string;
  readonly set?: readonly string[];
}

/** Which file is read, now and when it is read again, and what counts over it. */
export function loadOptionsOf({ config, set }: ConfigOptions, surroundings: Surroundings): LoadOptions {
  const { environment, workingDirectory } = surroundings;
  return {
    file: config ?? defaultFile(workingDirectory),
    environment,
    settings: set ?? [],
    workingDirectory,
  };
}

/** Undefined when something is wrong with it, which is told then, a line each. */
export async function configFromOptions(
  options: LoadOptions,
  surroundings: Surroundings,
): Promise<LoadedConfig | undefined> {
  const result = await loadConfig(options);
  const issues = await allIssues(result);
  if (result.config && issues.length === 0) return result.config;
  for (const issue of issues) surroundings.err(`${formatIssue(issue)}\n`);
  return undefined;
}

async function allIssues(result: ConfigResult): Promise<readonly ConfigIssue[]> {
  return result.issues ?? checkPaths(result.config);
}

/** `polylog.toml` here, else the one that comes with the package. */
function defaultFile(workingDirectory: string): string {
  if (existsSync(path.join(workingDirectory, 'polylog.toml'))) return 'polylog.toml';
  const packaged = packageFile('config', 'polylog.toml');
  const fromHere = path.relative(workingDirectory, packaged);
  return fromHere.startsWith('..') ? packaged : fromHere;
}
