// A file system in memory that forgets what a real one may forget. Bytes are durable after `datasync` of their file,
// names after `syncDirectory` of their directory, a rename for each of its two directories by itself. `crash` drops
// the rest, or keeps any part of it: of a file any of its sectors, each as any of the writes left it, and any of the
// sizes it had; of names any of the changes, in any combination. The disk may have an end, and faults are armed for the
// next operation of their kind: a write is short or fails, a flush fails or hangs, a file cannot be opened or renamed.
//
// After a flush that failed the bytes stay readable and a later flush succeeds, but what did not get to the disk by
// then never becomes durable: so do the page caches of real systems.
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

/** How much of what was not durable has reached the disk by itself when the machine stops. */
export type Keep = 'nothing' | 'everything' | 'anything';

export type Fault = FaultKind & {
  /** Paths that it strikes; segments unless it says otherwise. */
  readonly files?: RegExp;
  /** So many operations of its kind go well before. */
  readonly after?: number;
};

type FaultKind =
  | { readonly kind: 'write-fails'; readonly code: string; readonly afterBytes: number }
  | { readonly kind: 'write-hangs' }
  | { readonly kind: 'datasync-fails' }
  | { readonly kind: 'datasync-hangs' }
  | { readonly kind: 'truncate-fails' }
  | { readonly kind: 'read-fails' }
  | { readonly kind: 'open-fails'; readonly code: string }
  | { readonly kind: 'rename-fails' }
  | { readonly kind: 'unlink-fails' }
  | { readonly kind: 'directory-sync-fails' };

export type FileSystemImage = ReadonlyMap<string, Buffer | undefined>;

/** `process()` is what a store is given. */
export class FaultyFileSystem {
  readonly #root = new Inode(true);
  /** Changes of names that are not durable, in order. */
  #nameChanges: NameChange[] = [];
  /** Processes from before a crash are dead. */
  #generation = 0;
  /** Operations of this generation that have not had their turns. */
  #underWay = 0;
  #faults: { fault: Fault; after: number }[] = [];
  #hanging: (() => void)[] = [];
  bytesRead = 0;
  /** Turns of the event loop that an operation takes, at least one. */
  turns: () => number = () => 1;
  /** Files whose writes are flushes are to be had. */
  hasSynchronousFiles = true;
  /** Logs make room ahead in their files. */
  overwritesInPlace = false;
  /** For the times of files. */
  now: () => number = () => 0;
  /** Bytes of all files together that the disk has room for. */
  capacityBytes = Number.POSITIVE_INFINITY;
  /** Which part of a failed flush got to the disk all the same; without it, none. */
  random: RandomSource | undefined;

  /** @param directories that are there, durably */
  constructor(directories: readonly string[]) {
    for (const directory of directories) {
      let at = this.#root;
      for (const name of namesOf(directory)) {
        const inode = at.entries.get(name) ?? new Inode(true);
        at.entries.set(name, inode);
        at.durableEntries.set(name, inode);
        at = inode;
      }
    }
  }

  /** Arms faults, each for the next operation of its kind; those armed before are gone. */
  arm(...faults: Fault[]): void {
    this.#faults = faults.map((fault) => ({ fault, after: fault.after ?? 0 }));
  }

  /** Whether one has not struck yet. */
  get isArmed(): boolean {
    return this.#faults.length > 0;
  }

  /** Whether an operation hangs. */
  get isHanging(): boolean {
    return this.#hanging.length > 0;
  }

