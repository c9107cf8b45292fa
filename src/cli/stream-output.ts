// Much data to a stream, as fast as its reader takes it. A reader that has enough (`head`) and goes away is no fault:
// the writer is told to stop.
import type { Writable } from 'node:stream';

export class StreamOutput {
  readonly #stream: Writable;
  #listening = false;
  #gone = false;
  #failure: Error | undefined;
  #waiting: (() => void) | undefined;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /**
   * Resolves when there is room for more: true, or false once nobody reads. One call at a time. Rejects when the
   * stream fails otherwise (a full disk behind `>`).
   */
  async write(text: string): Promise<boolean> {
    this.#listen();
    if (!this.#gone && !this.#stream.write(text) && !this.#gone) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    return !this.#gone;
  }

  /** From the first write on, so that other commands keep what the stream does by itself. */
  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    this.#stream.on('drain', () => this.#goOn());
    this.#stream.on('close', () => this.#end(undefined));
    this.#stream.on('error', (error: NodeJS.ErrnoException) => {
      this.#end(error.code === 'EPIPE' ? undefined : error);
    });
  }

  #end(failure: Error | undefined): void {
    this.#gone = true;
    this.#failure ??= failure;
    this.#goOn();
  }

  #goOn(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}
