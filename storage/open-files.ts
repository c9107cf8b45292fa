// Files that the store keeps open, within a budget that is never passed: a file is leased for one operation and stays
// open between operations as long as there is room. The longest unused goes first; when all are in use, whoever needs
// another waits for the first that is not.
import type { FileSystem, OpenFile, OpenMode } from './file-system.ts';

/**
 * Who has the file open by itself: the system tells that what was written has failed once for each opening of the file, to
 * whom asks first. `beside`: a write while another one is under way; `room`: who writes zeros ahead.
 */
export type Opening = 'shared' | 'beside' | 'room';

/** Behind a path, for each opening but the shared one. No path has it. */
const MARKS = { shared: '', beside: '\0b', room: '\0r' } as const satisfies Record<Opening, string>;

export class OpenFiles {
  readonly #fileSystem: FileSystem;
  readonly #max: number;
  /** In order of last use, oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #closings = new Set<Promise<void>>();
  /** Open, or being opened or closed. */
  #descriptors = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(fileSystem: FileSystem, max: number) {
    this.#fileSystem = fileSystem;
    this.#max = max;
  }

  /**
   * Runs `use` with the open file, which must exist; `use` must not keep it. Opened for reading and writing.
   * @param synchronous how it had better be open (see {@link FileSystem.open}); while others use it, it stays as it is.
   */
  async with<Result>(
    path: string,
    use: (file: OpenFile) => Promise<Result>,
    synchronous?: boolean,
    opening: Opening = 'shared',
  ): Promise<Result> {
    const key = path + MARKS[opening];
    const entry = this.#entryOf(key, path, synchronous);
    entry.users++;
    try {
      return await use(await entry.file);
    } finally {
      entry.users--;
      if (entry.users === 0) {
        if (entry.closing) this.#closeFile(entry);
        else if (this.#waiting.length > 0) this.#drop(key, entry);
      }
    }
  }

  /** Makes the file, which must not exist, and keeps it open. */
  async create(path: string, synchronous = false): Promise<void> {
    const file = await this.#open(path, 'create', synchronous);
    this.#keep(path, Promise.resolve(file), synchronous);
    // Nobody uses it yet, and whoever waits has looked for such a one already.
    if (this.#waiting.length > 0) this.#dropIdle();
  }

  /** Closes the file as soon as nobody uses it; a later use opens it again. */
  drop(path: string): void {
    for (const mark of Object.values(MARKS)) {
      const key = path + mark;
      const entry = this.#entries.get(key);
      if (entry !== undefined) this.#drop(key, entry);
    }
  }

  /** Resolves when every file is closed that nobody uses; the others close with their last use. */
  async close(): Promise<void> {
    for (const [key, entry] of [...this.#entries]) this.#drop(key, entry);
    await Promise.all(this.#closings);
  }

  #entryOf(key: string, path: string, synchronous?: boolean): Entry {
    const known = this.#entries.get(key);
    if (
      known !== undefined &&
      known.synchronous !== (synchronous ?? known.synchronous) &&
      known.users === 0
    ) {
      this.#drop(key, known);
      return this.#entryOf(key, path, synchronous);
    }
    if (known === undefined) {
      const isSynchronous = synchronous === true;
      return this.#keep(key, this.#open(path, 'write', isSynchronous), isSynchronous);
    }
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known;
  }

  #keep(key: string, file: Promise<OpenFile>, synchronous: boolean): Entry {
    const entry: Entry = { file, synchronous, users: 0, closing: false };
    this.#entries.set(key, entry);
    file.catch(() => {
      // Whoever leased it gets the error; the next lease tries again.
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry;
  }

  async #open(path: string, mode: OpenMode, synchronous: boolean): Promise<OpenFile> {
    while (this.#descriptors >= this.#max) {
      this.#dropIdle();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#descriptors++;
    try {
      return await this.#fileSystem.open(path, mode, synchronous);
    } catch (error) {
      this.#released();
      throw error;
    }
  }

  #drop(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    entry.closing = true;
    if (entry.users === 0) this.#closeFile(entry);
  }

  #dropIdle(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0) continue;
      this.#drop(key, entry);
      return;
    }
  }

  /** What was written is flushed by whoever wrote it, before; so an error here loses nothing. */
  #closeFile(entry: Entry): void {
    const closing = entry.file
      .then((file) =>
        file
          .close()
          .catch(() => {})
          .finally(() => this.#released()),
      )
      // It could not be opened, and whoever leased it knows.
      .catch(() => {})
      .finally(() => this.#closings.delete(closing));
    this.#closings.add(closing);
  }

  #released(): void {
    this.#descriptors--;
    this.#waiting.shift()?.();
  }
}

interface Entry {
  readonly file: Promise<OpenFile>;
  readonly synchronous: boolean;
  users: number;
  closing: boolean;
}
