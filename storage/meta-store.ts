// The MetaStore: the small, precious facts (topics, their leaders, counters) under keys with revisions. The
// interface is what a consensus service offers as well, so that several nodes can share one; behind it here is
// LevelDB in `data/meta`. Nobody else touches that directory.
//
// Invariants: one revision counter for the whole store; it is written in the same batch as what it counts, and
// every batch is synced before its transaction is answered. Transactions take effect one after the other.
//
//   e/<key>     { "revision": number, "value": any }        an entry, as JSON
//   s/revision  number                                      the counter
import { dirname } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { assert, errorCodeOf, StorageError, storageErrorOf } from './errors.ts';
import { nodeFileSystem } from './file-system.ts';

export interface MetaEntry {
  readonly key: string;
  /** JSON; whoever put it knows its shape. */
  readonly value: unknown;
  /** Of the transaction that put it last; always above 0. */
  readonly revision: number;
}

/** Holds while the entry has this revision, or while there is none. */
export type MetaCondition =
  | { readonly key: string; readonly revision: number }
  | { readonly key: string; readonly absent: true };

/** All of it takes effect if every condition holds, else none of it. A key is put or deleted once. */
export interface MetaTransaction {
  readonly if?: readonly MetaCondition[];
  readonly put?: readonly { readonly key: string; readonly value: unknown }[];
  readonly delete?: readonly string[];
}

/**
 * - `applied`: on disk.
 * - `refused`: the condition on `key` did not hold; nothing changed.
 * - `unknown`: it may or may not be there, now or after a restart. Read again before acting on either.
 */
export type TransactResult =
  | { readonly outcome: 'applied'; readonly revision: number }
  | { readonly outcome: 'refused'; readonly key: string }
  | { readonly outcome: 'unknown'; readonly cause: StorageError };

/** `value` is undefined when the key was deleted. */
export interface MetaChange {
  readonly key: string;
  readonly value: unknown;
  readonly revision: number;
}

export interface MetaWatch {
  close(): void;
}

/** Reads throw StorageError. Keys are printable ASCII without spaces, at most 512 characters. */
export interface MetaStore {
  /** Revision of the last transaction; 0 in a new store. */
  revision(): Promise<number>;
  get(key: string): Promise<MetaEntry | undefined>;
  /** Entries whose key begins with `prefix`, in the order of their keys. */
  list(prefix: string): Promise<readonly MetaEntry[]>;
  /** Never rejects but for a bad key, which is the caller's mistake. */
  transact(transaction: MetaTransaction): Promise<TransactResult>;
  /**
   * Calls `listener` with the changes of each later transaction, and at once with those since `fromRevision`
   * (exclusive). `compacted` = they are no longer known: list again and watch from the revision before that.
   * `listener` must not throw.
   */
  watch(
    prefix: string,
    fromRevision: number,
    listener: (changes: readonly MetaChange[]) => void,
  ): MetaWatch | 'compacted';
  /**
   * Takes `count` numbers of a counter that starts at 0, and returns the first. No number is ever given twice;
   * those of a call that throws StorageError are lost.
   */
  allocate(counter: string, count: number): Promise<number>;
  close(): Promise<void>;
}

/** The entry of a counter: the number that `allocate` gives next. For who sets it together with other entries. */
export const counterKeyOf = (counter: string): string => COUNTER_PREFIX + counter;

/** Transactions that a late watcher can still see; older ones must be listed. */
const HISTORY_TRANSACTIONS_MAX = 1024;
const KEY_LENGTH_MAX = 512;
const ENTRY_PREFIX = 'e/';
const REVISION_KEY = 's/revision';
const COUNTER_PREFIX = 'counter/';

/** What the MetaStore needs from a database of sorted keys; tests put a faulty one in its place. */
export interface MetaDatabase {
  get(key: string): Promise<unknown>;
  getMany(keys: string[]): Promise<unknown[]>;
  /** Keys from `gte` to before `lt`, in order. */
  entries(gte: string, lt: string): Promise<[string, unknown][]>;
  /** All or nothing, and on disk when the promise resolves. */
  write(operations: readonly MetaOperation[]): Promise<void>;
  close(): Promise<void>;
}

export type MetaOperation =
  | { readonly type: 'put'; readonly key: string; readonly value: unknown }
  | { readonly type: 'del'; readonly key: string };

/** Opens `directory`, making it when it is missing. Throws StorageError: `locked`, `corrupt`, `io`. */
export async function openMetaStore(directory: string): Promise<MetaStore> {
  const database = await openMetaDatabase(directory);
  try {
    return await metaStoreOver(database);
  } catch (error) {
    await database.close();
    throw error instanceof StorageError ? error : openError(error, directory);
  }
}

