// Which records are asked for: those with a key, those that contain some bytes in key or value. Bytes are compared, no
// pattern is run: what a search costs depends on how much is read alone.
import type { RecordCursor } from '../../protocols/port.ts';

export class RecordFilter {
  readonly #key: Buffer | undefined;
  readonly #contains: Buffer | undefined;

  constructor(key: Buffer | undefined, contains: Buffer | undefined) {
    this.#key = key;
    this.#contains = contains?.length === 0 ? undefined : contains;
  }

  /** False when no record in these bytes can match: then nobody needs to step through them. */
  mayMatch(bytes: Buffer, start: number, end: number): boolean {
    if (this.#key === undefined && this.#contains === undefined) return true;
    const stored = bytes.subarray(start, end);
    if (this.#key !== undefined && !stored.includes(this.#key)) return false;
    return this.#contains === undefined || stored.includes(this.#contains);
  }

  /** Of the record that the cursor stands on. */
  matches(cursor: RecordCursor): boolean {
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = cursor;
    const key = this.#key;
    if (key !== undefined) {
      if (keyStart < 0 || keyEnd - keyStart !== key.length) return false;
      if (key.compare(bytes, keyStart, keyEnd) !== 0) return false;
    }
    const contains = this.#contains;
    if (contains === undefined) return true;
    if (valueStart >= 0 && bytes.subarray(valueStart, valueEnd).includes(contains)) return true;
    return keyStart >= 0 && bytes.subarray(keyStart, keyEnd).includes(contains);
  }
}
