// xxHash32 with seed 0, for the header checksum of LZ4 frames: inputs below 16 bytes, so without its long loop.

const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;

/** Unsigned 32 bits. `end - start` must be below 16. */
export function xxh32(bytes: Buffer, start: number, end: number): number {
  let hash = (PRIME_5 + (end - start)) | 0;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(rotate(hash + Math.imul(bytes.readUInt32LE(at), PRIME_3), 17), PRIME_4);
  }
  for (; at < end; at++) {
    hash = Math.imul(rotate(hash + Math.imul(bytes[at]!, PRIME_5), 11), PRIME_1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
