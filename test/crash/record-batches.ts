// Decodes what Fetch hands over, by the letter of Kafka's record batch, version 2, and as its consumers do it.
export interface FetchedRecord {
  readonly offset: number;
  readonly value: string;
}

export interface FetchedBatch {
  readonly baseOffset: number;
  readonly nextOffset: number;
  readonly producerId: number;
  readonly isTransactional: boolean;
  /** What a control batch does; undefined = it has records of applications. */
  readonly marker: 'commit' | 'abort' | undefined;
  readonly records: readonly FetchedRecord[];
}

export function decodeBatches(bytes: Buffer): FetchedBatch[] {
  const batches: FetchedBatch[] = [];
  for (let at = 0; at + 61 <= bytes.length; at += 12 + bytes.readInt32BE(at + 8))
    batches.push(decodeBatch(bytes.subarray(at, at + 12 + bytes.readInt32BE(at + 8))));
  return batches;
}

function decodeBatch(bytes: Buffer): FetchedBatch {
  const baseOffset = Number(bytes.readBigInt64BE(0));
  const attributes = bytes.readInt16BE(21);
  let at = 61;
  const varint = (): number => {
    let [value, shift] = [0, 1];
    for (;;) {
      const byte = bytes[at++]!; // within, or the batch is wrong
      value += (byte & 0x7f) * shift;
      shift *= 128;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  };
  const slice = (): Buffer => {
    const length = Math.max(0, varint());
    at += length;
    return bytes.subarray(at - length, at);
  };
  const records: FetchedRecord[] = [];
  let marker: 'commit' | 'abort' | undefined;
  for (let left = bytes.readInt32BE(57); left > 0; left--) {
    const end = varint() + at;
    at++; // attributes
    varint(); // timestamp
    const offset = baseOffset + varint();
    const key = slice();
    if ((attributes & 0x20) !== 0) marker = key.readInt16BE(2) === 1 ? 'commit' : 'abort';
    else records.push({ offset, value: slice().toString() });
    at = end;
  }
  const producerId = Number(bytes.readBigInt64BE(43));
  const nextOffset = baseOffset + bytes.readInt32BE(23) + 1;
  return { baseOffset, nextOffset, producerId, isTransactional: (attributes & 0x10) !== 0, marker, records };
}

/** What a consumer of committed records hands on: batches of a producer are void from where it is told to its marker. */
export function committedRecords(
  batches: readonly FetchedBatch[],
  aborted: readonly { readonly producerId: number; readonly firstOffset: number }[],
  fromOffset: number,
): FetchedRecord[] {
  const left = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
  const voided = new Set<number>();
  const records: FetchedRecord[] = [];
  for (const { nextOffset, producerId, isTransactional, marker, records: ofBatch } of batches) {
    while (left[0] !== undefined && left[0].firstOffset < nextOffset) voided.add(left.shift()!.producerId);
    if (marker === 'abort') voided.delete(producerId);
    if (marker === undefined && !(isTransactional && voided.has(producerId))) records.push(...ofBatch);
  }
  return records.filter(({ offset }) => offset >= fromOffset);
}
