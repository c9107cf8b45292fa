// Work on many items, a bounded number of them at a time.

/**
 * Starts `each` for the items in their order, at most `max` at once; the results are in the order of the items. The
 * first failure is thrown, and nothing more is begun.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  max: number,
  each: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let hasFailed = false;
  const work = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      try {
        results[index] = await each(items[index]!);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, work));
  return results;
}
