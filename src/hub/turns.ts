// Steps that must not overlap take their turns: those of one key run one after the other, in the order given.
export class Turns {
  /** Key → the end of the last step that was given. */
  readonly #ends = new Map<string, Promise<unknown>>();

  /** Runs `step` after the steps given before it under the same key. */
  run<T>(key: string, step: () => Promise<T>): Promise<T> {
    const before = this.#ends.get(key);
    const done = before === undefined ? step() : before.then(step);
    const settled = done.catch(() => undefined); // the failure is the caller's; the next step goes on
    this.#ends.set(key, settled);
    settled.then(() => {
      if (this.#ends.get(key) === settled) this.#ends.delete(key);
    });
    return done;
  }
}
