// Checks the snapshot of a log's producers against its batches: what it remembers has to lie where it says. One that
// cannot be read or does not fit is ignored by an opening, which reads the log instead.
import { join } from 'node:path';
import { PRODUCER_SNAPSHOT_FILE } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import type { Findings } from './inspection-findings.ts';
import type { CheckedBatch } from './inspection-segment.ts';
import { type ProducerSnapshot, readProducerSnapshot } from './producer-snapshot.ts';

interface RememberedBatch {
  readonly producerId: number;
  readonly epoch: number;
  readonly baseSequence: number;
  readonly endOffset: number;
}

/** The remembered batches, held against those of the log as they come. */
export class ProducerSnapshotCheck {
  readonly #path: string;
  readonly #snapshot: ProducerSnapshot;
  readonly #findings: Findings;
  /** By base offset; what the log has borne out is taken out. */
  readonly #remembered = new Map<number, RememberedBatch>();

  constructor(path: string, snapshot: ProducerSnapshot, findings: Findings) {
    this.#path = path;
    this.#snapshot = snapshot;
    this.#findings = findings;
    for (const { producerId, epoch, batches } of snapshot.producers) {
      for (const { baseOffset, baseSequence, recordCount } of batches) {
        const batch = { producerId, epoch, baseSequence, endOffset: baseOffset + recordCount };
        this.#remembered.set(baseOffset, batch);
      }
    }
  }

  /** A good batch of the log. */
  note({ baseOffset, endOffset, producerId, producerEpoch, baseSequence }: CheckedBatch): void {
    const known = this.#remembered.get(baseOffset);
    if (known === undefined) return;
    this.#remembered.delete(baseOffset);
    const isRight =
      known.producerId === producerId &&
      known.epoch === producerEpoch &&
      known.baseSequence === baseSequence &&
      known.endOffset === endOffset;
    if (isRight) return;
    const says = `producer ${known.producerId}, epoch ${known.epoch}, sequence ${known.baseSequence}`;
    this.#wrong(baseOffset, `the snapshot has a batch of ${says} there, and the log another one`);
  }

  /**
   * All batches have come.
   * @param hasAllBatches whether every batch from `startOffset` on must be there: none was compacted away or damaged
   */
  finish(startOffset: number, logEndOffset: number, hasAllBatches: boolean): void {
    if (this.#snapshot.logEndOffset > logEndOffset) {
      const place = { path: this.#path, offset: this.#snapshot.logEndOffset };
      this.#findings.warning(
        'small-file',
        place,
        'the snapshot speaks of more than there is, and is ignored',
      );
      return;
    }
    if (!hasAllBatches) return;
    for (const [baseOffset, { producerId }] of this.#remembered) {
      if (baseOffset < startOffset) continue;
      this.#wrong(baseOffset, `the snapshot has a batch of producer ${producerId} there, and the log none`);
    }
  }

  #wrong(offset: number, message: string): void {
    this.#findings.error('small-file', { path: this.#path, offset }, message);
  }
}

/** Undefined when there is no snapshot, or none that can be read, which is told. */
export async function checkProducerSnapshot(
  fileSystem: FileSystem,
  directory: string,
  names: readonly string[],
  findings: Findings,
): Promise<ProducerSnapshotCheck | undefined> {
  if (!names.includes(PRODUCER_SNAPSHOT_FILE)) return undefined;
  const path = join(directory, PRODUCER_SNAPSHOT_FILE);
  const snapshot = await readProducerSnapshot(fileSystem, directory);
  if (snapshot !== undefined) return new ProducerSnapshotCheck(path, snapshot, findings);
  // A power failure right behind a stop may leave it so.
  findings.warning('small-file', { path }, 'it cannot be read, and is ignored');
  return undefined;
}
