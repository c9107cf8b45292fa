// The data directory as a whole: made, checked, locked, and known again by `node.json`.
import { dirname, join } from 'node:path';
import type { Random } from './environment.ts';
import { errorCodeOf, StorageError, storageErrorOf } from './errors.ts';
import { NODE_FILE } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { FORMAT_VERSION } from './frame.ts';
import { refuseNewer } from './manifest.ts';
import { asFields, makeDirectory, readJsonFile, UNREADABLE, writeJsonFile } from './small-file.ts';

export interface NodeIdentity {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly diskId: string;
  /** False when the previous run of this directory did not close its store. */
  readonly previousStopWasClean: boolean;
}

/** Makes it if it is missing. @throws StorageError data-directory */
export async function prepareDirectory(fileSystem: FileSystem, directory: string): Promise<void> {
  try {
    const isNew = await makeDirectory(fileSystem, directory);
    if (!(await fileSystem.stat(directory)).isDirectory) {
      throw new StorageError('data-directory', `the data directory ${directory} is a file`);
    }
    await fileSystem.checkWritable(directory);
    // A process that was killed may have made it and not got to flush its name; node.json comes after that.
    const isUnnamed = isNew || !(await fileSystem.readdir(directory)).includes(NODE_FILE);
    if (isUnnamed) await fileSystem.syncDirectory(dirname(directory));
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError('data-directory', describe(error, directory), error);
  }
}

/**
 * Whose directory it is, by `node.json`; without one that of a new node. The directory is locked. What this says counts
 * once {@link writeIdentity} has written it.
 * @throws StorageError data-directory, format, io
 */
export async function identify(
  fileSystem: FileSystem,
  directory: string,
  nodeId: number,
  random: Random,
): Promise<NodeIdentity> {
  const path = join(directory, NODE_FILE);
  const stored = await readIdentity(fileSystem, path);
  if (stored !== undefined && stored.nodeId !== nodeId) {
    throw new StorageError(
      'data-directory',
      `${directory} belongs to node ${stored.nodeId}, and this is node ${nodeId}: a data directory stays with its node`,
    );
  }
  return stored ?? { clusterId: random.uuid(), nodeId, diskId: random.uuid(), previousStopWasClean: true };
}

/** @param cleanStop whether nothing is left to recover */
export function writeIdentity(
  fileSystem: FileSystem,
  directory: string,
  { clusterId, nodeId, diskId }: NodeIdentity,
  cleanStop: boolean,
): Promise<void> {
  return writeJsonFile(fileSystem, join(directory, NODE_FILE), {
    formatVersion: FORMAT_VERSION,
    clusterId,
    nodeId,
    diskId,
    cleanStop,
  });
}

async function readIdentity(fileSystem: FileSystem, path: string): Promise<NodeIdentity | undefined> {
  let content: unknown;
  try {
    content = await readJsonFile(fileSystem, path);
  } catch (error) {
    throw storageErrorOf(error, `reading ${path}`);
  }
  if (content === undefined) return undefined;
  const fields = asFields(content) ?? {};
  refuseNewer(fields['formatVersion'], path);
  const { clusterId, nodeId, diskId, cleanStop } = fields;
  if (
    content === UNREADABLE ||
    typeof clusterId !== 'string' ||
    typeof diskId !== 'string' ||
    typeof nodeId !== 'number'
  ) {
    // Making a new identity over it would turn this disk into another one without anybody noticing.
    throw new StorageError(
      'format',
      `${path} does not say whose data this is: repair it, or remove it to give a new identity`,
    );
  }
  return { clusterId, nodeId, diskId, previousStopWasClean: cleanStop === true };
}

function describe(error: unknown, directory: string): string {
  switch (errorCodeOf(error)) {
    case 'ENOENT':
      return `the data directory ${directory} cannot be made: its parent directory does not exist`;
    case 'ENOTDIR':
      return `the data directory ${directory} cannot be made: a part of its path is a file`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `the data directory ${directory} is not writable`;
    default:
      return `the data directory ${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}
