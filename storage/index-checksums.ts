// Checks of the index's rows. An entry that leads to the wrong place is found out by whoever follows it, but what a row
// says of times is believed: so every row has a checksum of its key and its value, since LevelDB does not check what it
// reads. A row that is damaged reads as an empty one, which says nothing; the store then drops all rows of its segment, to
// be made anew.
import { crc32c } from './crc32c.ts';
import type { Log } from './environment.ts';
import { StorageError } from './errors.ts';
import { viewOf } from './frame.ts';
import { type IndexDatabase, type IndexRow, openLevelIndex } from './index-database.ts';
import { indexKey, SPACES } from './offset-index.ts';

const CHECKSUM_BYTES = 4;
const NOTHING = Buffer.alloc(0);
/** Where keys name the log and the segment: see `indexKey`. */
const SEGMENT_AT = 1;
const SEGMENT_END = SEGMENT_AT + 4 + 8;

/** Opens the index of a data directory. @throws StorageError locked, io */
export async function openCheckedIndex(directory: string, log: Log): Promise<IndexDatabase> {
  const onDamage = (error: unknown): void => log.warn('index.damaged', { directory, error });
  const database = await openLevelIndex(directory, onDamage);
  return withChecksums(database, (key) => {
    onDamage(new StorageError('corrupt', `the row ${key.toString('hex')} does not match its checksum`));
    dropSegmentOf(database, key).catch(onDamage);
  });
}

/** @param onDamage called with the key of a row that is damaged, each time that it is read */
export function withChecksums(database: IndexDatabase, onDamage: (key: Buffer) => void): IndexDatabase {
  const checked = (key: Buffer, stored: Buffer): Buffer => {
    const value = stored.subarray(0, Math.max(0, stored.length - CHECKSUM_BYTES));
    const isGood =
      stored.length >= CHECKSUM_BYTES && stored.readUInt32BE(value.length) === checksumOf(key, value);
    if (isGood) return value;
    onDamage(key);
    return NOTHING;
  };
  return {
    put: (rows) => database.put(rows.map(withChecksum)),
    get: async (key) => {
      const stored = await database.get(key);
      return stored === undefined ? undefined : checked(key, stored);
    },
    getMany: async (keys) => {
      const stored = await database.getMany(keys);
      return stored.map((value, index) => (value === undefined ? undefined : checked(keys[index]!, value))); // one each
    },
    floor: async (low, high) => {
      const row = await database.floor(low, high);
      return row === undefined ? undefined : { key: row.key, value: checked(row.key, row.value) };
    },
    clear: (low, high) => database.clear(low, high),
    close: () => database.close(),
  };
}

function withChecksum({ key, value }: IndexRow): IndexRow {
  const stored = Buffer.allocUnsafe(value.length + CHECKSUM_BYTES);
  value.copy(stored);
  stored.writeUInt32BE(checksumOf(key, value), value.length);
  return { key, value: stored };
}

function checksumOf(key: Buffer, value: Buffer): number {
  return crc32c(value, viewOf(value), 0, value.length, crc32c(key, viewOf(key), 0, key.length, 0));
}

/** Removes all rows of the segment that a row is of. */
async function dropSegmentOf(database: IndexDatabase, key: Buffer): Promise<void> {
  for (const space of SPACES) {
    const low = indexKey(space, 0, 0, 0, 0);
    const high = indexKey(space, 0, 0, 0xffffffff, 0xffffffff);
    if (key.length !== low.length) return;
    key.copy(low, SEGMENT_AT, SEGMENT_AT, SEGMENT_END);
    key.copy(high, SEGMENT_AT, SEGMENT_AT, SEGMENT_END);
    await database.clear(low, high);
  }
}
