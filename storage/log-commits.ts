// What a commit does to its log: makes files, moves the flushed offset, has index entries and checkpoints stored.
import type { CommitHost } from './commit-host.ts';
import type { StorageError } from './errors.ts';
import type { Flushed } from './flush-dial.ts';
import type { LogAppender } from './log-appender.ts';
import type { LogBody } from './log-body.ts';
import type { LogFiles } from './log-files.ts';
import type { RecoveryCheckpoint } from './manifest.ts';
import type { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import type { DirtyRange } from './tail-cache.ts';

export interface CommittedLog extends LogBody {
  /** Made later than this. */
  appender(): LogAppender;
  smallFiles(): LogFiles;
  committed(offset: number): void;
  failed(error: StorageError): void;
}

export class LogCommits implements CommitHost {
  readonly #parts: StoreParts;
  readonly #log: CommittedLog;
  #flushedOffset: number;

  constructor(parts: StoreParts, log: CommittedLog, flushedOffset: number) {
    this.#parts = parts;
    this.#log = log;
    this.#flushedOffset = flushedOffset;
  }

  get flushedOffset(): number {
    return this.#flushedOffset;
  }

  /** The flushed end of a segment, which is a batch's end: groups are flushed whole. */
  checkpointOf(segment: Segment): RecoveryCheckpoint {
    return {
      segmentBase: segment.baseOffset,
      bytePosition: segment.flushedBytes,
      logEndOffset: this.#flushedOffset,
    };
  }

  sealShared(): void {
    this.#log.appender().sealShared();
  }

  takeDirty(): DirtyRange[] {
    return this.#log.tail.takeDirty();
  }

  segmentBytes(): number {
    return this.#log.appender().config.segmentBytes;
  }

  async createSegment(segment: Segment, synchronous: boolean): Promise<void> {
    const { files, fileSystem } = this.#parts;
    await files.create(segment.path, synchronous);
    await fileSystem.syncDirectory(this.#log.directory);
    this.#log.smallFiles().segmentCreated(this.#log.segments);
  }

  segmentClosed(segment: Segment): void {
    this.#log.background.add('indexing', this.#log.completion.closeSegment(segment));
    // Closed without a successor: a quiet log, which may not flush again for long.
    if (segment === this.#log.segments.newest) this.#log.smallFiles().sealed(this.checkpointOf(segment));
  }

  bytesFlushed(ranges: readonly DirtyRange[]): void {
    this.#log.appender().flushed(ranges);
  }

  flushed({ endOffset, batches, bytes }: Flushed, tookMs: number): void {
    const { counters, cache } = this.#parts;
    const { background, index } = this.#log;
    this.#flushedOffset = endOffset;
    counters.flushes++;
    counters.flushedBatches += batches;
    counters.flushSeconds.observe(tookMs / 1000);
    counters.flushBatches.observe(batches);
    cache.trim();
    const { active } = this.#log.appender();
    if (active?.index?.hasFullRuns) {
      background.add('indexing', index.store(active, active.index, endOffset, false));
    }
    if (active !== undefined) this.#log.smallFiles().flushed(bytes, this.checkpointOf(active));
  }

  committed(offset: number): void {
    try {
      this.#log.committed(offset);
    } catch (error) {
      // The owner's fault must not reach a commit that went well.
      this.#parts.log.error('log.commit-listener-failed', { log: this.#log.name, error });
    }
  }

  failed(error: StorageError): void {
    try {
      this.#log.failed(error);
    } catch (fault) {
      this.#parts.log.error('log.failure-listener-failed', { log: this.#log.name, error: fault });
    }
  }

  unflushedBytes(): number {
    return this.#parts.counters.unflushedBytes;
  }

  memoryIsShort(): boolean {
    return this.#parts.cache.isOverfull;
  }
}
