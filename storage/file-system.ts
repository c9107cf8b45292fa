// The only file of the store that touches node:fs. FileSystem is the seam where tests put faults: everything that
// a crash can take back goes through it. Errors are node's own, with their `code`.
import * as fs from 'node:fs';
import { access, mkdir, readdir, rename, rmdir, stat, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf } from './errors.ts';

export interface FileSystem {
  /**
   * @param mode `read`; `write` = read and write an existing file; `create` = the same, and it must not exist.
   * @param synchronous what is written through it is on disk when `write` resolves, if the file says that it can.
   */
  open(path: string, mode: OpenMode, synchronous?: boolean): Promise<OpenFile>;
  /** Names in a directory, in no order. */
  readdir(path: string): Promise<readonly string[]>;
  stat(path: string): Promise<FileStatus>;
  /** Makes one directory, which must not exist. Durable after `syncDirectory` of its parent. */
  mkdir(path: string): Promise<void>;
  /** Replaces `to` if it is there. Durable after `syncDirectory` of both parents. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Removes a directory with all in it; it may be missing. */
  removeTree(path: string): Promise<void>;
  /** Makes the entries of a directory durable: names that came, went or changed. */
  syncDirectory(path: string): Promise<void>;
  /** Rejects when this process may not write there. */
  checkWritable(path: string): Promise<void>;
  /** Bytes that this process may still write to the file system that a path is on. */
  freeBytes(path: string): Promise<number>;
  /** Bytes of the file system that a path is on, used and free. */
  totalBytes(path: string): Promise<number>;
  /**
   * Whether what is written over bytes of a file there takes their place on the disk, so that nothing else of the file
   * has to be written.
   */
  overwritesInPlace(path: string): Promise<boolean>;
}

export type OpenMode = 'read' | 'write' | 'create';

export interface FileStatus {
  readonly size: number;
  readonly isDirectory: boolean;
  /** Wall clock of the last write to it. */
  readonly mtimeMs: number;
}

export interface OpenFile {
  /** What `write` has written is on disk when it resolves; what others wrote to the file need not be. */
  readonly isSynchronous?: boolean;
  /** Reads up to `length` bytes; fewer only at the end of the file. */
  read(into: Buffer, at: number, length: number, position: number): Promise<number>;
  /** Writes all of it or rejects. */
  write(bytes: Buffer, at: number, length: number, position: number): Promise<void>;
  /** The bytes written so far are on disk when it resolves. */
  datasync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

/** One step at a time: node's own asks for everything in a directory at once, and others need libuv's four threads. */
async function removeTree(path: string): Promise<void> {
  let entries: fs.Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return;
    throw error;
  }
  for (const entry of entries) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) await removeTree(inside);
    else await unlink(inside);
  }
  await rmdir(path);
}

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = fs.constants;
const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  write: O_RDWR,
  create: O_RDWR | O_CREAT | O_EXCL,
};
/** One trip to the thread pool instead of two for each group commit. Not every system has it. */
const SYNCHRONOUS: number | undefined = fs.constants.O_DSYNC;

/** What statfs(2) calls ext2, ext3 and ext4; XFS. */
const OVERWRITING: readonly number[] = [0xef53, 0x58465342];

export const nodeFileSystem: FileSystem = {
  open: (path, mode, synchronous = false) =>
    new Promise((resolve, reject) => {
      const isSynchronous = synchronous && SYNCHRONOUS !== undefined;
      const flags = FLAGS[mode] | (isSynchronous ? SYNCHRONOUS : 0);
      fs.open(path, flags, (error, descriptor) => {
        if (error) reject(error);
        else resolve(new NodeFile(descriptor, isSynchronous));
      });
    }),
  readdir,
  stat: async (path) => {
    const status = await stat(path);
    return { size: status.size, isDirectory: status.isDirectory(), mtimeMs: status.mtimeMs };
  },
  mkdir: async (path) => void (await mkdir(path)),
  rename,
  unlink,
  removeTree,
  syncDirectory: async (path) => {
    const directory = await nodeFileSystem.open(path, 'read');
    try {
      await (directory as NodeFile).sync(); // what open() above makes
    } finally {
      await directory.close();
    }
  },
  checkWritable: (path) => access(path, fs.constants.W_OK | fs.constants.X_OK),
  freeBytes: async (path) => {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
  totalBytes: async (path) => {
    const { blocks, bsize } = await statfs(path);
    return blocks * bsize;
  },
  overwritesInPlace: async (path) =>
    SYNCHRONOUS !== undefined &&
    process.platform === 'linux' &&
    OVERWRITING.includes((await statfs(path)).type),
};

/** Callbacks of node:fs and not its promises: one promise per call and no object with a finalizer per file. */
class NodeFile implements OpenFile {
  readonly isSynchronous: boolean;
  readonly #descriptor: number;

  constructor(descriptor: number, isSynchronous: boolean) {
    this.#descriptor = descriptor;
    this.isSynchronous = isSynchronous;
  }

  read(into: Buffer, at: number, length: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      let done = 0;
      const more = (): void => {
        fs.read(this.#descriptor, into, at + done, length - done, position + done, (error, count) => {
          if (error) return reject(error);
          done += count;
          if (count === 0 || done === length) return resolve(done);
          more();
        });
      };
      more();
    });
  }

  write(bytes: Buffer, at: number, length: number, position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let done = 0;
      const more = (): void => {
        fs.write(this.#descriptor, bytes, at + done, length - done, position + done, (error, count) => {
          if (error) return reject(error);
          done += count;
          if (done === length) return resolve();
          if (count === 0) return reject(new Error('the file system takes no more bytes'));
          more();
        });
      };
      more();
    });
  }

  datasync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** With the file's attributes; for directories. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fsync(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    });
  }

  truncate(size: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.ftruncate(this.#descriptor, size, (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.close(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    });
  }
}
