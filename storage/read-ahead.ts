// Reads the file on before a sequential reader asks: while it works on one block, the next is on its way. Who counts as
// sequential is in ReadEnds: the second read from a file that begins where the one before it ended.
//
// Bounded three ways: blocks of a log, bytes of the store, reads under way (of libuv's four threads, which appends need
// as well). When there is no room the reader does without: it is slower, and nobody else is.
import type { BufferPool } from './buffer-pool.ts';
import type { Clock } from './environment.ts';
import { FileBlock } from './file-block.ts';
import {
  READ_AHEAD_BLOCK_BYTES,
  READ_AHEAD_BLOCK_BYTES_MAX,
  READ_AHEAD_BLOCKS_MAX,
  READ_AHEAD_BYTES_MAX,
  READ_AHEAD_IDLE_MS,
  READ_AHEADS_MAX,
} from './limits.ts';
import type { OpenFiles } from './open-files.ts';
import type { Segment } from './segment.ts';
import type { StoreCounters } from './store-counters.ts';

export interface ReadAheadOptions {
  readonly files: OpenFiles;
  readonly pool: BufferPool;
  readonly clock: Clock;
  readonly counters: StoreCounters;
  /** Told of bytes that are kept more, or less. */
  onKept(bytes: number): void;
}

/** What all logs keep read ahead, longest unused first, and its bound. */
export class ReadAheadBudget {
  readonly options: ReadAheadOptions;
  readonly #kept = new Set<KeptBlock>();
  #bytes = 0;
  #underWay = 0;

