// A file system in memory that forgets what a real one may forget. Bytes are durable after `datasync` of their file,
// names after `syncDirectory` of their directory; `crash` drops the rest, or keeps any part of it, sector by sector.
// Faults are armed for the next operation of their kind: a write is short or fails, a flush fails or hangs.
//
// After a flush that failed the bytes stay readable and a later flush succeeds, but they never become durable: so do
// the page caches of real systems.
import { dirname } from 'node:path';
import type { FileStatus, FileSystem, OpenFile, OpenMode } from '../../storage/file-system.ts';

const SECTOR_BYTES = 512;

/** Uniform in [0, 1). */
export type RandomSource = () => number;

/** A small generator with a 32-bit seed (mulberry32), so that a run can be repeated. */
export function seededRandom(seed: number): RandomSource {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

interface PendingBytes {
  readonly position: number;
  readonly bytes: Buffer;
}

class Inode {
  readonly isDirectory: boolean;
  current: Buffer = Buffer.alloc(0);
  durable: Buffer = Buffer.alloc(0);
  /** In order; a number is a truncation to that size. */
  pending: (PendingBytes | number)[] = [];

  constructor(isDirectory: boolean) {
    this.isDirectory = isDirectory;
  }
}

interface PendingName {
  readonly directories: readonly string[];
  apply(names: Map<string, Inode>): void;
}

export type Fault =
  | { readonly kind: 'write-fails'; readonly code: string; readonly afterBytes: number }
  | { readonly kind: 'write-hangs' }
  | { readonly kind: 'datasync-fails' }
  | { readonly kind: 'datasync-hangs' }
  | { readonly kind: 'truncate-fails' }
  | { readonly kind: 'read-fails' };

/** `process()` is what a store is given. */
export class FaultyFileSystem {
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  #pendingNames: PendingName[] = [];
  /** Processes from before a crash are dead. */
  #generation = 0;
  #faults: Fault[] = [];
  readonly #matches: (path: string) => boolean = (path) => path.endsWith('.log');
  readonly #hanging: (() => void)[] = [];
  bytesRead = 0;

  constructor(directories: readonly string[]) {
    for (const directory of directories) {
      const inode = new Inode(true);
      this.#names.set(directory, inode);
      this.#durableNames.set(directory, inode);
    }
  }

  /** Arms faults, each for the next operation of its kind on a segment file. */
  arm(...faults: Fault[]): void {
    this.#faults = faults;
  }

  /** Whether one has not struck yet. */
  get isArmed(): boolean {
    return this.#faults.length > 0;
  }

  /** Lets what hangs come back. */
  releaseHanging(): void {
    for (const release of this.#hanging.splice(0)) release();
  }

  /**
   * The machine stops. `keep` says how much of what was not durable has reached the disk by itself: nothing,
   * everything, or any part of it, down to single sectors.
   */
  crash(keep: 'nothing' | 'everything' | 'anything', random: RandomSource): void {
    this.#generation++;
    this.#faults = [];
    const keeps = (): boolean => keep === 'everything' || (keep === 'anything' && random() < 0.5);
    for (const operation of this.#pendingNames) {
      if (keeps()) operation.apply(this.#durableNames);
    }
    this.#pendingNames = [];
    this.#names = new Map(this.#durableNames);
    for (const path of [...this.#names.keys()].sort()) {
      // A file in a directory that is not there is not there.
      const parent = dirname(path);
      if (parent !== path && parent !== '/' && !this.#names.has(parent)) this.#names.delete(path);
    }
    this.#durableNames = new Map(this.#names);
    for (const inode of new Set(this.#names.values())) {
      for (const write of inode.pending) {
        if (typeof write === 'number') {
          if (keeps()) inode.durable = resized(inode.durable, write);
        } else if (keep === 'everything') {
          inode.durable = written(inode.durable, write.position, write.bytes);
        } else if (keep === 'anything') {
          inode.durable = tornWrite(inode.durable, write, random);
        }
      }
      inode.pending = [];
      inode.current = Buffer.from(inode.durable);
    }
  }

  /** The process ends and the machine does not: what it wrote is there, durable or not. */
  kill(): void {
    this.#generation++;
    this.#faults = [];
  }

  /** The bytes of a file, to look at or to change behind everybody's back. */
  bytesOf(path: string): Buffer {
    return this.#get(path).current;
  }

  /** Makes the file if it is missing. */
  overwrite(path: string, bytes: Buffer): void {
    const inode = this.#names.get(path) ?? new Inode(false);
    this.#names.set(path, inode);
    this.#durableNames.set(path, inode);
    inode.current = Buffer.from(bytes);
    inode.durable = Buffer.from(bytes);
    inode.pending = [];
  }

  paths(): string[] {
    return [...this.#names.keys()].sort();
  }

  /** The file system as one process sees it: after a crash nothing of what it still does has an effect or an end. */
  process(): FileSystem {
    const generation = this.#generation;
    const alive = async (): Promise<void> => {
      // Every operation takes a turn of the loop, so that a test can stop the machine between any two.
      await new Promise((resolve) => setImmediate(resolve));
      if (generation !== this.#generation) await new Promise(() => {});
    };
    return {
      open: (path, mode) => alive().then(() => this.#open(path, mode, alive)),
      readdir: (path) => alive().then(() => this.#readdir(path)),
      stat: (path) => alive().then(() => this.#stat(path)),
      mkdir: (path) => alive().then(() => this.#mkdir(path)),
      rename: (from, to) => alive().then(() => this.#rename(from, to)),
      unlink: (path) => alive().then(() => this.#unlink(path)),
      removeTree: (path) => alive().then(() => this.#removeTree(path)),
      syncDirectory: (path) => alive().then(() => this.#syncDirectory(path)),
      checkWritable: (path) => alive().then(() => void this.#get(path)),
    };
  }

  #open(path: string, mode: OpenMode, alive: () => Promise<void>): OpenFile {
    let inode = this.#names.get(path);
    if (mode === 'create') {
      if (inode !== undefined) throw failure('EEXIST', path);
      const parent = this.#names.get(dirname(path));
      if (parent === undefined) throw failure('ENOENT', path);
      inode = new Inode(false);
      this.#name([dirname(path)], (names) => names.set(path, inode as Inode)); // assigned on the line before
    }
    if (inode === undefined) throw failure('ENOENT', path);
    return this.#file(path, inode, alive);
  }

  #readdir(path: string): readonly string[] {
    this.#get(path);
    return [...this.#names.keys()]
      .filter((each) => dirname(each) === path)
      .map((each) => each.slice(path.length + 1));
  }

  #stat(path: string): FileStatus {
    const inode = this.#get(path);
    return { size: inode.current.length, isDirectory: inode.isDirectory };
  }

  #mkdir(path: string): void {
    if (this.#names.has(path)) throw failure('EEXIST', path);
    this.#get(dirname(path));
    const inode = new Inode(true);
    this.#name([dirname(path)], (names) => names.set(path, inode));
  }

  #rename(from: string, to: string): void {
    this.#get(from);
    this.#name([dirname(from), dirname(to)], (names) => {
      for (const [path, inode] of [...names]) {
        if (path !== from && !path.startsWith(`${from}/`)) continue;
        names.delete(path);
        names.set(to + path.slice(from.length), inode);
      }
    });
  }

  #unlink(path: string): void {
    this.#get(path);
    this.#name([dirname(path)], (names) => names.delete(path));
  }

  #removeTree(path: string): void {
    for (const each of this.paths()) {
      if (each === path || each.startsWith(`${path}/`)) this.#unlink(each);
    }
  }

  #syncDirectory(path: string): void {
    this.#get(path);
    this.#pendingNames = this.#pendingNames.filter((operation) => {
      if (!operation.directories.includes(path)) return true;
      operation.apply(this.#durableNames);
      return false;
    });
  }

  #name(directories: readonly string[], apply: (names: Map<string, Inode>) => unknown): void {
    const operation = { directories, apply: (names: Map<string, Inode>) => void apply(names) };
    operation.apply(this.#names);
    this.#pendingNames.push(operation);
  }

  #get(path: string): Inode {
    const inode = this.#names.get(path);
    if (inode === undefined) throw failure('ENOENT', path);
    return inode;
  }

  #take<Kind extends Fault['kind']>(path: string, kind: Kind): Extract<Fault, { kind: Kind }> | undefined {
    if (!this.#matches(path)) return undefined;
    const index = this.#faults.findIndex((fault) => fault.kind === kind);
    const [fault] = index < 0 ? [] : this.#faults.splice(index, 1);
    return fault as Extract<Fault, { kind: Kind }> | undefined; // its kind was compared
  }

  #hang(): Promise<void> {
    return new Promise((resolve) => this.#hanging.push(resolve));
  }

  #file(path: string, inode: Inode, alive: () => Promise<void>): OpenFile {
    return {
      read: async (into, at, length, position) => {
        await alive();
        if (this.#take(path, 'read-fails')) throw failure('EIO', path);
        const bytes = inode.current.subarray(position, position + length);
        bytes.copy(into, at);
        this.bytesRead += bytes.length;
        return bytes.length;
      },
      write: async (bytes, at, length, position) => {
        await alive();
        if (this.#take(path, 'write-hangs')) await this.#hang();
        const fault = this.#take(path, 'write-fails');
        const count = fault === undefined ? length : Math.min(fault.afterBytes, length);
        const copy = Buffer.from(bytes.subarray(at, at + count));
        inode.current = written(inode.current, position, copy);
        inode.pending.push({ position, bytes: copy });
        if (fault !== undefined) throw failure(fault.code, path);
      },
      datasync: async () => {
        await alive();
        if (this.#take(path, 'datasync-hangs')) await this.#hang();
        if (this.#take(path, 'datasync-fails')) {
          inode.pending = [];
          throw failure('EIO', path);
        }
        for (const write of inode.pending) {
          inode.durable =
            typeof write === 'number'
              ? resized(inode.durable, write)
              : written(inode.durable, write.position, write.bytes);
        }
        inode.pending = [];
      },
      truncate: async (size) => {
        await alive();
        if (this.#take(path, 'truncate-fails')) throw failure('EIO', path);
        inode.current = resized(inode.current, size);
        inode.pending.push(size);
      },
      close: async () => {},
    };
  }
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

function resized(bytes: Buffer, size: number): Buffer {
  if (size <= bytes.length) return Buffer.from(bytes.subarray(0, size));
  return Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
}

function written(bytes: Buffer, position: number, added: Buffer): Buffer {
  const result = resized(bytes, Math.max(bytes.length, position + added.length));
  added.copy(result, position);
  return result;
}

/** Any of the sectors of a write; of those that did not make it, zeros or what was there, if the size made it. */
function tornWrite(bytes: Buffer, { position, bytes: added }: PendingBytes, random: RandomSource): Buffer {
  const fate = random();
  if (fate < 0.25) return bytes;
  if (fate < 0.5) return written(bytes, position, added);
  const sized = fate < 0.75 ? resized(bytes, Math.max(bytes.length, position + added.length)) : bytes;
  let result = sized;
  for (let at = 0; at < added.length; ) {
    const end = Math.min(added.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    if (random() < 0.6) result = written(result, position + at, added.subarray(at, end));
    at = end;
  }
  return result;
}
