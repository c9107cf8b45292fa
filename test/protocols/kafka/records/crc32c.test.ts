// The two ways to a checksum agree at every length, and with RFC 3720, appendix B.4.

import { randomBytes } from 'node:crypto';
import { crc32c as nativeCrc32c } from '@node-rs/crc32';
import { expect, it } from 'vitest';
import { crc32c } from '../../../../protocols/kafka/records/crc32c.ts';

it('agrees with the native function at every length', () => {
  const bytes = randomBytes(800);
  for (let length = 0; length <= 700; length++) {
    const start = length % 13;
    expect(crc32c(bytes, start, start + length)).toBe(nativeCrc32c(bytes.subarray(start, start + length)));
  }
});

it.each([
  ['zeros', Buffer.alloc(32), 0x8a9136aa],
  ['ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
  ['ascending', Buffer.from(Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e],
])('gives the published checksum of %s', (_, bytes, checksum) => {
  expect(crc32c(bytes, 0, bytes.length)).toBe(checksum);
});
