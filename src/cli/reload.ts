// `polylog reload`: a running hub reads its configuration again, as at SIGHUP, and says what came of it.
import type { Command } from 'commander';
import { AdminFailure, type AdminOptions, addAdminOptions, withAdmin } from './admin-client.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

interface Problem {
  readonly source: string;
  readonly key: string;
  readonly message: string;
  readonly hint?: string;
}

interface Outcome {
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly applied: readonly string[];
  readonly needsRestart: readonly string[];
  readonly unchanged: readonly string[];
}

const EXAMPLES = `
Examples:
  polylog reload
  polylog reload --output json | jq -r '.needsRestart[]'
  polylog reload --admin http://gateway.lan:9640

With anything wrong in the file nothing changes: its problems are told, and the exit code is 1.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the hub cannot be reached.
`;

export function addReloadCommand(
  program: Command,
  surroundings: Surroundings,
  finish: (exitCode: number) => void,
): void {
  addAdminOptions(program.command('reload'))
    .description('let a running hub read its configuration again')
    .addHelpText('after', EXAMPLES)
    .action(async (options: AdminOptions) => finish(await reload(options, surroundings)));
}

function reload(options: AdminOptions, surroundings: Surroundings): Promise<number> {
  return withAdmin(options, surroundings, async (admin) => {
    const outcome = await admin.ask<Outcome>('POST', '/api/v1/config:reload');
    if (options.output === 'json') surroundings.out(`${JSON.stringify(outcome)}\n`);
    if (!outcome.ok)
      throw new AdminFailure(
        [...outcome.problems.map(lineOf), 'Nothing has changed.'].join('\n'),
        EXIT.failed,
      );
    if (options.output === 'table') surroundings.out(wordsOf(outcome));
  });
}

function lineOf({ source, key, message, hint }: Problem): string {
  return `${source}: ${key === '' ? '' : `${key}: `}${message}${hint === undefined ? '' : ` (${hint})`}`;
}

function wordsOf({ applied, needsRestart, unchanged }: Outcome): string {
  const lines = [
    ...listOf('applied', applied),
    ...listOf('needs a restart', needsRestart),
    `unchanged: ${unchanged.length} keys`,
  ];
  return `${lines.join('\n')}\n`;
}

function listOf(what: string, keys: readonly string[]): string[] {
  return [keys.length === 0 ? `${what}: nothing` : `${what}:`, ...keys.map((key) => `  ${key}`)];
}