  constructor(options: ReadAheadOptions) {
    this.options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get mayRead(): boolean {
    return this.#underWay < READ_AHEADS_MAX;
  }

  /** Room for so many bytes more: what nobody waits for makes way. */
  hasRoom(bytes: number): boolean {
    if (this.#bytes + bytes <= READ_AHEAD_BYTES_MAX) return true;
    for (const kept of this.#kept) {
      if (!this.#isSpare(kept)) continue;
      kept.owner.drop(kept);
      if (this.#bytes + bytes <= READ_AHEAD_BYTES_MAX) return true;
    }
    return false;
  }

  add(kept: KeptBlock): void {
    this.#kept.add(kept);
    this.#bytes += kept.byteLength;
    this.options.onKept(kept.byteLength);
  }

  remove(kept: KeptBlock): void {
    if (!this.#kept.delete(kept)) return;
    this.#bytes -= kept.byteLength;
    this.options.onKept(-kept.byteLength);
  }

  touch(kept: KeptBlock): void {
    kept.touchedAtMs = this.options.clock.monotonic();
    if (this.#kept.delete(kept)) this.#kept.add(kept);
  }

  async reading<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay++;
    try {
      return await work;
    } finally {
      this.#underWay--;
    }
  }

  #isSpare(kept: KeptBlock): boolean {
    if (kept.block === undefined) return false;
    return kept.usedUp || this.options.clock.monotonic() - kept.touchedAtMs > READ_AHEAD_IDLE_MS;
  }
}

/** A block that is kept for the next reader, or is on its way. */
interface KeptBlock {
  readonly owner: ReadAhead;
  readonly segment: Segment;
  readonly position: number;
  readonly byteLength: number;
  /** Undefined while it is on its way. */
  block: FileBlock | undefined;
  loading: Promise<void> | undefined;
  /** A reader has had its last whole batch. */
  usedUp: boolean;
  touchedAtMs: number;
}

/** The blocks of one log. */
export class ReadAhead {
  readonly #budget: ReadAheadBudget;
  readonly #kept: KeptBlock[] = [];
  #closed = false;

  constructor(budget: ReadAheadBudget) {
    this.#budget = budget;
  }

  /** The block that has the whole batch at `position`, when it is kept or on its way. The caller holds it then. */
  async take(segment: Segment, position: number): Promise<FileBlock | undefined> {
    const kept = this.#find(segment, position);
    if (kept === undefined) return undefined;
    if (kept.loading !== undefined) await kept.loading;
    const { block } = kept;
    // It may have come to nothing, or be given up meanwhile.
    if (block === undefined || !this.#kept.includes(kept) || !holdsBatch(block, position)) return undefined;
    block.hold();
    this.#budget.touch(kept);
    return block;
  }

  /** Whether a block that begins at `position` would be kept. */
  hasRoom(): boolean {
    if (this.#closed) return false;
    if (this.#kept.length >= READ_AHEAD_BLOCKS_MAX) {
      const oldest =
        this.#kept.find((kept) => kept.usedUp) ?? this.#kept.find((kept) => kept.block !== undefined);
      if (oldest === undefined) return false;
      this.drop(oldest);
    }
    return this.#budget.hasRoom(READ_AHEAD_BLOCK_BYTES);
  }

  /** Keeps a block that a sequential reader has loaded, for its next read, and reads on behind it. */
  keep(block: FileBlock): void {
    if (this.#closed || block.bytes.length > READ_AHEAD_BLOCK_BYTES_MAX) return;
    const { segment, position } = block;
    block.hold();
    this.#add({ segment, position, byteLength: block.bytes.length, block, loading: undefined });
    this.readOn(segment, position + block.wholeEnd);
  }

  /** Begins to read what follows, unless that is kept already or there is no room for it. */
  readOn(segment: Segment, position: number): void {
    if (position >= segment.flushedBytes || segment.gone || this.#find(segment, position) !== undefined)
      return;
    if (!this.#budget.mayRead || !this.hasRoom()) return;
    const { files, pool, counters } = this.#budget.options;
    counters.readAheads++;
    const kept = this.#add({
      segment,
      position,
      byteLength: READ_AHEAD_BLOCK_BYTES,
      block: undefined,
      loading: undefined,
    });
    const load = files.with(segment.path, (file) =>
      FileBlock.load(pool, file, segment, position, READ_AHEAD_BLOCK_BYTES, READ_AHEAD_BLOCK_BYTES),
    );
    kept.loading = this.#budget.reading(load).then(
      (block) => {
        kept.loading = undefined;
        if (!this.#kept.includes(kept)) return block.letGo();
        kept.block = block;
        if (block.wholeEnd === 0) this.drop(kept);
      },
      // The reader finds out by itself, if it ever comes.
      () => {
        kept.loading = undefined;
        this.drop(kept);
      },
    );
  }

  /** A reader got what the block has up to `end`, in the file. */
  used(block: FileBlock, end: number): void {
    if (end < block.position + block.wholeEnd) return;
    const kept = this.#kept.find((each) => each.block === block);
    if (kept !== undefined) kept.usedUp = true;
  }

  /** The block is damaged: the next reader looks at the file again. */
  forget(block: FileBlock): void {
    const kept = this.#kept.find((each) => each.block === block);
    if (kept !== undefined) this.drop(kept);
  }

  drop(kept: KeptBlock): void {
    const index = this.#kept.indexOf(kept);
    if (index < 0) return;
    this.#kept.splice(index, 1);
    this.#budget.remove(kept);
    kept.block?.letGo();
  }

  /** Resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    const loading = this.#kept.map((kept) => kept.loading);
    for (const kept of [...this.#kept]) this.drop(kept);
    await Promise.all(loading);
  }

  #find(segment: Segment, position: number): KeptBlock | undefined {
    return this.#kept.find(
      (kept) =>
        kept.segment === segment &&
        (kept.block === undefined ? kept.position === position : holdsBatch(kept.block, position)),
    );
  }

  #add(made: Omit<KeptBlock, 'owner' | 'usedUp' | 'touchedAtMs'>): KeptBlock {
    const kept = { ...made, owner: this, usedUp: false, touchedAtMs: this.#budget.options.clock.monotonic() };
    this.#kept.push(kept);
    this.#budget.add(kept);
    return kept;
  }
}

function holdsBatch(block: FileBlock, position: number): boolean {
  return position >= block.position && position < block.position + block.wholeEnd;
}
