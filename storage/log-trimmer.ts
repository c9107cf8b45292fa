// Gives up what a log need not keep: moves its start, by retention and on demand, and removes the files that lie wholly
// below it. The start moves in memory at once, then durably in the manifest, and only then do files go, oldest first:
// whatever a crash leaves of them is removed at the next opening, since the manifest says where the log begins, and a
// log without any file takes its end from there.
//
// Only closed segments go: neither the one that appends go to, nor one that the committer still writes to.
import type { Clock, Log } from './environment.ts';
import { errorCodeOf, StorageError, storageErrorOf } from './errors.ts';
import type { FileSystem } from './file-system.ts';
import type { LogAppender } from './log-appender.ts';
import type { LogBody } from './log-body.ts';
import type { LogConfig } from './log-config.ts';
import type { LogFiles } from './log-files.ts';
import type { OpenFiles } from './open-files.ts';
import {
  type AgedSegment,
  isAppendedInFuture,
  isExpired,
  type Moment,
  momentOf,
  surplusCount,
} from './retention.ts';
import type { Segment } from './segment.ts';
import type { SegmentTimes } from './segment-index.ts';

export interface TrimmedLog extends LogBody {
  readonly appender: LogAppender;
  readonly smallFiles: LogFiles;
  /** Readers see what is below it, and all below the other is on disk. Both bound what may go. */
  highWatermark(): number;
  flushedOffset(): number;
  /** Open, and not failed otherwise than by damage that readers met: a log that has failed writes nothing. */
  isWritable(): boolean;
  /** Called when the start has moved. */
  startMoved(): void;
}

export interface TrimmerParts {
  readonly fileSystem: FileSystem;
  readonly files: OpenFiles;
  readonly clock: Clock;
  readonly log: Log;
}

