// How many partitions one request may ask about where each is answered on its own, whether it exists or not: an index is
// four bytes, an answer a hundred.

const ASKED_PARTITIONS_MAX = 200_000;

/** @param counts of partitions, topic by topic. */
export function asksTooMuch(counts: Iterable<number>): boolean {
  let asked = 0;
  for (const count of counts) asked += count;
  return asked > ASKED_PARTITIONS_MAX;
}

export const TOO_MUCH_ASKED = `more than ${ASKED_PARTITIONS_MAX} partitions in one request`;
