// The known word that a mistyped one was most likely meant to be.

/** Undefined when nothing is near: a wrong suggestion is worse than none. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return (
    best ??
    known.find((candidate) => sameWords(candidate, word)) ??
    known.find((candidate) => begins(candidate, word))
  );
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(left: string, right: string): number {
  // A key of any length may come from the environment; past this it resembles nothing.
  if (left.length > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, beforeLast[column - 2]! + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length]!;
}

/** `packet_max_size` for `max_packet_size`. */
function sameWords(left: string, right: string): boolean {
  const words = (key: string) => key.toLowerCase().split(/[._-]/).sort().join(' ');
  return words(left) === words(right);
}

/** `keepalive` for `keepalive_max`, and the other way round. */
function begins(left: string, right: string): boolean {
  const [short, long] = [left.toLowerCase(), right.toLowerCase()].sort(
    (one, other) => one.length - other.length,
  );
  return short!.length >= 4 && long!.startsWith(short!);
}
