// Finds the topics that expressions mean: all topics when an expression is new, the changed ones when topics come and
// go. The work is cut into slices, so that an expensive expression holds up nobody but who asked for it. Internal
// topics are never meant.

import type { Hub } from '../../port.ts';
import { compileTopicRegex, type TopicPattern } from './consumer/topic-regex.ts';

/** How long names are matched before others get their turn. */
const SLICE_MS = 4;
/** An expression that has taken so long matches nothing more. */
const TOTAL_MS = 2_000;

export interface Matched {
  /** Sorted. */
  readonly topics: readonly string[];
  readonly problem?: undefined;
}

export interface Invalid {
  readonly problem: string;
}

export class RegexResolver {
  readonly #hub: Hub;
  /** One at a time, and one slice of it at a time. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Those of the names that are topics and match; all topics when no names are given. Never rejects. */
  match(regex: string, names?: readonly string[]): Promise<Matched | Invalid> {
    const turn = this.#tail.then(() => this.#match(regex, names));
    this.#tail = turn;
    return turn;
  }

  async #match(regex: string, names: readonly string[] | undefined): Promise<Matched | Invalid> {
    const pattern = compileTopicRegex(regex);
    if (typeof pattern !== 'function') return pattern;
    const { topics } = this.#hub;
    const candidates = names ?? topics.list().map(({ name }) => name);
    const matching = await this.#sift(regex, pattern, candidates);
    // Looked at when all are known: topics may have come and gone meanwhile.
    return { topics: matching.filter((name) => topics.get(name)?.internal === false).sort() };
  }

  async #sift(regex: string, pattern: TopicPattern, names: readonly string[]): Promise<string[]> {
    const { clock, log } = this.#hub;
    const matching: string[] = [];
    const startMs = clock.monotonic();
    let sliceMs = startMs;
    for (const name of names) {
      if (pattern(name)) matching.push(name);
      if (clock.monotonic() - sliceMs < SLICE_MS) continue;
      if (clock.monotonic() - startMs > TOTAL_MS) {
        log.warn('topic-regex-too-slow', { regex, matched: matching.length });
        break;
      }
      await new Promise((resolve) => setImmediate(resolve));
      sliceMs = clock.monotonic();
    }
    return matching;
  }
}
