// A codec's native code: loaded when the first batch comes that needs it, since most hubs see one kind and a start none.
import { decompressed } from './decompression-limits.ts';
import { RecordsError } from './errors.ts';

export class Codec<Native> {
  readonly #name: string;
  readonly #load: () => Promise<Native>;
  #native: Native | undefined;

  constructor(name: string, load: () => Promise<Native>) {
    this.#name = name;
    this.#load = load;
  }

  run(work: (native: Native) => Buffer | Promise<Buffer>): Buffer | Promise<Buffer> {
    const native = this.#native;
    if (native !== undefined) return decompressed(this.#name, () => work(native));
    return this.#loaded().then((loaded) => decompressed(this.#name, () => work(loaded)));
  }

  async #loaded(): Promise<Native> {
    try {
      this.#native = await this.#load();
      return this.#native;
    } catch (cause) {
      throw new RecordsError('unsupported-compression', `${this.#name} cannot be loaded here`, { cause });
    }
  }
}