export class LogTrimmer {
  readonly #parts: TrimmerParts;
  readonly #log: TrimmedLog;
  #startOffset: number;
  /** Changes of the list and of the files under it, one after the other. Never rejects. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(parts: TrimmerParts, log: TrimmedLog, startOffset: number) {
    this.#parts = parts;
    this.#log = log;
    this.#startOffset = startOffset;
  }

  get startOffset(): number {
    return this.#startOffset;
  }

  /**
   * Moves the start to `beforeOffset`, unless it is there already or above. Durable, and files removed, when it
   * resolves. Where producers have appended what is not on disk yet, that takes the flush of it: what is known of them is
   * kept first, and may not be ahead of the log.
   * @throws StorageError offset-out-of-range above the high watermark; io, disk-full, sticky (the flush failed): the start
   *   has moved, but a crash may take that back; closed: the log closed, or failed, before its turn came
   */
  async deleteRecords(beforeOffset: number): Promise<number> {
    const { name } = this.#log;
    const highWatermark = this.#log.highWatermark();
    if (beforeOffset > highWatermark || beforeOffset < 0) {
      throw new StorageError(
        'offset-out-of-range',
        `${name}: records below ${beforeOffset} cannot be deleted, the high watermark is ${highWatermark}`,
      );
    }
    this.#moveTo(beforeOffset);
    await this.exclusively(() => this.#settleStart());
    if (this.#log.smallFiles.startOffset < beforeOffset) {
      throw new StorageError('closed', `${name} closed before the start could be moved durably`);
    }
    return this.#startOffset;
  }

  /** Whether {@link maintain} has anything to do, or to look up. */
  isDue(): boolean {
    const now = momentOf(this.#parts.clock);
    const { segments, smallFiles } = this.#log;
    if (this.#isRollDue(now) || smallFiles.isStartBehind) return true;
    if (this.#log.appender.hasIdleRoom(now.monotonicMs)) return true;
    const oldest = segments.at(0);
    if (oldest === undefined || !this.#isClosed(oldest)) return false;
    return oldest.endOffset <= this.#startOffset || this.#mayRetire(oldest, now);
  }

  /** Rolls by age, and lets go of what retention does not ask for. */
  async maintain(): Promise<void> {
    const now = momentOf(this.#parts.clock);
    const { appender } = this.#log;
    if (!this.#log.isWritable()) return;
    if (this.#isRollDue(now)) await appender.sealActive();
    else await appender.endIdleRoom(now.monotonicMs);
    if (appender.config.deletes) this.#moveTo(await this.#startAfterRetention(now));
    await this.exclusively(() => this.#settleStart());
  }

  /**
   * Runs what changes the list of segments together with the files under it, alone. It should be short, for whoever
   * deletes records waits for it.
   */
  exclusively<Result>(change: () => Promise<Result>): Promise<Result> {
    const changing = this.#changing.then(change);
    this.#changing = changing.catch(() => {});
    return changing;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#changing;
  }

  #moveTo(offset: number): void {
    if (offset <= this.#startOffset) return;
    this.#startOffset = offset;
    this.#log.startMoved();
  }

  /** What has moved in memory gets to the disk, and what it covers goes. */
  async #settleStart(): Promise<void> {
    if (!this.#log.isWritable()) return;
    // It may move on meanwhile, and that is not on the disk yet.
    const startOffset = this.#startOffset;
    try {
      await this.#writeStart(startOffset);
      await this.#removeCovered(startOffset, false);
    } catch (error) {
      throw storageErrorOf(error, `moving the start of ${this.#log.name}`);
    }
  }

  async #writeStart(startOffset: number): Promise<void> {
    const { smallFiles } = this.#log;
    try {
      await smallFiles.startMoved();
    } catch (error) {
      if (storageErrorOf(error, 'writing the manifest').code !== 'disk-full') throw error;
      // No room for the few bytes that say so. Segments that go durably one by one, oldest first, say it as well.
      await this.#removeCovered(startOffset, true);
      await smallFiles.startMoved();
    }
  }

  async #removeCovered(startOffset: number, oneByOne: boolean): Promise<void> {
    const { segments, appender, directory } = this.#log;
    const { newest } = segments;
    if (!oneByOne && newest !== undefined && newest.endOffset <= startOffset) {
      await appender.sealActive();
    }
    const covered: Segment[] = [];
    for (const segment of segments) {
      if (segment.endOffset > startOffset || !this.#isClosed(segment)) break;
      // Without a manifest the newest file alone knows where the log ends.
      if (oneByOne && segment === newest) break;
      covered.push(segment);
    }
    if (covered.length === 0) return;
    segments.replace(covered, []);
    this.#log.tail.forgetGone();
    const { completion, background } = this.#log;
    const baseOffset = segments.at(0)?.baseOffset ?? startOffset;
    background.add('dropping index entries', completion.forgetBelow(covered, baseOffset));
    for (const segment of covered) {
      await this.#remove(segment);
      if (oneByOne) await this.#parts.fileSystem.syncDirectory(directory);
    }
  }

  async #remove(segment: Segment): Promise<void> {
    const { name } = this.#log;
    const { files, fileSystem, log } = this.#parts;
    files.drop(segment.path);
    try {
      await fileSystem.unlink(segment.path);
      // Whoever still looked for it may have opened it meanwhile, and what is open takes room.
      files.drop(segment.path);
    } catch (error) {
      // Readers do not see it any more, and the next opening removes it.
      if (errorCodeOf(error) !== 'ENOENT') {
        log.warn('log.segment-not-removed', { log: name, path: segment.path, error });
      }
    }
  }

  /** By age; or all of a quiet log is older than retention asks for, and it only keeps what is closed. */
  #isRollDue({ monotonicMs }: Moment): boolean {
    const { appender } = this.#log;
    if (appender.isAged(monotonicMs)) return true;
    const { active, config } = appender;
    const appendedAtMs = active?.appendedAtMonotonicMs;
    return config.deletes && appendedAtMs !== undefined && monotonicMs - appendedAtMs > config.retentionMs;
  }

  /** Whether a look at the oldest segment may end with its going. */
  #mayRetire(oldest: Segment, now: Moment): boolean {
    const { segments, appender } = this.#log;
    const { config } = appender;
    if (!config.deletes) return false;
    if (Number.isFinite(config.retentionBytes)) {
      if (surplusCount([oldest.byteSize], segments.byteSize, config) > 0) return true;
    }
    if (!Number.isFinite(config.retentionMs)) return false;
    const times = oldest.index?.times ?? oldest.times;
    return times === undefined || isExpired(agedOf(oldest, times), now, config);
  }

  /** Where the log may begin: behind the oldest segments that are too old, or too much; whichever are more. */
  async #startAfterRetention(now: Moment): Promise<number> {
    const { segments, appender } = this.#log;
    const { config } = appender;
    const bound = Math.min(this.#log.highWatermark(), this.#log.flushedOffset());
    const closed: Segment[] = [];
    for (const segment of segments) {
      if (!this.#isClosed(segment) || segment.endOffset > bound) break;
      closed.push(segment);
    }
    let start = this.#startOffset;
    if (Number.isFinite(config.retentionBytes)) {
      const sizes = closed.map(({ byteSize }) => byteSize);
      const last = closed[surplusCount(sizes, segments.byteSize, config) - 1];
      if (last !== undefined) start = Math.max(start, last.endOffset);
    }
    if (!Number.isFinite(config.retentionMs)) return start;
    for (const segment of closed) {
      if (segment.endOffset <= start) continue;
      if (segment.gone || !(await this.#isExpired(segment, now, config))) break;
      start = segment.endOffset;
    }
    return start;
  }

  async #isExpired(segment: Segment, now: Moment, config: LogConfig): Promise<boolean> {
    const { completion, background } = this.#log;
    const times = (await completion.knownTimes(segment)) ?? (await this.#timesByFile(segment, now, config));
    const aged = agedOf(segment, times);
    if (isExpired(aged, now, config)) return true;
    if (isAppendedInFuture(aged, now)) {
      const changing = completion.changeTimes(segment, { ...times, appendedAtMs: now.wallMs });
      background.add('storing times', changing);
    }
    return false;
  }

  /** Nobody knows its timestamps yet. No record is younger than the file: one that is old enough need not be read. */
  async #timesByFile(segment: Segment, now: Moment, config: LogConfig): Promise<SegmentTimes> {
    const { mtimeMs } = await this.#parts.fileSystem.stat(segment.path);
    const byFile = { firstTimestampMs: -1, maxTimestampMs: -1, appendedAtMs: Math.min(mtimeMs, now.wallMs) };
    if (isExpired(agedOf(segment, byFile), now, config)) return byFile;
    try {
      return (await this.#log.completion.timesOf(segment)) ?? byFile;
    } catch (error) {
      // Damage must not keep a segment for ever.
      if (error instanceof StorageError && error.code === 'corrupt') return byFile;
      throw error;
    }
  }

  #isClosed(segment: Segment): boolean {
    return this.#log.appender.isClosed(segment);
  }
}

function agedOf(segment: Segment, times: SegmentTimes): AgedSegment {
  const { appendedAtMonotonicMs } = segment;
  return { maxTimestampMs: times.maxTimestampMs, appendedAtMs: times.appendedAtMs, appendedAtMonotonicMs };
}
