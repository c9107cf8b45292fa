// Checks one log whole: its segments, the small files beside them, and what the index says of it. Reads only.
import { basename, join } from 'node:path';
import { storageErrorOf } from './errors.ts';
import { isCleanedFileName, parseSegmentFileName } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import type { Findings, InspectionTotals } from './inspection-findings.ts';
import { checkLeftOverRows, type InspectedIndex, SegmentIndexCheck } from './inspection-index.ts';
import { checkProducerSnapshot, type ProducerSnapshotCheck } from './inspection-producers.ts';
import {
  type CheckedBatch,
  type CheckedSegment,
  checkSegment,
  type SegmentFindings,
} from './inspection-segment.ts';
import {
  checkCheckpoint,
  checkCleanedOffset,
  checkLeaderEpochs,
  checkManifest,
  type LogBounds,
  type Promises,
  readCleanedOffset,
  readPromises,
} from './inspection-small-files.ts';
import { TransactionCheck } from './inspection-transactions.ts';

export interface VerifyLogOptions {
  readonly fileSystem: FileSystem;
  /** The partition's. */
  readonly directory: string;
  /** Left out: the index is not looked at. */
  readonly index: InspectedIndex | undefined;
  /** Whether the log's topic is compacted, so that holes are to be expected. */
  readonly compacts: boolean;
  /** Called with the bytes of segments that were read so far, as `totals` has them and of the one under way. */
  readonly onRead?: (bytes: number) => void;
}

/** What cannot be read is a finding too. */
export async function verifyLog(
  options: VerifyLogOptions,
  findings: Findings,
  totals: InspectionTotals,
): Promise<void> {
  totals.logs++;
  try {
    await new LogCheck(options, findings, totals).run();
  } catch (error) {
    const { message } = storageErrorOf(error, 'reading');
    findings.error('io', { path: options.directory }, message);
  }
}

class LogCheck {
  readonly #options: VerifyLogOptions;
  readonly #findings: Findings;
  readonly #totals: InspectionTotals;
  readonly #transactions: TransactionCheck;
  #cleanedOffset = 0;
  #snapshot: ProducerSnapshotCheck | undefined;
  /** Whether compaction was anywhere in the log. */
  #wasCompacted = false;

  constructor(options: VerifyLogOptions, findings: Findings, totals: InspectionTotals) {
    this.#options = options;
    this.#findings = findings;
    this.#totals = totals;
    this.#transactions = new TransactionCheck(findings);
  }

  async run(): Promise<void> {
    const { fileSystem, directory, index } = this.#options;
    const findings = this.#findings;
    const names = await fileSystem.readdir(directory);
    const promises = await readPromises(fileSystem, directory, names, findings);
    const { manifest, checkpoint } = promises;
    const files = await this.#segments(names);
    const segments = this.#withoutRemoved(files, manifest?.logStartOffset ?? 0);
    this.#cleanedOffset = await readCleanedOffset(fileSystem, directory, names, findings);
    this.#wasCompacted = this.#options.compacts || this.#cleanedOffset > 0;
    this.#snapshot = await checkProducerSnapshot(fileSystem, directory, names, findings);
    const startOffset = Math.max(manifest?.logStartOffset ?? 0, segments[0]?.baseOffset ?? 0);
    this.#transactions.startAt(startOffset);
    const bounds = await this.#checkSegments(segments, promises);
    if (manifest !== undefined) checkManifest(directory, manifest, bounds, findings);
    if (checkpoint !== undefined) checkCheckpoint(directory, checkpoint, bounds, startOffset, findings);
    await checkLeaderEpochs(fileSystem, directory, names, bounds, findings);
    const endOffset = Math.max(bounds.endOffset ?? 0, startOffset);
    checkCleanedOffset(directory, this.#cleanedOffset, endOffset, findings);
    const hasAllBatches = !this.#wasCompacted && !bounds.isDamaged;
    this.#snapshot?.finish(startOffset, endOffset, hasAllBatches);
    this.#transactions.finish(hasAllBatches);
    if (index !== undefined) {
      const bases = new Set(files.map(({ baseOffset }) => baseOffset));
      await checkLeftOverRows(index, directory, bases, findings);
    }
  }

  /** Those with something in them, in order. */
  async #segments(names: readonly string[]): Promise<CheckedSegment[]> {
    const { fileSystem, directory } = this.#options;
    const segments: CheckedSegment[] = [];
    for (const name of names) {
      const path = join(directory, name);
      if (isCleanedFileName(name)) {
        const unfinished =
          'what a compaction was writing when it was interrupted; the next opening removes it';
        this.#findings.warning('left-over', { path }, unfinished);
      }
      const parsed = parseSegmentFileName(name);
      if (parsed === undefined) continue;
      const { size } = await fileSystem.stat(path);
      if (size > 0) segments.push({ path, ...parsed, byteSize: size });
      else
        this.#findings.warning('left-over', { path }, 'a file without a batch; the next opening removes it');
    }
    return segments.sort((a, b) => a.baseOffset - b.baseOffset || a.leaderEpoch - b.leaderEpoch);
  }

