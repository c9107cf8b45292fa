// The standard output. Much data goes to it as fast as its reader takes it. A reader that has enough (`head`) and goes away
// is no fault: the writer is told to stop. Where it cannot be written (a full disk behind `>`), that is told once.
import type { Writable } from 'node:stream';

export class StreamOutput {
  readonly #stream: Writable;
  readonly #onFailure: (error: Error) => void;
  #gone = false;
  #waiting: (() => void) | undefined;

  /** @param onFailure called once, when the stream fails otherwise than by its reader's going. */
  constructor(stream: Writable, onFailure: (error: Error) => void) {
    this.#stream = stream;
    this.#onFailure = onFailure;
    stream.on('drain', () => this.#goOn());
    stream.on('close', () => this.#end());
    stream.on('error', (error: NodeJS.ErrnoException) => {
      const isFailure = error.code !== 'EPIPE' && !this.#gone;
      this.#end();
      if (isFailure) this.#onFailure(error);
    });
  }

  put(text: string): void {
    if (!this.#gone) this.#stream.write(text);
  }

  /** Resolves when there is room for more: true, or false once nothing is taken any more. One call at a time. */
  async write(text: string): Promise<boolean> {
    if (!this.#gone && !this.#stream.write(text) && !this.#gone) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    return !this.#gone;
  }

  /** Resolves when what was written before is out: true, or false when it is not and never will be. */
  async taken(): Promise<boolean> {
    if (!this.#gone) {
      // An error is told by its event, which comes behind the callback.
      await new Promise<void>((resolve) => {
        this.#stream.write('', () => setImmediate(resolve));
      });
    }
    return !this.#gone;
  }

  #end(): void {
    this.#gone = true;
    this.#goOn();
  }

  #goOn(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}
