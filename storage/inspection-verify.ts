// Checks one log whole: its segments, the small files beside them, and what the index says of it. Reads only.
import { basename, join } from 'node:path';
import { storageErrorOf } from './errors.ts';
import { parseSegmentFileName } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import type { Findings, InspectionTotals } from './inspection-findings.ts';
import { checkLeftOverRows, type InspectedIndex, SegmentIndexCheck } from './inspection-index.ts';
import {
  type CheckedBatch,
  type CheckedSegment,
  checkSegment,
  type SegmentFindings,
} from './inspection-segment.ts';
import {
  checkCheckpoint,
  checkLeaderEpochs,
  checkManifest,
  type LogBounds,
  type Promises,
  readPromises,
} from './inspection-small-files.ts';

export interface VerifyLogOptions {
  readonly fileSystem: FileSystem;
  /** The partition's. */
  readonly directory: string;
  /** Left out: the index is not looked at. */
  readonly index: InspectedIndex | undefined;
  /** Whether the log's topic is compacted, so that holes are to be expected. */
  readonly compacts: boolean;
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

  constructor(options: VerifyLogOptions, findings: Findings, totals: InspectionTotals) {
    this.#options = options;
    this.#findings = findings;
    this.#totals = totals;
  }

  async run(): Promise<void> {
    const { fileSystem, directory, index } = this.#options;
    const findings = this.#findings;
    const names = await fileSystem.readdir(directory);
    const segments = await this.#segments(names);
    const promises = await readPromises(fileSystem, directory, names, findings);
    const bounds = await this.#checkSegments(segments, promises);
    const { manifest, checkpoint } = promises;
    if (manifest !== undefined) checkManifest(directory, manifest, bounds, findings);
    if (checkpoint !== undefined) checkCheckpoint(directory, checkpoint, bounds, findings);
    await checkLeaderEpochs(fileSystem, directory, names, bounds, findings);
    if (index !== undefined) {
      const bases = new Set(segments.map(({ baseOffset }) => baseOffset));
      await checkLeftOverRows(index, directory, bases, findings);
    }
  }

  /** Those with something in them, in order. */
  async #segments(names: readonly string[]): Promise<CheckedSegment[]> {
    const { fileSystem, directory } = this.#options;
    const segments: CheckedSegment[] = [];
    for (const name of names) {
      const parsed = parseSegmentFileName(name);
      if (parsed === undefined) continue;
      const path = join(directory, name);
      const { size } = await fileSystem.stat(path);
      if (size > 0) segments.push({ path, ...parsed, byteSize: size });
      else this.#findings.warning('left-over', { path }, 'a file without a batch; it is passed over');
    }
    return segments.sort((a, b) => a.baseOffset - b.baseOffset || a.leaderEpoch - b.leaderEpoch);
  }

  async #checkSegments(segments: readonly CheckedSegment[], promises: Promises): Promise<LogBounds> {
    const { manifest, checkpoint } = promises;
    const provenOffset = Math.max(manifest?.highWatermark ?? 0, checkpoint?.logEndOffset ?? 0);
    let found: SegmentFindings | undefined;
    let checkpointOffset: number | undefined;
    for (const [place, segment] of segments.entries()) {
      const isNewest = place === segments.length - 1;
      this.#checkOrder(segments[place - 1], segment);
      if (isNewest && checkpoint?.bytePosition === 0) checkpointOffset = segment.baseOffset;
      found = await this.#checkSegment(segment, isNewest, provenOffset, ({ endPosition, endOffset }) => {
        if (isNewest && endPosition === checkpoint?.bytePosition) checkpointOffset = endOffset;
      });
      this.#checkHoles(segment, found, segments[place + 1]);
    }
    const newestIsDamaged = found?.isDamaged ?? false;
    return { segments, endOffset: found?.endOffset, checkpointOffset, newestIsDamaged };
  }

  async #checkSegment(
    segment: CheckedSegment,
    isNewest: boolean,
    provenOffset: number,
    onBatch: (batch: CheckedBatch) => void,
  ): Promise<SegmentFindings> {
    const { fileSystem, index } = this.#options;
    const findings = this.#findings;
    const totals = this.#totals;
    const check = index && new SegmentIndexCheck(index, segment, findings, totals);
    await check?.load();
    const surroundings = {
      isNewest,
      provenOffset,
      onBatch: (batch: CheckedBatch) => {
        check?.note(batch);
        onBatch(batch);
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
   * A hole is explained by compaction: the topic's setting, the checkpoint of an earlier round, or a batch beside it that
   * lacks records. The last batch of a segment stays, so between two files nothing explains one.
   */
  #checkHoles(
    { path }: CheckedSegment,
    { holes, hasThinnedBatches, endOffset, endPosition, isDamaged }: SegmentFindings,
    next: CheckedSegment | undefined,
  ): void {
    if (!hasThinnedBatches && !this.#options.compacts) {
      for (const { position, fromOffset, toOffset } of holes) {
        const lacking = `offsets ${fromOffset} to ${toOffset - 1} are lacking, and nothing says why`;
        this.#findings.error('hole', { path, position, offset: fromOffset }, lacking);
      }
    }
    if (next === undefined || isDamaged || endOffset === next.baseOffset) return;
    const place = { path, position: endPosition, offset: endOffset };
    if (endOffset > next.baseOffset) {
      const above = `the file ends at offset ${endOffset}, above where ${basename(next.path)} begins`;
      this.#findings.error('order', place, above);
    } else {
      const lacking = `offsets ${endOffset} to ${next.baseOffset - 1}, up to ${basename(next.path)}, are lacking`;
      this.#findings.error('hole', place, lacking);
    }
  }
}
