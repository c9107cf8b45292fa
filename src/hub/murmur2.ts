// murmur2 as Kafka's default partitioner computes it: 32 bits, little-endian words, seed 0x9747b28c. The same key
// lands on the same partition whether a Kafka client or the hub chooses it.

const SEED = 0x9747b28c | 0;
const MULTIPLIER = 0x5bd1e995 | 0;
const ROTATION_BITS = 24;

/** Signed 32-bit hash of `bytes`. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  let hash = SEED ^ length;
  let position = 0;
  for (; position + 4 <= length; position += 4) {
    let word =
      bytes[position]! |
      (bytes[position + 1]! << 8) |
      (bytes[position + 2]! << 16) |
      (bytes[position + 3]! << 24);
    word = Math.imul(word, MULTIPLIER);
    word ^= word >>> ROTATION_BITS;
    word = Math.imul(word, MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  const rest = length - position;
  if (rest > 0) {
    if (rest === 3) hash ^= bytes[position + 2]! << 16;
    if (rest >= 2) hash ^= bytes[position + 1]! << 8;
    hash = Math.imul(hash ^ bytes[position]!, MULTIPLIER);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, MULTIPLIER);
  return hash ^ (hash >>> 15);
}

/** Partition of a key: the hash without its sign, modulo the number of partitions. */
export function partitionOfKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
