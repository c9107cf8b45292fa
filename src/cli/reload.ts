// `polylog reload`: a running hub reads its configuration again, as at SIGHUP, and says what came of it.
import { AdminFailure, type AdminOptions } from './admin-client.ts';
import { addVerb, asks, type CommandLine } from './noun.ts';
import { EXIT } from './surroundings.ts';

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
`;

export function addReloadCommand(line: CommandLine): void {
  const { program, surroundings } = line;
  addVerb(program, 'reload', 'let a running hub read its configuration again', EXAMPLES).action(
    asks(line, async (admin, options: AdminOptions) => {
      const outcome = await admin.ask<Outcome>('POST', '/api/v1/config:reload');
      if (options.output === 'json') surroundings.out(`${JSON.stringify(outcome)}\n`);
      if (!outcome.ok) {
        const { applied } = outcome;
        const rest =
          applied.length === 0 ? 'Nothing has changed.' : `In effect all the same: ${applied.join(', ')}.`;
        throw new AdminFailure([...outcome.problems.map(lineOf), rest].join('\n'), EXIT.failed);
      }
      if (options.output === 'table') surroundings.out(wordsOf(outcome));
    }),
  );
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
