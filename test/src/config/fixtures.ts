// Small verbs for the configuration's tests: a document in, resolved values or the exact lines out.
import { type ConfigResult, type LoadedConfig, readConfig } from '../../../src/config/load.ts';
import { formatIssue } from '../../../src/config/sources.ts';

/** The least that starts: four lines, so that what a test appends begins on line 5. */
export const LISTENER = '[[listener]]\nname = "kafka"\nprotocol = "kafka"\nbind = "127.0.0.1:9092"\n';

export interface Around {
  readonly environment?: Readonly<Record<string, string>>;
  readonly settings?: readonly string[];
}

export function read(text: string, around: Around = {}): ConfigResult {
  return readConfig(text, {
    file: 'polylog.toml',
    environment: around.environment ?? {},
    settings: around.settings ?? [],
    workingDirectory: '/srv/hub',
  });
}

export function sound(text: string, around: Around = {}): LoadedConfig {
  const result = read(text, around);
  if (result.issues) throw new Error(result.issues.map(formatIssue).join('\n'));
  return result.config;
}

export function complaints(text: string, around: Around = {}): string[] {
  return (read(text, around).issues ?? []).map(formatIssue);
}
