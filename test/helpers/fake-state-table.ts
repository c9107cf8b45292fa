// State tables in memory for tests of a front end: what was written is there when the table is opened again, and whether a
// write succeeds is the test's to say.
import type {
  Refused,
  StatePartitionState,
  StateRecord,
  StateTable,
  StateTableOptions,
} from '../../protocols/port.ts';
import { partitionOfKey } from '../../src/hub/murmur2.ts';

const PARTITIONS = 4;
/** Of one stretch. */
const SCAN_RECORDS = 16;

/** What the disk holds: the records of each partition, by offset. */
export class FakeStateLog {
  readonly partitions: StateRecord[][] = Array.from({ length: PARTITIONS }, () => []);
  /** Why writes are refused from now on. */
  refusal: Refused | undefined;
  /** When set, writes wait for it. */
  gate: Promise<void> | undefined;
  /** How often a record, and a stretch of the log, was read back. */
  reads = 0;
  scans = 0;

  /** What compaction would leave: the last record of each key that is no tombstone. */
  get live(): Map<string, Buffer> {
    const live = new Map<string, Buffer>();
    for (const { key, value } of this.partitions.flat()) {
      if (value === null) live.delete(key.toString('latin1'));
      else live.set(key.toString('latin1'), value);
    }
    return live;
  }
}

export function openFakeStateTable(
  log: FakeStateLog,
  options: StateTableOptions,
  now: () => number,
): StateTable {
  const apply = (partition: number, { key, value }: StateRecord, offset: number) =>
    options.apply(partition, Buffer.from(key), value && Buffer.from(value), offset, now());
  for (const [partition, records] of log.partitions.entries()) {
    options.onState?.(partition, 'loading');
    for (const [offset, record] of records.entries()) apply(partition, record, offset);
    options.onState?.(partition, 'serving');
  }
  return {
    topic: options.topic,
    partitions: PARTITIONS,
    partitionOf: (id) => partitionOfKey(Buffer.from(id), PARTITIONS),
    stateOf: (): StatePartitionState => 'serving',
    read: async (partition, offset) => {
      log.reads++;
      return log.partitions[partition]?.[offset];
    },
    scan: async (partition, fromOffset, _maxBytes, onRecord) => {
      log.scans++;
      const records = log.partitions[partition] ?? [];
      const end = Math.min(records.length, fromOffset + SCAN_RECORDS);
      for (let offset = fromOffset; offset < end; offset++) {
        const { key, value } = records[offset]!; // below the length
        onRecord(Buffer.from(key), value && Buffer.from(value), offset);
      }
      return end;
    },
    write: async (partition, records) => {
      if (records.length === 0) return undefined;
      // Offsets are those of the order of the calls, as in a log.
      const { refusal, gate } = log;
      if (refusal !== undefined) return refusal;
      const written = log.partitions[partition] as StateRecord[]; // one of PARTITIONS
      const baseOffset = written.length;
      const copies = records.map(({ key, value }) => ({
        key: Buffer.from(key),
        value: value && Buffer.from(value),
      }));
      written.push(...copies);
      await gate;
      for (const [index, record] of copies.entries()) apply(partition, record, baseOffset + index);
      return undefined;
    },
  };
}
