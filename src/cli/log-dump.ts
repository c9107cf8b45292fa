// `polylog log dump`: every frame of a log as a JSON object a line, in the order of the files. Streams: memory is that
// of one batch, and a reader that has enough ends it.
import { isUtf8 } from 'node:buffer';
import {
  type DumpedBatch,
  type DumpedFrame,
  type DumpedPair,
  type DumpedRecord,
  dumpFrames,
  type InspectionTarget,
  nodeFileSystem,
  segmentFilesIn,
} from '../../storage/index.ts';
import { type LogPlace, shownPath, withLogPlace } from './log-place.ts';
import { bytesOf, LogProgress, sizeOf } from './log-progress.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface DumpOptions {
  readonly from?: number;
  readonly to?: number;
  readonly limit?: number;
  readonly batches?: boolean;
  readonly key: BytesForm;
  readonly value: BytesForm;
}

type BytesForm = 'text' | 'hex' | 'base64' | 'none';

/** Lines are handed on in pieces of about this size. */
const PIECE_CHARACTERS = 64 * 1024;

const ATTRIBUTES = ['transactional', 'control', 'append-time', 'aborts'] as const;

export function dump(place: LogPlace, options: DumpOptions, surroundings: Surroundings): Promise<number> {
  return withLogPlace(place, surroundings, async (target) => {
    const lines = new Lines(surroundings, options.limit ?? Number.POSITIVE_INFINITY);
    const files = await filesOf(target, options);
    // On a terminal the lines themselves show how far it is.
    const isWatched = surroundings.columns === undefined && surroundings.progress !== undefined;
    const totalBytes = isWatched ? await bytesOf(files.map(({ file }) => file)) : 0;
    const progress = new LogProgress(isWatched ? surroundings : {}, totalBytes);
    let bytesBefore = 0;
    let damaged = false;
    for (const { file, isNewest } of files) {
      for await (const frame of dumpFrames(nodeFileSystem, file, rangeOf(options))) {
        progress.at(bytesBefore + frame.position);
        if (frame.kind === 'damage') {
          // The end of the newest file may be torn, or being written: nothing to exit with 1 for.
          if (!frame.endsFile || !isNewest) damaged = true;
          const { position, byteLength, reason } = frame;
          const where = `${shownPath(file, surroundings)} byte ${position}`;
          surroundings.err(`polylog: ${where}: ${reason}; ${byteLength} bytes are passed over\n`);
          continue;
        }
        const line = lineOf(shownPath(file, surroundings), frame, options);
        if (line !== undefined) await lines.add(line);
        if (lines.enough) break;
      }
      if (lines.enough) break;
      if (isWatched) bytesBefore += await sizeOf(file);
    }
    progress.clear();
    await lines.flush();
    return damaged ? EXIT.failed : EXIT.done;
  });
}

interface DumpedFile {
  readonly file: string;
  /** Of its log: the only one that may end in a torn batch. */
  readonly isNewest: boolean;
}

/** Without the segments that end below what was asked for: where one ends, the next one's name says. */
async function filesOf(target: InspectionTarget, { from = 0 }: DumpOptions): Promise<DumpedFile[]> {
  if (target.kind === 'file') return [{ file: target.path, isNewest: true }];
  const files: DumpedFile[] = [];
  for (const { directory } of target.logs) {
    const segments = await segmentFilesIn(nodeFileSystem, directory);
    for (const [index, segment] of segments.entries()) {
      const next = segments[index + 1];
      if (next === undefined || next.baseOffset > from) {
        files.push({ file: segment.path, isNewest: next === undefined });
      }
    }
  }
  return files;
}

function rangeOf({ from, to }: DumpOptions): { fromOffset: number; toOffset: number } {
  return { fromOffset: from ?? 0, toOffset: to ?? Number.POSITIVE_INFINITY };
}

/** Gathers lines, so that not each costs a write. */
class Lines {
  readonly #surroundings: Surroundings;
  #left: number;
  #text = '';
  #gone = false;

  constructor(surroundings: Surroundings, limit: number) {
    this.#surroundings = surroundings;
    this.#left = limit;
  }

  get enough(): boolean {
    return this.#gone || this.#left <= 0;
  }

  async add(line: string): Promise<void> {
    if (this.enough) return;
    this.#left--;
    this.#text += `${line}\n`;
    if (this.#text.length >= PIECE_CHARACTERS) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#text === '' || this.#gone) return;
    const text = this.#text;
    this.#text = '';
    this.#gone = !(await this.#surroundings.outMuch(text));
  }
}

function lineOf(
  file: string,
  frame: Exclude<DumpedFrame, { kind: 'damage' }>,
  options: DumpOptions,
): string | undefined {
  if (frame.kind === 'batch') return batchLine(file, frame);
  return options.batches ? undefined : recordLine(file, frame, options);
}

/** Integers of 64 bits are written by hand: JSON has no bound for them, JavaScript's numbers have. */
function batchLine(file: string, batch: DumpedBatch): string {
  const attributes = ATTRIBUTES.filter((_, bit) => (batch.attributes & (1 << bit)) !== 0);
  const unknown = batch.attributes >>> ATTRIBUTES.length;
  const names = unknown === 0 ? attributes : [...attributes, `unknown ${batch.attributes}`];
  return (
    `{"frame":"batch","file":${JSON.stringify(file)},"position":${batch.position},"offset":${batch.offset}` +
    `,"totalLength":${batch.totalLength},"metadataLength":${batch.metadataLength}` +
    `,"formatVersion":${batch.formatVersion},"checksum":"${batch.checksum.toString(16).padStart(8, '0')}"` +
    `,"attributes":${JSON.stringify(names)},"recordCount":${batch.recordCount}` +
    `,"byteLength":${batch.byteLength},"lastOffsetDelta":${batch.lastOffsetDelta}` +
    `,"firstTimestampMs":${batch.firstTimestampMs},"maxTimestampMs":${batch.maxTimestampMs}` +
    `,"leaderEpoch":${batch.leaderEpoch},"producerId":${batch.producerId}` +
    `,"producerEpoch":${batch.producerEpoch},"baseSequence":${batch.baseSequence}}`
  );
}

function recordLine(file: string, record: DumpedRecord, { key, value }: DumpOptions): string {
  const pairs = (all: readonly DumpedPair[]): string =>
    JSON.stringify(all.map(([name, item]) => [shown(name, 'text'), shown(item, value)]));
  const shownKey = key === 'none' ? '' : `,"key":${JSON.stringify(shown(record.key, key))}`;
  const shownValue =
    value === 'none'
      ? ''
      : `,"headers":${pairs(record.headers)},"sourceAttributes":${pairs(record.sourceAttributes)}` +
        `,"value":${JSON.stringify(shown(record.value, value))}`;
  return (
    `{"frame":"record","file":${JSON.stringify(file)},"position":${record.position},"offset":${record.offset}` +
    `,"totalLength":${record.totalLength},"metadataLength":${record.metadataLength}` +
    `,"protocolDataLength":${record.protocolDataLength},"dataLength":${record.dataLength}` +
    `,"flags":${record.flags},"timestampMs":${record.timestampMs}${shownKey}${shownValue}}`
  );
}

/** Text is a string, other bytes are an object that says how they are written: nothing is lost or taken for another. */
function shown(bytes: Buffer | null, form: BytesForm): unknown {
  if (bytes === null) return null;
  if (form === 'hex') return { hex: bytes.toString('hex') };
  if (form === 'text' && isUtf8(bytes)) return bytes.toString('utf8');
  return { base64: bytes.toString('base64') };
}
