// Small files, directories and files under recovery are open for a moment each, but thousands of logs open and close at
// once: every one of them would get its descriptor before the first gives it back. So they take turns.
import type { FileSystem, OpenFile, OpenMode } from './file-system.ts';
import { Gate } from './gate.ts';

/** The same file system, with at most so many files open through it; `open` waits for its turn. */
export function withinDescriptors(fileSystem: FileSystem, max: number): FileSystem {
  const gate = new Gate(max);
  return {
    open: async (path: string, mode: OpenMode, synchronous?: boolean) => {
      await gate.enter();
      try {
        return new CountedFile(await fileSystem.open(path, mode, synchronous), gate);
      } catch (error) {
        gate.leave();
        throw error;
      }
    },
    syncDirectory: (path) => gate.pass(() => fileSystem.syncDirectory(path)),
    readdir: (path) => fileSystem.readdir(path),
    stat: (path) => fileSystem.stat(path),
    mkdir: (path) => fileSystem.mkdir(path),
    rename: (from, to) => fileSystem.rename(from, to),
    unlink: (path) => fileSystem.unlink(path),
    removeTree: (path) => fileSystem.removeTree(path),
    checkWritable: (path) => fileSystem.checkWritable(path),
    freeBytes: (path) => fileSystem.freeBytes(path),
    totalBytes: (path) => fileSystem.totalBytes(path),
    overwritesInPlace: (path) => fileSystem.overwritesInPlace(path),
  };
}

class CountedFile implements OpenFile {
  readonly isSynchronous: boolean;
  readonly #file: OpenFile;
  readonly #gate: Gate;

  constructor(file: OpenFile, gate: Gate) {
    this.isSynchronous = file.isSynchronous === true;
    this.#file = file;
    this.#gate = gate;
  }

  read(into: Buffer, at: number, length: number, position: number): Promise<number> {
    return this.#file.read(into, at, length, position);
  }

  write(bytes: Buffer, at: number, length: number, position: number): Promise<void> {
    return this.#file.write(bytes, at, length, position);
  }

  datasync(): Promise<void> {
    return this.#file.datasync();
  }

  truncate(size: number): Promise<void> {
    return this.#file.truncate(size);
  }

  async close(): Promise<void> {
    try {
      await this.#file.close();
    } finally {
      this.#gate.leave();
    }
  }
}