/** The MetaStore over an open database, which it closes. */
export async function metaStoreOver(database: MetaDatabase): Promise<MetaStore> {
  return new LevelMetaStore(database, await readRevision(database));
}

export async function openMetaDatabase(directory: string): Promise<MetaDatabase> {
  const level = new ClassicLevel<string, unknown>(directory, { valueEncoding: 'json' });
  try {
    await level.open();
    // LevelDB flushes the names in its directory, but not its directory's.
    await nodeFileSystem.syncDirectory(dirname(directory));
  } catch (error) {
    throw openError(error, directory);
  }
  return {
    get: (key) => level.get(key),
    getMany: (keys) => level.getMany(keys),
    entries: (gte, lt) => level.iterator({ gte, lt }).all(),
    write: (operations) => level.batch<string, unknown>([...operations], { sync: true }),
    close: () => level.close(),
  };
}

class LevelMetaStore implements MetaStore {
  readonly #database: MetaDatabase;
  /** Undefined after a write of unknown outcome: read again before the next one. */
  #revision: number | undefined;
  /** Watchers from here on can be served; the start of the process at the earliest. */
  #historyFrom: number;
  readonly #history: (readonly MetaChange[])[] = [];
  readonly #watches = new Set<Watch>();
  /** Settles when every transaction so far has. */
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(database: MetaDatabase, revision: number) {
    this.#database = database;
    this.#revision = revision;
    this.#historyFrom = revision;
  }

  revision(): Promise<number> {
    return this.#inTurn(() => this.#currentRevision());
  }

  async get(key: string): Promise<MetaEntry | undefined> {
    assertKey(key);
    const stored = await this.#reading(() => this.#database.get(ENTRY_PREFIX + key));
    return stored === undefined ? undefined : entryOf(key, stored);
  }

  async list(prefix: string): Promise<readonly MetaEntry[]> {
    // DEL (0x7F) follows every character that a key may have.
    const from = ENTRY_PREFIX + prefix;
    const found = await this.#reading(() => this.#database.entries(from, `${from}\x7f`));
    return found.map(([key, stored]) => entryOf(key.slice(ENTRY_PREFIX.length), stored));
  }

  async transact(transaction: MetaTransaction): Promise<TransactResult> {
    for (const { key } of transaction.if ?? []) assertKey(key);
    for (const { key } of transaction.put ?? []) assertKey(key);
    for (const key of transaction.delete ?? []) assertKey(key);
    return this.#inTurn(() => this.#apply(transaction));
  }

