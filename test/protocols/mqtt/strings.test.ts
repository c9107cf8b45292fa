// Strings of MQTT against a strict UTF-8 decoder.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMqttUtf8 } from '../../../protocols/mqtt/packets/utf8.ts';

const accepts = (bytes: Buffer, controls: 'allowed' | 'refused' = 'allowed') =>
  isMqttUtf8(bytes, 0, bytes.length, controls);
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Node's own strict decoder, and MQTT's one rule beyond it. */
function oracle(bytes: Buffer): boolean {
  try {
    return !decoder.decode(bytes).includes('\0');
  } catch {
    return false;
  }
}

describe('strings of MQTT (section 1.5.4) [FAULTS 49]', () => {
  it('are those that a strict decoder takes, without U+0000', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      fc
        .array(fc.nat(0x10ffff), { maxLength: 6 })
        .map((points) => new Uint8Array(Buffer.from(String.fromCodePoint(...points)))),
      // Bytes at the borders of the ranges that count.
      fc
        .array(
          fc.constantFrom(
            0x00,
            0x41,
            0x7f,
            0x80,
            0x9f,
            0xa0,
            0xbf,
            0xc1,
            0xc2,
            0xdf,
            0xe0,
            0xed,
            0xef,
            0xf0,
            0xf4,
            0xf5,
          ),
          { maxLength: 5 },
        )
        .map((array) => Uint8Array.from(array)),
    );
    fc.assert(
      fc.property(bytes, (array) => accepts(Buffer.from(array)) === oracle(Buffer.from(array))),
      { numRuns: 700 },
    );
  });

  it.each([
    ['a lone surrogate', 'eda080'],
    ['the last surrogate', 'edbfbf'],
    ['an overlong slash', 'c0af'],
    ['above U+10FFFF', 'f4908080'],
    ['a sequence cut short', 'e282'],
    ['U+0000', '6100'],
  ])('%s is none', (_what, text) => {
    expect(accepts(hex(text))).toBe(false);
  });

  it('may hold a byte order mark and any plane [MQTT-1.5.4-3]', () => {
    expect(accepts(Buffer.from('\ufeffa\u{1f600}'))).toBe(true);
  });

  it('of names hold no control characters', () => {
    for (const text of ['\u0001', '\u001f', '\u007f', '\u0080', '\u009f', 'a\nb']) {
      expect(accepts(Buffer.from(text), 'refused')).toBe(false);
      expect(accepts(Buffer.from(text), 'allowed')).toBe(true);
    }
    expect(accepts(Buffer.from(' ~\u00a0ü'), 'refused')).toBe(true);
  });

  it('are read within their bounds only', () => {
    const bytes = hex('ff 41 e2 82 ac ff');
    expect(isMqttUtf8(bytes, 1, 5)).toBe(true);
    expect(isMqttUtf8(bytes, 1, 4)).toBe(false);
  });
});
