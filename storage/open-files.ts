// Files that the store keeps open, within a budget: a file is leased for one operation and stays open between
// operations as long as there is room. The longest unused goes first.
import type { FileSystem, OpenFile } from './file-system.ts';

export class OpenFiles {
  readonly #fileSystem: FileSystem;
  readonly #max: number;
  /** In order of last use, oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #closings = new Set<Promise<void>>();

  constructor(fileSystem: FileSystem, max: number) {
    this.#fileSystem = fileSystem;
    this.#max = max;
  }

  /** Runs `use` with the open file, which must exist; `use` must not keep it. Opened for reading and writing. */
  async with<Result>(path: string, use: (file: OpenFile) => Promise<Result>): Promise<Result> {
    const entry = this.#entryOf(path);
    entry.users++;
    try {
      return await use(await entry.file);
    } finally {
      entry.users--;
      if (entry.closing && entry.users === 0) this.#closeFile(entry);
    }
  }

  /** Makes the file, which must not exist, and keeps it open. */
  async create(path: string): Promise<void> {
    const file = await this.#fileSystem.open(path, 'create');
    this.#keep(path, Promise.resolve(file));
  }

  /** Closes the file as soon as nobody uses it; a later use opens it again. */
  drop(path: string): void {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    this.#entries.delete(path);
    entry.closing = true;
    if (entry.users === 0) this.#closeFile(entry);
  }

  /** Resolves when every file is closed that nobody uses; the others close with their last use. */
  async close(): Promise<void> {
    for (const path of [...this.#entries.keys()]) this.drop(path);
    await Promise.all(this.#closings);
  }

  #entryOf(path: string): Entry {
    const known = this.#entries.get(path);
    if (known === undefined) return this.#keep(path, this.#fileSystem.open(path, 'write'));
    this.#entries.delete(path);
    this.#entries.set(path, known);
    return known;
  }

  #keep(path: string, file: Promise<OpenFile>): Entry {
    const entry: Entry = { file, users: 0, closing: false };
    this.#entries.set(path, entry);
    file.catch(() => {
      // Whoever leased it gets the error; the next lease tries again.
      if (this.#entries.get(path) === entry) this.#entries.delete(path);
    });
    this.#evict(entry);
    return entry;
  }

  #evict(newest: Entry): void {
    if (this.#entries.size <= this.#max) return;
    for (const [path, entry] of this.#entries) {
      if (entry.users > 0 || entry === newest) continue;
      this.drop(path);
      return;
    }
  }

  /** What was written is flushed by whoever wrote it, before; so an error here loses nothing. */
  #closeFile(entry: Entry): void {
    const closing = entry.file
      .then((file) => file.close())
      .catch(() => {})
      .finally(() => this.#closings.delete(closing));
    this.#closings.add(closing);
  }
}

interface Entry {
  readonly file: Promise<OpenFile>;
  users: number;
  closing: boolean;
}
