// Python with PyPI's msgpack, in a virtual environment of its own under node_modules/.cache.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Child, isInstalled, run } from '../helpers/child.ts';

const MSGPACK = 'msgpack==1.2.4';
const cached = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'polylog', 'python');

/** Undefined when it can be used, else why not. */
export async function preparePython(): Promise<string | undefined> {
  if (!(await isInstalled('python3'))) return 'python3 is not installed';
  if (existsSync(cached)) return undefined;
  const partial = `${cached}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const made = await new Child('python3', ['-m', 'venv', partial]).finished;
  if (made.code !== 0) return `python3 -m venv failed: ${lastLine(made.stdout, made.stderr)}`;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', MSGPACK];
  const installed = await new Child(join(partial, 'bin', 'python3'), pip, { timeoutMs: 120_000 }).finished;
  if (installed.code !== 0)
    return `pip could not install ${MSGPACK}: ${lastLine(installed.stdout, installed.stderr)}`;
  renameSync(partial, cached);
  return undefined;
}

/** What a script prints. Only the interpreter of the environment is used, which may be moved; its scripts may not. */
export function python(script: string, args: readonly string[]): Promise<Buffer> {
  return run(join(cached, 'bin', 'python3'), [script, ...args]);
}

function lastLine(stdout: Buffer, stderr: Buffer): string {
  return `${stdout}${stderr}`.trim().split('\n').at(-1) ?? '';
}
