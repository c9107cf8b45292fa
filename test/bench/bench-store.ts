// A store on a directory of its own, with the real clock, for the benchmarks of storage/.
import { join } from 'node:path';
import { type LogStore, openLogStore } from '../../storage/index.ts';

export const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (delayMs: number, callback: () => void) => {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** What goes well is not told. */
const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };

let uuids = 0;

type StoreOptions = Parameters<typeof openLogStore>[0];

/** Its data lies in `data/` of the directory. */
export function openBenchStore(directory: string, more: Partial<StoreOptions> = {}): Promise<LogStore> {
  return openLogStore({
    ...{ directory: join(directory, 'data'), nodeId: 1, clock, log },
    random: { uuid: () => `00000000-0000-4000-8000-${String(++uuids).padStart(12, '0')}` },
    ...more,
  });
}
