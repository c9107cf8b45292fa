// Zigzag varints, as record batches use them: the sign in the lowest bit, seven bits a byte, lowest first.
// (Message fields use unsigned varints: see reader and writer.)

/** Bytes that an int32 takes as a zigzag varint. */
export function varintByteLength(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x20_0000) return 3;
  return zigzag < 0x1000_0000 ? 4 : 5;
}

/** Writes an int32 at `at` and returns the position behind it. The room must be there: up to 5 bytes. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

/** Whether `value` is small enough for the int32 functions to treat it as a varlong too. */
function isInt32(value: number): boolean {
  return (value | 0) === value;
}

/** Bytes that a safe integer takes as a zigzag varlong. */
export function varlongByteLength(value: number): number {
  if (isInt32(value)) return varintByteLength(value);
  let rest = zigzagBigInt(value);
  let byteLength = 1;
  while (rest > 0x7fn) {
    byteLength++;
    rest >>= 7n;
  }
  return byteLength;
}

/** Writes a safe integer at `at` and returns the position behind it. The room must be there: up to 10 bytes. */
export function writeVarlong(bytes: Uint8Array, at: number, value: number): number {
  if (isInt32(value)) return writeVarint(bytes, at, value);
  let rest = zigzagBigInt(value);
  while (rest > 0x7fn) {
    bytes[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  bytes[at++] = Number(rest);
  return at;
}

// Timestamp deltas beyond 24 days are rare, so BigInt is good enough for them.
function zigzagBigInt(value: number): bigint {
  const wide = BigInt(value);
  return BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
}
