// The map from key to latest offset against a map, its bound, and the hash under it against published vectors.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyHash } from '../../storage/key-hash.ts';
import { KeyOffsetMap, SLOT_BYTES } from '../../storage/key-offset-map.ts';

const SECRET = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function hashOf(hash: KeyHash, message: Uint8Array): string {
  hash.of(viewOf(message), 0, message.length);
  return [hash.a, hash.b, hash.c, hash.d].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(' ');
}

describe('the hash of keys', () => {
  it('is Chaskey: the first of the vectors that its authors published, for its version of eight rounds', () => {
    const key = Buffer.alloc(16);
    [0x833d3433, 0x009f389f, 0x2398e64f, 0x417acf39].forEach((word, index) => {
      key.writeUInt32LE(word, 4 * index);
    });
    const hash = new KeyHash(key, 8);
    const published = [
      '792e8fe5 75ce87aa 2d1450b5 1191970b',
      '13a9307b 50e62c89 4577bd88 c0bbdc18',
      '55df8922 2c7ff577 73809ef4 4e5084c0',
      '1bdbb264 a07680d8 8e5b2ab8 20660413',
    ];
    published.forEach((expected, length) => {
      expect(
        hashOf(
          hash,
          Uint8Array.from({ length }, (_, index) => index),
        ),
      ).toBe(expected);
    });
  });

  it('tells every message of up to three blocks from every other, zeros and all', () => {
    const hash = new KeyHash(SECRET);
    const seen = new Set<string>();
    for (let length = 0; length <= 48; length++) {
      for (const fill of [0, 1, 0x80]) seen.add(hashOf(hash, Buffer.alloc(length, fill)));
    }
    expect(seen.size).toBe(1 + 3 * 48);
  });

  it('is another one with another secret', () => {
    const other = Buffer.from(SECRET);
    other[15]! ^= 1;
    expect(hashOf(new KeyHash(SECRET), SECRET)).not.toBe(hashOf(new KeyHash(other), SECRET));
  });
});

describe('the map of latest offsets', () => {
  it('is a map, for keys and offsets of all sizes', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.uint8Array({ maxLength: 40 }),
            fc.oneof(fc.nat(100), fc.nat(Number.MAX_SAFE_INTEGER - 1)),
          ),
          { maxLength: 200 },
        ),
        (puts) => {
          const map = new KeyOffsetMap(1 << 20, puts.length, SECRET);
          const model = new Map<string, number>();
          for (const [key, offset] of puts) {
            expect(map.put(viewOf(key), 0, key.length, offset)).toBe(true);
            const name = Buffer.from(key).toString('hex');
            model.set(name, Math.max(offset, model.get(name) ?? -1));
          }
          expect(map.size).toBe(model.size);
          for (const [name, offset] of model) {
            const key = Buffer.from(name, 'hex');
            expect(map.latest(viewOf(key), 0, key.length)).toBe(offset);
          }
          const unknown = Buffer.alloc(41, 7);
          expect(map.latest(viewOf(unknown), 0, 41)).toBe(-1);
        },
      ),
      { numRuns: 200 },
    ));

  it('takes no more memory than it may, says when it is full, and still knows what it has', () => {
    const map = new KeyOffsetMap(100 * SLOT_BYTES, 1e9, SECRET);
    const keyOf = (index: number) => Buffer.from(`key-${index}`);
    let taken = 0;
    while (map.put(viewOf(keyOf(taken)), 0, keyOf(taken).length, taken)) taken++;
    expect(taken).toBe(75);
    expect(map.isFull).toBe(true);
    expect(map.put(viewOf(keyOf(3)), 0, keyOf(3).length, 1000)).toBe(true);
    expect(map.latest(viewOf(keyOf(3)), 0, keyOf(3).length)).toBe(1000);
    expect(map.latest(viewOf(keyOf(74)), 0, keyOf(74).length)).toBe(74);
    map.clear();
    expect(map.size).toBe(0);
    expect(map.latest(viewOf(keyOf(3)), 0, keyOf(3).length)).toBe(-1);
  });
});
