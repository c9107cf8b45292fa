// Looks up the API of a request by key and version.

import type { Api } from './api.ts';

export class ApiIndex {
  /** Key → the values that serve its versions; mostly one. */
  readonly #byKey = new Map<number, Api[]>();

  constructor(apis: readonly Api[]) {
    for (const api of apis) this.#byKey.set(api.key, [...(this.#byKey.get(api.key) ?? []), api]);
    for (const [key, values] of this.#byKey) {
      const { answerUnserved } = values[0] ?? {};
      // Looked at last: it takes whatever version no other value serves.
      if (values[0] !== undefined && answerUnserved !== undefined) {
        const anyVersion = { min: -0x8000, max: 0x7fff };
        const unserved: Api = {
          ...values[0],
          ...anyVersion,
          handle: (_reader, call) => answerUnserved(call),
        };
        this.#byKey.set(key, [...values, unserved]);
      }
    }
  }

  find(key: number, version: number): Api | undefined {
    return this.#byKey.get(key)?.find(({ min, max }) => version >= min && version <= max);
  }

  has(key: number): boolean {
    return this.#byKey.has(key);
  }
}
