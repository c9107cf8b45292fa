// What a command gets from the process, so that tests can give something else; and the exit codes.
import type { Environment } from '../config/interpolation.ts';

export interface Surroundings {
  /** Data. */
  out(text: string): void;
  /** Data without end: resolves when there is room for more, with false once nobody reads any more. */
  outMuch(text: string): Promise<boolean>;
  /** Everything else. */
  err(text: string): void;
  /** Of the terminal; absent = the output is no terminal. */
  readonly columns?: number;
  readonly input?: AsyncIterable<Uint8Array>;
  /** Somebody types it, on the terminal where progress would be shown. */
  readonly isTyped?: boolean;
  /** All that was put out has been taken: true, or false where nobody reads, or nothing can be written. */
  taken?(): Promise<boolean>;
  /** How far long work is, on a line of the terminal that the next one replaces; absent = there is no terminal. */
  progress?(text: string): void;
  /** From the first look on, Ctrl-C ends what is under way instead of the process. */
  readonly interrupted?: AbortSignal;
  readonly environment: Environment;
  readonly workingDirectory: string;
}

export const EXIT = { done: 0, failed: 1, wrongUsage: 2, notReachable: 3 } as const;
