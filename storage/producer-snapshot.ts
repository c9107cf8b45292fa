// producer-state.snapshot: what a log knows of its producers, so that an opening need not read the log for it. FORMAT.md
// has the bytes: a CRC-32C and one MessagePack value, all numbers as int64. A snapshot that is missing, damaged or does
// not fit costs reading the headers of recent batches and nothing else.
import { join } from 'node:path';
import { crc32c } from './crc32c.ts';
import { StorageError } from './errors.ts';
import { PRODUCER_SNAPSHOT_FILE } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { MSGPACK_INT64, readInt64, viewOf, writeInt64 } from './frame.ts';
import { Prefix, writeArrayPrefix } from './message-pack.ts';
import { REMEMBERED_BATCHES, SEQUENCE_MAX, type SequencedBatch } from './producer-state.ts';
import type { KnownProducer, ProducerStates } from './producer-states.ts';
import { type Durability, readWholeFile, writeWholeFile } from './small-file.ts';

const SNAPSHOT_VERSION = 2;
/** Its producers lack what is known of the ends of their transactions. */
const SNAPSHOT_VERSION_WITHOUT_ENDS = 1;

export interface ProducerSnapshot {
  /** Leader epoch of the opening that wrote it. */
  readonly leaderEpoch: number;
  /** Batches below it are in it, those from it on are not. */
  readonly logEndOffset: number;
  readonly producers: readonly KnownProducer[];
}

/** A snapshot as bytes, taken at some moment and written when all that it speaks of is on disk. */
export interface ProducerImage {
  readonly logEndOffset: number;
  /** Every transaction that began below it had ended. */
  readonly stableOffset: number;
  readonly bytes: Buffer;
}

const CHECKSUM_BYTES = 4;
const INT64_BYTES = 9;
/** Of version, epoch, offset and the number of producers. */
const HEAD_BYTES_MAX = 1 + 3 * INT64_BYTES + 5;
const PRODUCER_FIELDS = 9;
const PRODUCER_FIELDS_WITHOUT_ENDS = 7;
const BATCH_FIELDS = 4;
const BATCH_BYTES = 1 + BATCH_FIELDS * INT64_BYTES;
const PRODUCER_BYTES_MAX = 1 + (PRODUCER_FIELDS - 1) * INT64_BYTES + 1 + REMEMBERED_BATCHES * BATCH_BYTES;
/** More than a store's producers ever take; what is larger is not ours. */
const SNAPSHOT_BYTES_MAX = 1024 * 1024 * 1024;

/** What `states` are now, when the log ends at `logEndOffset`. */
export function producerImage(
  states: ProducerStates,
  leaderEpoch: number,
  logEndOffset: number,
): ProducerImage {
  const bytes = Buffer.allocUnsafeSlow(CHECKSUM_BYTES + HEAD_BYTES_MAX + states.size * PRODUCER_BYTES_MAX);
  const view = viewOf(bytes);
  let at = writeArrayPrefix(bytes, view, CHECKSUM_BYTES, 4);
  const put = (value: number): void => {
    bytes[at] = MSGPACK_INT64;
    writeInt64(view, at + 1, value);
    at += INT64_BYTES;
  };
  put(SNAPSHOT_VERSION);
  put(leaderEpoch);
  put(logEndOffset);
  at = writeArrayPrefix(bytes, view, at, states.size);
  for (const state of states.all) {
    at = writeArrayPrefix(bytes, view, at, PRODUCER_FIELDS);
    put(state.producerId);
    put(state.epoch);
    put(state.usedAtMs);
    put(state.lastSequence);
    put(state.covered);
    put(states.transactionStartOf(state.producerId));
    put(state.coordinatorEpoch);
    put(state.controlOffset);
    const { batches } = state;
    at = writeArrayPrefix(bytes, view, at, batches.length);
    for (const { baseSequence, recordCount, baseOffset, maxTimestampMs } of batches) {
      at = writeArrayPrefix(bytes, view, at, BATCH_FIELDS);
      put(baseSequence);
      put(recordCount);
      put(baseOffset);
      put(maxTimestampMs);
    }
  }
  view.setUint32(0, crc32c(bytes, view, CHECKSUM_BYTES, at, 0));
  const stableOffset = Math.min(states.firstUnstableOffset, logEndOffset);
  return { logEndOffset, stableOffset, bytes: bytes.subarray(0, at) };
}

