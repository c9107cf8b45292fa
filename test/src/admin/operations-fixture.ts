// A configuration and levels as a hub that was started by a file has, for the admin API to show and change.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Operations } from '../../../src/admin/operations.ts';
import { Configuration } from '../../../src/config/configuration.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { formatIssue } from '../../../src/config/sources.ts';
import { LogLevels } from '../../../src/log/levels.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Nothing is put into effect: what a broker does with it is the broker's. */
export async function openOperations(directory: string, text: string): Promise<Operations> {
  const file = path.join(directory, 'polylog.toml');
  await writeFile(file, text);
  const options = { file, environment: {}, settings: [], workingDirectory: directory };
  const { config, issues } = await loadConfig(options);
  if (config === undefined) throw new Error(issues.map(formatIssue).join('\n'));
  const configuration = new Configuration({
    ...{ loaded: config, options, log: SILENT },
    apply: async () => undefined,
  });
  const levels = new LogLevels('info', {
    now: () => 0,
    setTimer: () => ({ cancel: () => undefined }),
  });
  return { configuration, levels };
}
