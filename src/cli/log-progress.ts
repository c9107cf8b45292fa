// How far `polylog log` has read, on a line of the terminal: of all bytes in the segment files that are to be read.
import { stat } from 'node:fs/promises';
import { type InspectionTarget, nodeFileSystem, segmentFilesIn } from '../../storage/index.ts';
import { size } from './noun.ts';
import { Progress } from './progress.ts';
import type { Surroundings } from './surroundings.ts';

export class LogProgress {
  readonly #progress: Progress;
  readonly #totalBytes: number;

  constructor(surroundings: Pick<Surroundings, 'progress'>, totalBytes: number) {
    this.#progress = new Progress(surroundings);
    this.#totalBytes = totalBytes;
  }

  /** @param bytes so far */
  at(bytes: number): void {
    this.#progress.at(() => {
      const total = Math.max(this.#totalBytes, bytes, 1);
      return `${size(bytes)} of ${size(total)}, ${Math.floor((100 * bytes) / total)} %`;
    });
  }

  /** Before something else is written to the terminal, and at the end. */
  clear(): void {
    this.#progress.end();
  }
}

/** What cannot be read counts nothing: whoever reads it will tell. */
export async function segmentBytesOf({ logs }: InspectionTarget): Promise<number> {
  let bytes = 0;
  for (const { directory } of logs) {
    const files = await segmentFilesIn(nodeFileSystem, directory).catch(() => []);
    bytes += await bytesOf(files.map(({ path }) => path));
  }
  return bytes;
}

export async function bytesOf(files: readonly string[]): Promise<number> {
  const sizes = files.map((file) => sizeOf(file));
  return (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
}

export async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}
