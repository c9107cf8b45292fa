// Work on many items at once.
import { expect, test } from 'vitest';
import { mapConcurrently } from '../../../src/hub/concurrently.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('results are in the order of the items, whichever is ready first, and no more than so many are begun', async () => {
  let running = 0;
  let runningMax = 0;
  const doubled = await mapConcurrently([5, 1, 3, 0, 2], 2, async (turns) => {
    runningMax = Math.max(runningMax, ++running);
    for (let done = 0; done < turns; done++) await turn();
    running--;
    return turns * 2;
  });
  expect(doubled).toEqual([10, 2, 6, 0, 4]);
  expect(runningMax).toBe(2);
});

test('after a failure nothing more is begun', async () => {
  const begun: number[] = [];
  const work = mapConcurrently([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    await turn();
    if (item === 1) throw new Error('the first');
  });
  await expect(work).rejects.toThrow('the first');
  await turn();
  expect(begun).toEqual([1, 2]);
});