  /** Lets what hangs come back. */
  releaseHanging(): void {
    for (const release of this.#hanging.splice(0)) release();
  }

  /** The machine stops. */
  crash(keep: Keep, random: RandomSource): void {
    this.kill();
    // A journal keeps the order of changes; who writes names where they belong keeps any of them.
    const ordered = random() < 0.5;
    let keeping = true;
    for (const change of this.#nameChanges) {
      if (keep === 'nothing') break;
      if (keep === 'anything' && random() < (ordered ? 0.2 : 0.5)) keeping = false;
      if (keeping) for (const part of change) applyDurably(part);
      if (!ordered) keeping = true;
    }
    this.#nameChanges = [];
    const seen = new Set<Inode>();
    const restart = (inode: Inode): void => {
      if (seen.has(inode)) return;
      seen.add(inode);
      inode.restart(keep, random);
      for (const child of inode.entries.values()) restart(child);
    };
    restart(this.#root);
  }

  /** The process ends and the machine does not: what it wrote is there, durable or not. */
  kill(): void {
    this.#generation++;
    this.#underWay = 0;
    this.#faults = [];
    this.#hanging = [];
  }

  /** A copy of a file's bytes. */
  bytesOf(path: string): Buffer {
    return Buffer.from(this.#get(path).content.bytes);
  }

  /** Makes the file if it is missing, durably. */
  overwrite(path: string, bytes: Buffer): void {
    const { directory, name } = this.#parentOf(path);
    const inode = directory.entries.get(name) ?? new Inode(false);
    directory.entries.set(name, inode);
    directory.durableEntries.set(name, inode);
    inode.content = new Content(Buffer.from(bytes));
    inode.durable = new Content(Buffer.from(bytes));
    inode.changes = [];
  }

  /** Everything that is there, to start others from; undefined stands for a directory. */
  image(): FileSystemImage {
    const image = new Map<string, Buffer | undefined>();
    for (const path of this.paths()) {
      const inode = this.#get(path);
      image.set(path, inode.isDirectory ? undefined : Buffer.from(inode.content.bytes));
    }
    return image;
  }

  static of(image: FileSystemImage): FaultyFileSystem {
    const directories = [...image].filter(([, bytes]) => bytes === undefined).map(([path]) => path);
    const files = new FaultyFileSystem(directories);
    for (const [path, bytes] of image) if (bytes !== undefined) files.overwrite(path, bytes);
    return files;
  }

  /** All paths, in order. */
  paths(): string[] {
    const found: string[] = [];
    const walk = (inode: Inode, path: string): void => {
      for (const [name, child] of inode.entries) {
        found.push(`${path}/${name}`);
        walk(child, `${path}/${name}`);
      }
    };
    walk(this.#root, '');
    return found.sort();
  }

  /** Whether the process waits for nothing but what hangs. */
  get isAtRest(): boolean {
    return this.#underWay === 0;
  }

  /** What the files take. */
  get usedBytes(): number {
    let bytes = 0;
    const walk = (inode: Inode): void => {
      bytes += inode.content.length;
      for (const child of inode.entries.values()) walk(child);
    };
    walk(this.#root);
    return bytes;
  }

  /** The file system as one process sees it: after a crash nothing of what it still does has an effect or an end. */
  process(): FileSystem {
    const generation = this.#generation;
    // Every operation takes a turn of the loop, so that a test can stop the machine between any two.
    const alive = (): Promise<void> =>
      new Promise((resolve) => {
        let turns = Math.max(1, this.turns());
        if (generation !== this.#generation) return;
        this.#underWay++;
        const turn = (): void => {
          if (generation !== this.#generation) return;
          if (--turns > 0) setImmediate(turn);
          else {
            this.#underWay--;
            resolve();
          }
        };
        setImmediate(turn);
      });
    const view = {
      open: (path: string, mode: OpenMode, synchronous = false) =>
        alive().then(() => this.#open(path, mode, synchronous, alive)),
      readdir: (path: string) => alive().then(() => [...this.#getDirectory(path).entries.keys()]),
      stat: (path: string) => alive().then(() => this.#stat(path)),
      mkdir: (path: string) => alive().then(() => this.#mkdir(path)),
      rename: (from: string, to: string) => alive().then(() => this.#rename(from, to)),
      unlink: (path: string) => alive().then(() => this.#unlink(path)),
      removeTree: (path: string) => alive().then(() => this.#removeTree(path, alive)),
      syncDirectory: (path: string) => alive().then(() => this.#syncDirectory(path)),
      checkWritable: (path: string) => alive().then(() => void this.#get(path)),
      freeBytes: (path: string) =>
        alive().then(() => {
          this.#get(path);
          return Math.max(0, this.capacityBytes - this.usedBytes);
        }),
      totalBytes: (path: string) =>
        alive().then(() => {
          this.#get(path);
          return this.capacityBytes;
        }),
      overwritesInPlace: () => Promise.resolve(this.overwritesInPlace),
    };
    return view;
  }

  #open(path: string, mode: OpenMode, synchronous: boolean, alive: () => Promise<void>): OpenFile {
    const fault = this.#take(path, 'open-fails');
    if (fault !== undefined) throw failure(fault.code, path);
    if (mode === 'create') {
      const { directory, name } = this.#parentOf(path);
      if (directory.entries.has(name)) throw failure('EEXIST', path);
      const inode = new Inode(false);
      inode.mtimeMs = this.now();
      this.#change([{ directory, name, inode }]);
    }
    const inode = this.#get(path);
    if (inode.isDirectory) throw failure('EISDIR', path);
    return this.#file(path, inode, synchronous && this.hasSynchronousFiles, alive);
  }

  #stat(path: string): FileStatus {
    const { content, isDirectory, mtimeMs } = this.#get(path);
    const status = { size: content.length, isDirectory, mtimeMs };
    return status;
  }

  #mkdir(path: string): void {
    const { directory, name } = this.#parentOf(path);
    if (directory.entries.has(name)) throw failure('EEXIST', path);
    this.#change([{ directory, name, inode: new Inode(true) }]);
  }

  #rename(from: string, to: string): void {
    if (this.#take(to, 'rename-fails')) throw failure('EIO', to);
    const source = this.#parentOf(from);
    const target = this.#parentOf(to);
    const inode = this.#get(from);
    const replaced = target.directory.entries.get(target.name);
    if (replaced !== undefined && replaced.isDirectory !== inode.isDirectory) throw failure('EISDIR', to);
    if (replaced !== undefined && replaced.entries.size > 0) throw failure('ENOTEMPTY', to);
    this.#change([
      { ...source, inode: undefined },
      { ...target, inode },
    ]);
  }

  #unlink(path: string): void {
    if (this.#take(path, 'unlink-fails')) throw failure('EIO', path);
    if (this.#get(path).isDirectory) throw failure('EISDIR', path);
    this.#change([{ ...this.#parentOf(path), inode: undefined }]);
  }

  async #removeTree(path: string, alive: () => Promise<void>): Promise<void> {
    const inode = this.#find(path);
    if (inode === undefined) return;
    for (const name of [...inode.entries.keys()]) {
      await alive();
      await this.#removeTree(`${path}/${name}`, alive);
    }
    if (this.#take(path, 'unlink-fails')) throw failure('EIO', path);
    if (inode.entries.size > 0) throw failure('ENOTEMPTY', path);
    this.#change([{ ...this.#parentOf(path), inode: undefined }]);
  }

  #syncDirectory(path: string): void {
    const directory = this.#getDirectory(path);
    if (this.#take(path, 'directory-sync-fails')) throw failure('EIO', path);
    const left: NameChange[] = [];
    for (const change of this.#nameChanges) {
      const others: NamePart[] = [];
      for (const part of change) {
        if (part.directory === directory) applyDurably(part);
        else others.push(part);
      }
      if (others.length > 0) left.push(others);
    }
    this.#nameChanges = left;
  }

  #change(change: NameChange): void {
    for (const { directory, name, inode } of change) {
      if (inode === undefined) directory.entries.delete(name);
      else directory.entries.set(name, inode);
    }
    this.#nameChanges.push(change);
  }

  #find(path: string): Inode | undefined {
    let inode: Inode | undefined = this.#root;
    for (const name of namesOf(path)) inode = inode?.entries.get(name);
    return inode;
  }

  #get(path: string): Inode {
    const inode = this.#find(path);
    if (inode === undefined) throw failure('ENOENT', path);
    return inode;
  }

  #getDirectory(path: string): Inode {
    const inode = this.#get(path);
    if (!inode.isDirectory) throw failure('ENOTDIR', path);
    return inode;
  }

  #parentOf(path: string): { readonly directory: Inode; readonly name: string } {
    const slash = path.lastIndexOf('/');
    return { directory: this.#getDirectory(path.slice(0, slash)), name: path.slice(slash + 1) };
  }

  #take<Kind extends Fault['kind']>(path: string, kind: Kind): Extract<Fault, { kind: Kind }> | undefined {
    for (const [index, armed] of this.#faults.entries()) {
      if (armed.fault.kind !== kind || !(armed.fault.files ?? /\.log$/).test(path)) continue;
      if (armed.after-- > 0) continue;
      this.#faults.splice(index, 1);
      return armed.fault as Extract<Fault, { kind: Kind }>; // its kind was compared
    }
    return undefined;
  }

  async #hang(alive: () => Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => this.#hanging.push(resolve));
    await alive();
  }

  #file(path: string, inode: Inode, isSynchronous: boolean, alive: () => Promise<void>): OpenFile {
    const flush = async (changes: readonly Change[]): Promise<void> => {
      if (this.#take(path, 'datasync-hangs')) await this.#hang(alive);
      inode.changes = inode.changes.filter((change) => !changes.includes(change));
      if (this.#take(path, 'datasync-fails')) {
        if (this.random !== undefined) inode.durable = torn(inode.durable, changes, this.random);
        throw failure('EIO', path);
      }
      for (const change of changes) inode.durable.apply(change);
    };
    return {
      isSynchronous,
      read: async (into, at, length, position) => {
        await alive();
        if (this.#take(path, 'read-fails')) throw failure('EIO', path);
        const bytes = inode.content.bytes.subarray(position, position + length);
        bytes.copy(into, at);
        this.bytesRead += bytes.length;
        return bytes.length;
      },
      write: async (bytes, at, length, position) => {
        await alive();
        if (this.#take(path, 'write-hangs')) await this.#hang(alive);
        const fault = this.#take(path, 'write-fails');
        let count = fault === undefined ? length : Math.min(fault.afterBytes, length);
        const growth = Math.max(0, position + count - inode.content.length);
        const room =
          this.capacityBytes === Number.POSITIVE_INFINITY ? growth : this.capacityBytes - this.usedBytes;
        const isFull = growth > room;
        if (isFull) count = Math.max(0, count - (growth - Math.max(0, room)));
        const copy = Buffer.from(bytes.subarray(at, at + count));
        inode.content.write(position, copy);
        inode.mtimeMs = this.now();
        const change = { position, bytes: copy };
        inode.changes.push(change);
        if (fault !== undefined) throw failure(fault.code, path);
        if (isFull) throw failure('ENOSPC', path);
        if (isSynchronous) await flush([change]);
      },
      datasync: async () => {
        await alive();
        await flush([...inode.changes]);
      },
      truncate: async (size) => {
        await alive();
        if (this.#take(path, 'truncate-fails')) throw failure('EIO', path);
        inode.content.resize(size);
        inode.changes.push(size);
      },
      close: async () => {},
    };
  }
}

/** Bytes that were written, or the size to which the file was cut or stretched. */
type Change = { readonly position: number; readonly bytes: Buffer } | number;

/** What happens to one name; `inode` undefined = it goes. */
interface NamePart {
  readonly directory: Inode;
  readonly name: string;
  readonly inode: Inode | undefined;
}

type NameChange = readonly NamePart[];

class Inode {
  readonly isDirectory: boolean;
  entries = new Map<string, Inode>();
  readonly durableEntries = new Map<string, Inode>();
  content = new Content();
  durable = new Content();
  /** In order. */
  changes: Change[] = [];
  mtimeMs = 0;

  constructor(isDirectory: boolean) {
    this.isDirectory = isDirectory;
  }

  /** What is left of it when the machine starts again. */
  restart(keep: Keep, random: RandomSource): void {
    if (this.isDirectory) {
      this.entries = new Map(this.durableEntries);
      return;
    }
    if (this.changes.length > 0) {
      if (keep === 'everything') for (const change of this.changes) this.durable.apply(change);
      if (keep === 'anything') this.durable = torn(this.durable, this.changes, random);
      this.changes = [];
    }
    this.content = new Content(Buffer.from(this.durable.bytes));
  }
}

/** Bytes of a file, which grow in steps. */
class Content {
  #buffer: Buffer;
  length: number;

  constructor(buffer: Buffer = Buffer.alloc(0)) {
    this.#buffer = buffer;
    this.length = buffer.length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  write(position: number, bytes: Buffer): void {
    this.resize(Math.max(this.length, position + bytes.length));
    bytes.copy(this.#buffer, position);
  }

  resize(length: number): void {
    if (length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.length);
      this.#buffer = larger;
    } else if (length < this.length) {
      this.#buffer.fill(0, length, this.length);
    }
    this.length = length;
  }

  apply(change: Change): void {
    if (typeof change === 'number') this.resize(change);
    else this.write(change.position, change.bytes);
  }
}

/** Some of the changes: the first ones, the last of them in part; or of every sector the first ones, and any size. */
function torn(durable: Content, changes: readonly Change[], random: RandomSource): Content {
  const fate = random();
  const result = new Content(Buffer.from(durable.bytes));
  if (fate < 0.15) return result;
  if (fate < 0.45) {
    const count = fate < 0.25 ? changes.length : Math.floor(random() * changes.length);
    for (const change of changes.slice(0, count)) result.apply(change);
    const next = changes[count];
    if (typeof next === 'object') {
      result.apply({ ...next, bytes: next.bytes.subarray(0, Math.floor(random() * next.bytes.length)) });
    }
    return result;
  }
  const sizes = [durable.length];
  const reached = new Map<number, number>();
  for (const [index, change] of changes.entries()) {
    const size = sizes.at(-1)!; // there is one at least
    if (typeof change === 'number') {
      sizes.push(change);
      for (const [start, end] of sectors(change, Math.max(...sizes))) {
        if (hasReached(reached, start, changes.length, random) > index && end <= result.length) {
          result.write(start, Buffer.alloc(end - start));
        }
      }
    } else {
      const { position, bytes } = change;
      sizes.push(Math.max(size, position + bytes.length));
      for (const [start, end] of sectors(position, position + bytes.length)) {
        if (hasReached(reached, start, changes.length, random) <= index) continue;
        result.write(start, bytes.subarray(start - position, end - position));
      }
    }
  }
  result.resize(sizes[Math.floor(random() * sizes.length)]!); // the index is below the length
  return result;
}

/** How many of the changes the sector at a position has got. */
function hasReached(reached: Map<number, number>, at: number, changes: number, random: RandomSource): number {
  const sector = Math.floor(at / SECTOR_BYTES);
  const known = reached.get(sector);
  if (known !== undefined) return known;
  const count = random() < 0.5 ? changes : Math.floor(random() * (changes + 1));
  reached.set(sector, count);
  return count;
}

function* sectors(from: number, to: number): Generator<readonly [start: number, end: number]> {
  for (let start = from; start < to; ) {
    const end = Math.min(to, start + SECTOR_BYTES - (start % SECTOR_BYTES));
    yield [start, end];
    start = end;
  }
}

function applyDurably({ directory, name, inode }: NamePart): void {
  if (inode === undefined) directory.durableEntries.delete(name);
  else directory.durableEntries.set(name, inode);
}

/** Of paths that were asked for, which are few: programs ask for the same ones again and again. */
const namesOfPaths = new Map<string, readonly string[]>();

function namesOf(path: string): readonly string[] {
  let names = namesOfPaths.get(path);
  if (names === undefined) {
    if (namesOfPaths.size > 10_000) namesOfPaths.clear();
    names = path.split('/').filter((name) => name !== '');
    namesOfPaths.set(path, names);
  }
  return names;
}

/** Without a stack, which costs more than all the rest and leads nowhere. */
function failure(code: string, path: string): Error {
  const error = Object.create(Error.prototype) as Error; // what the prototype says that it is
  return Object.assign(error, { code, message: `${code}: ${path}` });
}
