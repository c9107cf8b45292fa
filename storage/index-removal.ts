// Removes the index entries of logs that are deleted. Thousands of topics may go at once, and each range that LevelDB is
// asked to clear is a job for one of libuv's four threads, which appends need too: so one is asked for at a time, and
// what comes together and has neighbouring log ids goes in one.

import { CoalescedWork } from './coalesced-work.ts';
import type { IndexDatabase } from './index-database.ts';
import { clearLogs } from './offset-index.ts';

export class IndexRemoval {
  readonly #removing: CoalescedWork;
  #waiting: number[] = [];

  constructor(database: IndexDatabase) {
    this.#removing = new CoalescedWork(async () => {
      const logIds = this.#waiting.sort((a, b) => a - b);
      this.#waiting = [];
      for (const [first, last] of rangesOf(logIds)) await clearLogs(database, first, last);
    });
  }

  /** Nobody uses the entries any more. Resolves when they are gone. */
  remove(logIds: Iterable<number>): Promise<void> {
    for (const logId of logIds) this.#waiting.push(logId);
    return this.#removing.run();
  }
}

/** @param logIds rising */
function rangesOf(logIds: readonly number[]): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (const logId of logIds) {
    const range = ranges.at(-1);
    if (range !== undefined && logId <= range[1] + 1) range[1] = logId;
    else ranges.push([logId, logId]);
  }
  return ranges;
}
