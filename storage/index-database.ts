// The ordered map under the offset index: LevelDB, or another in tests. Keys are bytes and sort as bytes. Nothing
// here is ever flushed for its own sake: the index is rebuilt from the log where it is missing or behind.
import { ClassicLevel } from 'classic-level';
import { errorCodeOf, StorageError } from './errors.ts';
import { nodeFileSystem } from './file-system.ts';

export interface IndexRow {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface IndexDatabase {
  put(rows: readonly IndexRow[]): Promise<void>;
  get(key: Buffer): Promise<Buffer | undefined>;
  /** The same of many, in their order, for little more than one costs. */
  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]>;
  /** The last row with `low` ≤ key ≤ `high`. */
  floor(low: Buffer, high: Buffer): Promise<IndexRow | undefined>;
  /** Removes the rows with `low` ≤ key ≤ `high`. */
  clear(low: Buffer, high: Buffer): Promise<void>;
  close(): Promise<void>;
}

/**
 * Directories that this process has open. LevelDB's lock is one of fcntl(2), which a process loses when it closes any
 * other descriptor of the file: a second attempt in the same process must not get as far as LevelDB.
 */
const openDirectories = new Set<string>();

const ENCODINGS = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;

/**
 * Opens LevelDB in `directory`. Its lock keeps a second process out, and the kernel releases it with the process.
 * A damaged database is emptied: it holds nothing that the log does not. One that the disk does not let be opened is left
 * as it is.
 * @param onDamage called before it is emptied
 * @throws StorageError locked, disk-full, io
 */
export async function openLevelIndex(
  directory: string,
  onDamage: (error: unknown) => void,
): Promise<IndexDatabase> {
  if (openDirectories.has(directory)) {
    throw new StorageError('locked', `this process has the data directory open already (${directory})`);
  }
  openDirectories.add(directory);
  try {
    return await openOrEmpty(directory, onDamage);
  } catch (error) {
    openDirectories.delete(directory);
    throw error;
  }
}

/**
 * Opens LevelDB in `directory` for a tool: it must be there, and nothing is emptied.
 * @throws StorageError locked, corrupt
 */
export async function openExistingLevelIndex(directory: string): Promise<IndexDatabase> {
  if (openDirectories.has(directory)) {
    throw new StorageError('locked', `this process has the data directory open already (${directory})`);
  }
  openDirectories.add(directory);
  try {
    return await open(directory, { createIfMissing: false });
  } catch (error) {
    openDirectories.delete(directory);
    if (isLocked(error)) {
      throw new StorageError('locked', `another process has the data directory open (${directory})`, error);
    }
    throw new StorageError('corrupt', `the index ${directory} cannot be opened: ${reasonOf(error)}`, error);
  }
}

async function openOrEmpty(directory: string, onDamage: (error: unknown) => void): Promise<IndexDatabase> {
  try {
    return await open(directory);
  } catch (error) {
    if (isLocked(error)) {
      throw new StorageError('locked', `another process has the data directory open (${directory})`, error);
    }
    if (!isDamage(error)) throw refusalOf(error, directory);
    onDamage(error);
  }
  try {
    await ClassicLevel.destroy(directory);
    return await open(directory);
  } catch {
    // LevelDB leaves alone what is none of its files and has come to lie under their names, a directory for example.
  }
  try {
    await removeWhatever(directory);
    return await open(directory);
  } catch (error) {
    throw new StorageError('io', `the index ${directory} cannot be opened`, error);
  }
}

async function removeWhatever(path: string): Promise<void> {
  try {
    await nodeFileSystem.removeTree(path);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOTDIR') throw error;
    await nodeFileSystem.unlink(path);
  }
}

async function open(directory: string, options: { createIfMissing?: boolean } = {}): Promise<IndexDatabase> {
  const level = new ClassicLevel<Buffer, Buffer>(directory, { ...ENCODINGS, ...options });
  await level.open();
  return new LevelIndex(level, directory);
}

function isLocked(error: unknown): boolean {
  return (
    errorCodeOf(error) === 'LEVEL_LOCKED' ||
    (error instanceof Error && error.cause !== undefined && errorCodeOf(error.cause) === 'LEVEL_LOCKED')
  );
}

/**
 * Whether the files are wrong. Where the disk fails, or is full, they are whole as far as anybody knows, and take long to be
 * made again. Of what the system says LevelDB passes on the words alone: that a file is not there, ends too early, or is a
 * directory is damage.
 */
function isDamage(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (errorCodeOf(cause) !== 'LEVEL_IO_ERROR') return true;
  return /: (?:no such file or directory|invalid argument|(?:is|not) a directory|file exists|directory not empty)$/i.test(
    reasonOf(error),
  );
}

function refusalOf(error: unknown, directory: string): StorageError {
  const reason = reasonOf(error);
  const isFull = /no space left|quota exceeded/i.test(reason);
  if (isFull) return new StorageError('disk-full', `${directory}: ${reason}`, error);
  const remedy = 'it has been left as it is, and would be made anew where it is missing';
  return new StorageError('io', `the index ${directory} cannot be opened: ${reason} (${remedy})`, error);
}

/** LevelDB's own words. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

class LevelIndex implements IndexDatabase {
  readonly #level: ClassicLevel<Buffer, Buffer>;

  readonly #directory: string;

  constructor(level: ClassicLevel<Buffer, Buffer>, directory: string) {
    this.#level = level;
    this.#directory = directory;
  }

  put(rows: readonly IndexRow[]): Promise<void> {
    return this.#level.batch(rows.map(({ key, value }) => ({ type: 'put', key, value })));
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.#level.get(key);
  }

  getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    return this.#level.getMany([...keys]);
  }

  async floor(low: Buffer, high: Buffer): Promise<IndexRow | undefined> {
    const iterator = this.#level.iterator({ gte: low, lte: high, reverse: true, limit: 1 });
    try {
      const entry = await iterator.next();
      return entry === undefined ? undefined : { key: entry[0], value: entry[1] };
    } finally {
      await iterator.close();
    }
  }

  clear(low: Buffer, high: Buffer): Promise<void> {
    return this.#level.clear({ gte: low, lte: high });
  }

  async close(): Promise<void> {
    await this.#level.close();
    openDirectories.delete(this.#directory);
  }
}
