// Waits no longer than a client asked to: the work goes on, only its answer stops waiting for it.

import type { Clock } from '../port.ts';

export type Deadline = 'deadline';

/** @param timeoutMs 0 and below = as long as it takes. */
export async function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  work: Promise<T>,
): Promise<T | Deadline> {
  if (timeoutMs <= 0) return work;
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(timeoutMs, () => resolve('deadline'));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