  watch(
    prefix: string,
    fromRevision: number,
    listener: (changes: readonly MetaChange[]) => void,
  ): MetaWatch | 'compacted' {
    if (fromRevision < this.#historyFrom) return 'compacted';
    const watch = new Watch(prefix, listener);
    for (const changes of this.#history) {
      if (changes[0]!.revision > fromRevision) watch.offer(changes);
    }
    this.#watches.add(watch);
    return { close: () => this.#watches.delete(watch) };
  }

  allocate(counter: string, count: number): Promise<number> {
    assert(Number.isSafeInteger(count) && count > 0, `allocate ${count} of ${counter}`);
    return this.#inTurn(async () => {
      const key = counterKeyOf(counter);
      const entry = await this.get(key);
      const first = entry === undefined ? 0 : entry.value;
      if (typeof first !== 'number') throw new StorageError('format', `meta entry ${key} is not a number`);
      const result = await this.#apply({ put: [{ key, value: first + count }] });
      if (result.outcome === 'unknown') throw result.cause;
      assert(result.outcome === 'applied', `allocation of ${counter} has no condition`);
      return first;
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#watches.clear();
    await this.#tail;
    await this.#database.close();
  }

  /** Runs `step` after all that were given before it. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(step);
    this.#tail = done.catch(() => undefined); // the failure is the caller's; the next step goes on
    return done;
  }

  async #apply(transaction: MetaTransaction): Promise<TransactResult> {
    let revision: number;
    try {
      const failedKey = await this.#failedCondition(transaction.if ?? []);
      if (failedKey !== undefined) return { outcome: 'refused', key: failedKey };
      revision = (await this.#currentRevision()) + 1;
      this.#revision = undefined;
      await this.#write(transaction, revision);
      this.#revision = revision;
    } catch (error) {
      return { outcome: 'unknown', cause: storageErrorOf(error, 'meta transaction') };
    }
    this.#announce(changesOf(transaction, revision));
    return { outcome: 'applied', revision };
  }

  async #failedCondition(conditions: readonly MetaCondition[]): Promise<string | undefined> {
    if (conditions.length === 0) return undefined;
    const stored = await this.#reading(() =>
      this.#database.getMany(conditions.map((condition) => ENTRY_PREFIX + condition.key)),
    );
    const failed = conditions.findIndex((condition, index) => {
      const found = stored[index];
      if ('absent' in condition) return found !== undefined;
      return found === undefined || entryOf(condition.key, found).revision !== condition.revision;
    });
    return conditions[failed]?.key;
  }

  async #write(transaction: MetaTransaction, revision: number): Promise<void> {
    if (this.#closed) throw closedError();
    const operations: MetaOperation[] = [{ type: 'put', key: REVISION_KEY, value: revision }];
    for (const { key, value } of transaction.put ?? []) {
      operations.push({ type: 'put', key: ENTRY_PREFIX + key, value: { revision, value } });
    }
    for (const key of transaction.delete ?? []) operations.push({ type: 'del', key: ENTRY_PREFIX + key });
    await this.#database.write(operations);
  }

  async #currentRevision(): Promise<number> {
    this.#revision ??= await this.#reading(() => readRevision(this.#database));
    return this.#revision;
  }

  async #reading<T>(read: () => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError();
    try {
      return await read();
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      if (isDamage(error) || isDamage(cause)) throw new StorageError('corrupt', 'meta is damaged', error);
      throw storageErrorOf(error, 'read meta');
    }
  }

  #announce(changes: readonly MetaChange[]): void {
    if (changes.length === 0) return;
    this.#history.push(changes);
    if (this.#history.length > HISTORY_TRANSACTIONS_MAX) {
      this.#historyFrom = this.#history.shift()![0]!.revision;
    }
    for (const watch of this.#watches) watch.offer(changes);
  }
}

class Watch {
  readonly #prefix: string;
  readonly #listener: (changes: readonly MetaChange[]) => void;

  constructor(prefix: string, listener: (changes: readonly MetaChange[]) => void) {
    this.#prefix = prefix;
    this.#listener = listener;
  }

  offer(changes: readonly MetaChange[]): void {
    const wanted = changes.filter((change) => change.key.startsWith(this.#prefix));
    if (wanted.length > 0) this.#listener(wanted);
  }
}

function changesOf(transaction: MetaTransaction, revision: number): readonly MetaChange[] {
  const put = (transaction.put ?? []).map(({ key, value }) => ({ key, value, revision }));
  const deleted = (transaction.delete ?? []).map((key) => ({ key, value: undefined, revision }));
  return [...put, ...deleted];
}

function assertKey(key: string): void {
  assert(/^[\x21-\x7e]+$/.test(key) && key.length <= KEY_LENGTH_MAX, `meta key ${JSON.stringify(key)}`);
}

function entryOf(key: string, stored: unknown): MetaEntry {
  if (typeof stored === 'object' && stored !== null && 'revision' in stored && 'value' in stored) {
    if (typeof stored.revision === 'number') return { key, value: stored.value, revision: stored.revision };
  }
  throw new StorageError('format', `meta entry ${key} is not an entry`);
}

async function readRevision(database: MetaDatabase): Promise<number> {
  const stored = await database.get(REVISION_KEY);
  if (stored === undefined) return 0;
  if (typeof stored !== 'number') throw new StorageError('format', 'the meta revision is not a number');
  return stored;
}

function closedError(): StorageError {
  return new StorageError('closed', 'the meta store is closed');
}

/** classic-level wraps why it could not open: LEVEL_LOCKED, LEVEL_CORRUPTION, LEVEL_IO_ERROR, … */
function openError(error: unknown, directory: string): StorageError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = errorCodeOf(cause);
  if (code === 'LEVEL_LOCKED') return new StorageError('locked', `${directory} is in use`, cause);
  if (isDamage(cause)) return new StorageError('corrupt', `${directory} is damaged`, cause);
  return storageErrorOf(cause, `open ${directory}`);
}

/** A file of the database that is not there, or ends too early, is told as an error of input and output. */
function isDamage(error: unknown): boolean {
  const code = errorCodeOf(error);
  if (code === 'LEVEL_CORRUPTION') return true;
  if (code !== 'LEVEL_IO_ERROR' || !(error instanceof Error)) return false;
  return /: (?:No such file or directory|Invalid argument)$/.test(error.message);
}
