// Keeps that part of V8's heap small in which objects are new. By itself it grows to 32 MiB under load and stays, and what it
// is waited for with is held as long: chunks of sockets that nobody looks at any more are freed when it is full. Most of
// what the hub makes is garbage within a turn, so that collecting it more often costs next to nothing.
//
// The heap's own limit (--max-semi-space-size) can be given to a process only before it starts, and compiled functions that
// were kept without it are refused with it. By what it grows can be told to a process that runs; a collection is when it does.
// V8 sets it back to 2 whenever another isolate begins (a worker thread): the hub has none.
import { PerformanceObserver } from 'node:perf_hooks';
import v8 from 'node:v8';
import type { Clock, Timer } from '../protocols/port.ts';

/** Of both halves, between which objects move as they live on; each is a power of two, and 256 KiB more. */
const BYTES_MAX = 9 * 1024 * 1024;
/** Once it is as large as it may be, it is looked so often whether it has shrunk, as it does when little happens. */
const CHECK_MS = 10_000;

export interface YoungGeneration {
  bytes(): number;
  /** Whether it is doubled when it is too small. */
  setGrowing(grows: boolean): void;
  /** @returns its removal */
  onCollection(listener: () => void): () => void;
}

export const V8_YOUNG_GENERATION: YoungGeneration = {
  bytes: () =>
    v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0,
  setGrowing: (grows) => v8.setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`),
  onCollection(listener) {
    const observer = new PerformanceObserver(listener);
    observer.observe({ type: 'gc' });
    return () => observer.disconnect();
  },
};

/**
 * For a process that is the hub's own. Who has asked for a size of his own gets that.
 * @param options that the process was started with
 */
export function boundYoungGeneration(
  clock: Clock,
  young = V8_YOUNG_GENERATION,
  options: readonly string[] = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''],
): { close(): void } {
  // Node takes both spellings.
  if (options.some((option) => /semi[-_]space/.test(option))) return { close() {} };
  let isGrowing = true;
  let stopListening: (() => void) | undefined;
  let timer: Timer | undefined;
  const check = (): void => {
    const grows = 2 * young.bytes() <= BYTES_MAX;
    if (grows !== isGrowing) young.setGrowing(grows);
    isGrowing = grows;
    if (grows) {
      stopListening ??= young.onCollection(check);
    } else {
      stopListening?.();
      stopListening = undefined;
      timer = clock.setTimer(CHECK_MS, check);
    }
  };
  check();
  return {
    close() {
      timer?.cancel();
      stopListening?.();
    },
  };
}
