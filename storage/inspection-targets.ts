// What a path that somebody typed stands for: a data directory, a topic's, a partition's, or one file. For the offline
// tools, which look at what is there and make nothing.
import { basename, dirname, join, relative, resolve } from 'node:path';
import { errorCodeOf, StorageError, storageErrorOf } from './errors.ts';
import {
  INDEX_DIRECTORY,
  MANIFEST_FILE,
  NODE_FILE,
  parseSegmentFileName,
  TOPIC_FILE,
  TOPICS_DIRECTORY,
} from './file-names.ts';
import type { FileSystem } from './file-system.ts';

export interface InspectionTarget {
  readonly kind: 'data' | 'topic' | 'partition' | 'file';
  /** Absolute. */
  readonly path: string;
  /** The data directory that all of it lies in; undefined for what was copied out of one. */
  readonly dataDirectory: string | undefined;
  /** In the order of topics and partitions; none for a file. */
  readonly logs: readonly InspectedLog[];
}

/** A partition's directory. */
export interface InspectedLog {
  readonly directory: string;
  /** By the names of its directories, when they are such. */
  readonly topic: string | undefined;
  readonly partition: number | undefined;
}

/** A topic's name and, if one was given, a partition. */
export interface LogSelection {
  readonly topic: string;
  readonly partition: number | undefined;
}

const PARTITION_NAME = /^(?:0|[1-9][0-9]*)$/;

/** `TOPIC` or `TOPIC:PARTITION`; undefined for anything else. */
export function parseLogSelection(text: string): LogSelection | undefined {
  const match = /^([A-Za-z0-9._-]{1,249})(?::([0-9]{1,9}))?$/.exec(text);
  if (match === null || match[1] === '.' || match[1] === '..') return undefined;
  return { topic: match[1]!, partition: match[2] === undefined ? undefined : Number(match[2]) };
}

/**
 * @param selection one topic of a data directory, or one partition of it
 * @throws StorageError data-directory when the path is no such thing, io
 */
export async function findInspectionTarget(
  fileSystem: FileSystem,
  path: string,
  selection?: LogSelection,
): Promise<InspectionTarget> {
  const whole = resolve(path);
  try {
    const status = await fileSystem.stat(whole);
    const target = status.isDirectory
      ? await directoryTarget(fileSystem, whole)
      : ({
          kind: 'file',
          path: whole,
          dataDirectory: await dataDirectoryOf(fileSystem, dirname(whole)),
          logs: [],
        } as const);
    return selection === undefined ? target : await selected(fileSystem, target, selection);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') throw new StorageError('data-directory', `${path} is not there`);
    throw storageErrorOf(error, `looking at ${path}`);
  }
}

async function directoryTarget(fileSystem: FileSystem, path: string): Promise<InspectionTarget> {
  const names = await fileSystem.readdir(path);
  if (names.includes(TOPICS_DIRECTORY)) {
    const topics = join(path, TOPICS_DIRECTORY);
    const logs: InspectedLog[] = [];
    for (const topic of [...(await fileSystem.readdir(topics))].sort()) {
      if ((await fileSystem.stat(join(topics, topic))).isDirectory) {
        logs.push(...(await logsOfTopic(fileSystem, join(topics, topic))));
      }
    }
    return { kind: 'data', path, dataDirectory: path, logs };
  }
  if (names.includes(MANIFEST_FILE) || names.some((name) => parseSegmentFileName(name) !== undefined)) {
    const dataDirectory = await dataDirectoryOf(fileSystem, path);
    const log = { directory: path, topic: basename(dirname(path)), partition: partitionOf(basename(path)) };
    return { kind: 'partition', path, dataDirectory, logs: [log] };
  }
  if (names.includes(TOPIC_FILE) || names.some((name) => PARTITION_NAME.test(name))) {
    const dataDirectory = await dataDirectoryOf(fileSystem, path);
    return { kind: 'topic', path, dataDirectory, logs: await logsOfTopic(fileSystem, path) };
  }
  // A hub that never had a topic, or a partition that was never written to.
  if (names.includes(NODE_FILE)) return { kind: 'data', path, dataDirectory: path, logs: [] };
  if (names.length === 0 && partitionOf(basename(path)) !== undefined) {
    const log = { directory: path, topic: basename(dirname(path)), partition: partitionOf(basename(path)) };
    return {
      kind: 'partition',
      path,
      dataDirectory: await dataDirectoryOf(fileSystem, path),
      logs: [log],
    };
  }
  throw new StorageError(
    'data-directory',
    `${path} is neither a data directory, nor a topic's or a partition's directory in one`,
  );
}

async function logsOfTopic(fileSystem: FileSystem, directory: string): Promise<InspectedLog[]> {
  const partitions = (await fileSystem.readdir(directory)).filter((name) => PARTITION_NAME.test(name));
  return partitions
    .map(Number)
    .sort((a, b) => a - b)
    .map((partition) => ({
      directory: join(directory, String(partition)),
      topic: basename(directory),
      partition,
    }));
}

async function selected(
  fileSystem: FileSystem,
  target: InspectionTarget,
  { topic, partition }: LogSelection,
): Promise<InspectionTarget> {
  if (target.kind !== 'data') {
    throw new StorageError('data-directory', `${target.path} is no data directory, to choose a topic from`);
  }
  const directory = join(target.path, TOPICS_DIRECTORY, topic);
  const logs = target.logs.filter(
    (log) => log.topic === topic && (partition === undefined || log.partition === partition),
  );
  if (logs.length > 0) {
    const kind = partition === undefined ? 'topic' : 'partition';
    const path = partition === undefined ? directory : join(directory, String(partition));
    return { kind, path, dataDirectory: target.path, logs };
  }
  await fileSystem.stat(directory).catch((error: unknown) => {
    if (errorCodeOf(error) !== 'ENOENT') throw error;
    throw new StorageError('data-directory', `${target.path} has no topic ${topic}`);
  });
  throw new StorageError('data-directory', `${topic} has no partition ${partition ?? ''} in ${target.path}`);
}

/** Of a topic's or a partition's directory, or of something in one; by what lies beside `topics/`. */
async function dataDirectoryOf(fileSystem: FileSystem, path: string): Promise<string | undefined> {
  for (let above = dirname(path); above !== dirname(above); above = dirname(above)) {
    const [first] = relative(above, path).split('/');
    if (first !== TOPICS_DIRECTORY) continue;
    const names = await fileSystem.readdir(above);
    return names.includes(NODE_FILE) || names.includes(INDEX_DIRECTORY) ? above : undefined;
  }
  return undefined;
}

function partitionOf(name: string): number | undefined {
  return PARTITION_NAME.test(name) ? Number(name) : undefined;
}
