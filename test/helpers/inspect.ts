// `polylog log …` in the test's own process, and what it found.
import { runCommandLine } from '../../src/cli/program.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** @param linesMax of output after which the reader goes away */
export async function runLog(
  args: readonly string[],
  workingDirectory: string,
  linesMax = Number.POSITIVE_INFINITY,
): Promise<CommandResult> {
  const said = { out: '', err: '' };
  const exitCode = await runCommandLine(['log', ...args], {
    out: (text) => {
      said.out += text;
    },
    outMuch: async (text) => {
      said.out += text;
      return said.out.split('\n').length <= linesMax;
    },
    err: (text) => {
      said.err += text;
    },
    environment: {},
    workingDirectory,
  });
  return { exitCode, ...said };
}

export interface FoundThing {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly file: string;
  readonly position?: number;
  readonly offset?: number;
  readonly message: string;
}

export interface Inspected {
  readonly exitCode: number;
  readonly errors: readonly FoundThing[];
  readonly warnings: readonly FoundThing[];
  readonly summary: Readonly<Record<string, number | boolean>>;
  readonly err: string;
}

/** `polylog log verify`; throws when it does not get as far as a summary. */
export async function inspect(directory: string, ...more: string[]): Promise<Inspected> {
  const { exitCode, out, err } = await runLog(['verify', '.', ...more, '--output', 'json'], directory);
  const lines = out
    .trim()
    .split('\n')
    .map((line) => (line === '' ? {} : (JSON.parse(line) as FoundThing | { summary: Inspected['summary'] })));
  const last = lines.pop();
  if (last === undefined || !('summary' in last)) throw new Error(`no summary: ${out}${err}`);
  const found = lines as FoundThing[]; // every line but the last is one
  return {
    exitCode,
    errors: found.filter(({ severity }) => severity === 'error'),
    warnings: found.filter(({ severity }) => severity === 'warning'),
    summary: last.summary as Inspected['summary'], // what the command prints last
    err,
  };
}
