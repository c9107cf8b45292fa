// Work on many items, a bounded number of them at a time.

/** Starts `each` for the items in their order, at most `max` at once; resolves when all are done. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  max: number,
  each: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) await each(items[index]!);
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, work));
}