  /** Without files that lie below the log start: a crash may have undone the removal of some and not of others. */
  #withoutRemoved(segments: readonly CheckedSegment[], logStartOffset: number): readonly CheckedSegment[] {
    const first = segments.findLastIndex(({ baseOffset }) => baseOffset <= logStartOffset);
    for (const { path } of segments.slice(0, Math.max(first, 0))) {
      const below = `all of it lies below the log start ${logStartOffset}; the next opening removes it`;
      this.#findings.warning('left-over', { path }, below);
    }
    return segments.slice(Math.max(first, 0));
  }

  async #checkSegments(segments: readonly CheckedSegment[], promises: Promises): Promise<LogBounds> {
    const { manifest, checkpoint } = promises;
    const provenOffset = Math.max(manifest?.highWatermark ?? 0, checkpoint?.logEndOffset ?? 0);
    let found: SegmentFindings | undefined;
    let checkpointOffset: number | undefined;
    let isDamaged = false;
    for (const [place, segment] of segments.entries()) {
      const isNewest = place === segments.length - 1;
      this.#checkOrder(segments[place - 1], segment);
      if (isNewest && checkpoint?.bytePosition === 0) checkpointOffset = segment.baseOffset;
      found = await this.#checkSegment(segment, isNewest, provenOffset, ({ endPosition, endOffset }) => {
        if (isNewest && endPosition === checkpoint?.bytePosition) checkpointOffset = endOffset;
      });
      isDamaged ||= found.isDamaged;
      this.#wasCompacted ||= found.hasThinnedBatches;
      this.#checkHoles(segment, found, segments[place + 1]);
    }
    const newestIsDamaged = found?.isDamaged ?? false;
    return { segments, endOffset: found?.endOffset, checkpointOffset, newestIsDamaged, isDamaged };
  }

  async #checkSegment(
    segment: CheckedSegment,
    isNewest: boolean,
    provenOffset: number,
    onBatch: (batch: CheckedBatch) => void,
  ): Promise<SegmentFindings> {
    const { fileSystem, index, onRead } = this.#options;
    const findings = this.#findings;
    const totals = this.#totals;
    const check = index && new SegmentIndexCheck(index, segment, findings, totals);
    await check?.load();
    const surroundings = {
      isNewest,
      provenOffset,
      onBatch: (batch: CheckedBatch) => {
        check?.note(batch);
        this.#snapshot?.note(batch);
        this.#transactions.note(segment.path, batch);
        onBatch(batch);
        onRead?.(totals.bytes + batch.endPosition);
      },
    };
    const found = await checkSegment(fileSystem, segment, surroundings, findings, totals);
    await check?.finish(found);
    return found;
  }

  #checkOrder(before: CheckedSegment | undefined, { path, leaderEpoch, baseOffset }: CheckedSegment): void {
    if (before === undefined) return;
    const place = { path, offset: baseOffset };
    if (leaderEpoch < before.leaderEpoch) {
      const older = `its leader epoch ${leaderEpoch} is below that of the file before, ${before.leaderEpoch}`;
      this.#findings.error('order', place, older);
    }
    if (baseOffset === before.baseOffset) {
      this.#findings.error('order', place, `${basename(before.path)} begins at the same offset`);
    }
  }

  /**
   * A hole is explained by compaction: the topic's setting, the checkpoint of an earlier round, or a batch in the segment
   * that lacks records. The last batch of a segment stays, so between two files nothing explains one.
   */
  #checkHoles(
    { path }: CheckedSegment,
    { holes, hasThinnedBatches, endOffset, endPosition, isDamaged }: SegmentFindings,
    next: CheckedSegment | undefined,
  ): void {
    for (const { position, fromOffset, toOffset } of holes) {
      if (this.#options.compacts || hasThinnedBatches || toOffset <= this.#cleanedOffset) continue;
      const lacking = `offsets ${fromOffset} to ${toOffset - 1} are lacking, and nothing says why`;
      this.#findings.error('hole', { path, position, offset: fromOffset }, lacking);
    }
    if (next === undefined || isDamaged || endOffset === next.baseOffset) return;
    const place = { path, position: endPosition, offset: endOffset };
    if (endOffset < next.baseOffset) {
      const lacking = `offsets ${endOffset} to ${next.baseOffset - 1}, up to ${basename(next.path)}, are lacking`;
      this.#findings.error('hole', place, lacking);
      return;
    }
    const above = `the file ends at offset ${endOffset}, above where ${basename(next.path)} begins`;
    // A compaction that was interrupted between its renaming and its removing: the next one goes on from there.
    if (this.#wasCompacted) this.#findings.warning('left-over', place, above);
    else this.#findings.error('order', place, above);
  }
}
