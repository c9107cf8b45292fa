// What the codecs share: the size up to which they work at once, and the errors that they give.

import { invalidRecord, RecordsError, tooLarge } from './errors.ts';

/** One zstd block: Java's clients write no content size, so a single block can only be bounded by this. */
export const SYNC_OUTPUT_BYTES_MAX = 128 * 1024;

export function checkOutputBytes(outputBytes: number, outputBytesMax: number): void {
  if (outputBytes > outputBytesMax) {
    throw tooLarge(`records decompress to up to ${outputBytes} bytes, ${outputBytesMax} are allowed`);
  }
}

/** Runs a codec; whatever it throws or rejects with becomes a RecordsError. */
export function decompressed(codec: string, run: () => Buffer | Promise<Buffer>): Buffer | Promise<Buffer> {
  try {
    const output = run();
    if (!(output instanceof Promise)) return output;
    return output.catch((cause: unknown) => {
      throw undecompressable(codec, cause);
    });
  } catch (cause) {
    throw undecompressable(codec, cause);
  }
}

function undecompressable(codec: string, cause: unknown): RecordsError {
  if (cause instanceof RecordsError) return cause;
  return invalidRecord(`not ${codec}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
}
