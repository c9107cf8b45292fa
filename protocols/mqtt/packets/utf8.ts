// MQTT's UTF-8 strings (section 1.5.4): well-formed, no surrogates [MQTT-1.5.4-1], no U+0000 [MQTT-1.5.4-2].
// Node's own decoder replaces what is ill-formed instead of saying so.

/** Names and identifiers end up in logs, consoles and file lists; free text may hold a line break. */
export type ControlCharacters = 'allowed' | 'refused';

/**
 * @param controls whether U+0001–U+001F and U+007F–U+009F pass; a receiver may refuse them (section 1.5.4).
 */
export function isMqttUtf8(
  bytes: Uint8Array,
  start: number,
  end: number,
  controls: ControlCharacters = 'allowed',
): boolean {
  const lowest = controls === 'allowed' ? 0x01 : 0x20;
  const delete_ = controls === 'allowed' ? 0x80 : 0x7f;
  let at = start;
  while (at < end) {
    const byte = bytes[at]!;
    if (byte < delete_) {
      if (byte < lowest) return false;
      at++;
      continue;
    }
    const length = sequenceLength(bytes, at, end);
    if (length === 0) return false;
    // U+0080–U+009F are C2 80 – C2 9F.
    if (byte === 0xc2 && controls === 'refused' && bytes[at + 1]! < 0xa0) return false;
    at += length;
  }
  return true;
}

/** Bytes of the multi-byte sequence at `at`, 0 when it is none (Unicode 15, table 3-7). */
function sequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at]!;
  if (first >= 0xc2 && first <= 0xdf) return continues(bytes, at + 1, 1, end, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    // E0 A0…: not overlong. ED …9F: no surrogate.
    const low = first === 0xe0 ? 0xa0 : 0x80;
    const high = first === 0xed ? 0x9f : 0xbf;
    return continues(bytes, at + 1, 2, end, low, high) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    // F0 90…: not overlong. F4 …8F: not above U+10FFFF.
    const low = first === 0xf0 ? 0x90 : 0x80;
    const high = first === 0xf4 ? 0x8f : 0xbf;
    return continues(bytes, at + 1, 3, end, low, high) ? 4 : 0;
  }
  return 0;
}

/** `count` continuation bytes from `at`, the first of them between `low` and `high`. */
function continues(
  bytes: Uint8Array,
  at: number,
  count: number,
  end: number,
  low: number,
  high: number,
): boolean {
  if (at + count > end) return false;
  const second = bytes[at]!;
  if (second < low || second > high) return false;
  for (let next = at + 1; next < at + count; next++) {
    if ((bytes[next]! & 0xc0) !== 0x80) return false;
  }
  return true;
}
