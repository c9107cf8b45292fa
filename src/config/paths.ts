// What the file system has to say about the configuration before anything is opened: a data directory that is a
// file, or that may not be written, is told with the line that names it.
import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import type { LoadedConfig } from './load.ts';
import { type ConfigIssue, type Source, sourceOf } from './sources.ts';

export async function checkPaths(config: LoadedConfig): Promise<ConfigIssue[]> {
  const directory = config.broker.dataDirectory;
  const problem = await directoryProblem(directory);
  if (problem === undefined) return [];
  const key = ['server', 'data_dir'];
  const isWritten = config.written.values['server'] !== undefined;
  const source: Source = isWritten ? sourceOf(config.written, key) : { kind: 'default' };
  return [{ source, key: key.join('.'), message: `${directory} ${problem}` }];
}

/** Undefined when the directory can be written, or be made. */
async function directoryProblem(directory: string): Promise<string | undefined> {
  const problem = await existingProblem(directory);
  if (problem !== 'missing') return problem;
  let parent = path.dirname(directory);
  let parentProblem = await existingProblem(parent);
  while (parentProblem === 'missing' && path.dirname(parent) !== parent) {
    parent = path.dirname(parent);
    parentProblem = await existingProblem(parent);
  }
  return parentProblem === undefined ? undefined : `cannot be made: ${parent} ${parentProblem}`;
}

async function existingProblem(directory: string): Promise<string | undefined> {
  try {
    if (!(await stat(directory)).isDirectory()) return 'is not a directory';
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return 'missing';
    // Something on the way is a file: the first directory up from here says so.
    if (code === 'ENOTDIR') return 'missing';
    if (code === 'EROFS') return 'is on a read-only file system';
    if (code === 'EACCES' || code === 'EPERM') return 'may not be written by this user';
    return `cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}
