// Runs once before the tests: brings dist/ up to date, for the tests that run the hub as a process of its own.
// With nothing changed it takes a fraction of a second.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** What the compiler said when it failed; empty when dist/ is good. */
    readonly buildError: string;
  }
}

const repository = join(import.meta.dirname, '..');

export async function setup(project: TestProject): Promise<void> {
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
    'bin/tsc',
  );
  const buildError =
    (await run(compiler, '-b', 'tsconfig.build.json', '--pretty', 'false')) ||
    (await run('esbuild.config.mjs'));
  // Only the tests that use dist/ fail on this: a type error says nothing against the others.
  project.provide('buildError', buildError);
}

/** What it said when it failed; empty when it did not. */
function run(...argv: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, argv, { cwd: repository }, (error, stdout, stderr) =>
      resolve(error === null ? '' : `${stdout}${stderr}` || error.message),
    );
  });
}