export function writeProducerSnapshot(
  fileSystem: FileSystem,
  directory: string,
  image: ProducerImage,
  durability: Durability,
): Promise<void> {
  return writeWholeFile(fileSystem, join(directory, PRODUCER_SNAPSHOT_FILE), image.bytes, durability);
}

/** Undefined when it is missing, damaged, or of another version. */
export async function readProducerSnapshot(
  fileSystem: FileSystem,
  directory: string,
): Promise<ProducerSnapshot | undefined> {
  const path = join(directory, PRODUCER_SNAPSHOT_FILE);
  const bytes = await readWholeFile(fileSystem, path, SNAPSHOT_BYTES_MAX);
  if (bytes === undefined || bytes.length < CHECKSUM_BYTES) return undefined;
  const view = viewOf(bytes);
  if (view.getUint32(0) !== crc32c(bytes, view, CHECKSUM_BYTES, bytes.length, 0)) return undefined;
  try {
    return readSnapshot(new SnapshotReader(view, CHECKSUM_BYTES));
  } catch (error) {
    // Values that nobody writes under a right checksum: a fault of the program that wrote them.
    if (error instanceof StorageError || error instanceof RangeError) return undefined;
    throw error;
  }
}

class SnapshotReader {
  readonly #view: DataView;
  readonly #prefix = new Prefix();
  #at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
  }

  array(lengthMax: number): number {
    this.#prefix.readArray(this.#view, this.#at);
    this.#at = this.#prefix.at;
    return within(this.#prefix.length, 0, lengthMax);
  }

  number(min: number, max: number): number {
    if (this.#view.getUint8(this.#at) !== MSGPACK_INT64) throw unfit('no int64');
    const value = readInt64(this.#view, this.#at + 1);
    this.#at += INT64_BYTES;
    return within(value, min, max);
  }

  offset(): number {
    return this.number(0, Number.MAX_SAFE_INTEGER);
  }

  get bytesLeft(): number {
    return this.#view.byteLength - this.#at;
  }
}

function readSnapshot(reader: SnapshotReader): ProducerSnapshot {
  reader.array(4);
  const hasEnds = reader.number(SNAPSHOT_VERSION_WITHOUT_ENDS, SNAPSHOT_VERSION) === SNAPSHOT_VERSION;
  const leaderEpoch = reader.number(0, 2 ** 32 - 1);
  const logEndOffset = reader.offset();
  const count = reader.array(reader.bytesLeft);
  const producers: KnownProducer[] = [];
  for (let index = 0; index < count; index++) producers.push(readProducer(reader, hasEnds));
  if (reader.bytesLeft !== 0) throw unfit('bytes behind the end');
  return { leaderEpoch, logEndOffset, producers };
}

function readProducer(reader: SnapshotReader, hasEnds: boolean): KnownProducer {
  const fields = hasEnds ? PRODUCER_FIELDS : PRODUCER_FIELDS_WITHOUT_ENDS;
  within(reader.array(fields), fields, fields);
  const producerId = reader.offset();
  const epoch = reader.number(0, 2 ** 15 - 1);
  const usedAtMs = reader.number(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  const lastSequence = reader.number(-1, SEQUENCE_MAX);
  const covered = reader.offset();
  const transactionStart = reader.number(-1, Number.MAX_SAFE_INTEGER);
  const coordinatorEpoch = hasEnds ? reader.number(-(2 ** 31), 2 ** 31 - 1) : -1;
  const controlOffset = hasEnds ? reader.number(-1, Number.MAX_SAFE_INTEGER) : -1;
  const batches: SequencedBatch[] = [];
  for (let left = reader.array(REMEMBERED_BATCHES); left > 0; left--) {
    reader.array(BATCH_FIELDS);
    batches.push({
      baseSequence: reader.number(0, SEQUENCE_MAX),
      recordCount: reader.number(1, 2 ** 32),
      baseOffset: reader.offset(),
      maxTimestampMs: reader.number(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    });
  }
  return {
    ...{ producerId, epoch, usedAtMs, lastSequence, covered, transactionStart },
    ...{ coordinatorEpoch, controlOffset, batches },
  };
}

function within(value: number, min: number, max: number): number {
  if (value < min || value > max) throw unfit(`${value} is not within ${min} and ${max}`);
  return value;
}

function unfit(message: string): StorageError {
  return new StorageError('corrupt', `producer snapshot: ${message}`);
}
