// The one table from the store's errors to what the port says of them.
import type { ReadRefusal, Refusal, Refused } from '../../protocols/port.ts';
import { StorageError, type StorageErrorCode } from '../../storage/index.ts';

interface Meaning {
  readonly append: Refusal;
  readonly read: ReadRefusal;
}

const MEANINGS: Readonly<Record<StorageErrorCode, Meaning>> = {
  'offset-out-of-range': { append: 'storage', read: 'offset-out-of-range' },
  corrupt: { append: 'storage', read: 'storage' },
  'fenced-epoch': { append: 'fenced-epoch', read: 'storage' },
  'unknown-epoch': { append: 'unknown-epoch', read: 'storage' },
  sticky: { append: 'storage', read: 'storage' },
  // Nothing was appended: a client that tries again later is served.
  busy: { append: 'timeout', read: 'storage' },
  io: { append: 'storage', read: 'storage' },
  'disk-full': { append: 'disk-full', read: 'storage' },
  locked: { append: 'storage', read: 'storage' },
  'data-directory': { append: 'storage', read: 'storage' },
  format: { append: 'storage', read: 'storage' },
  // The log is closed when this node stops leading it, or stops altogether: ask again who leads.
  closed: { append: 'not-leader', read: 'not-leader' },
  deleted: { append: 'unknown-topic', read: 'unknown-topic' },
  'fenced-producer': { append: 'fenced-producer', read: 'storage' },
  'fenced-coordinator': { append: 'fenced-coordinator', read: 'storage' },
  'sequence-gap': { append: 'gap', read: 'storage' },
  'old-duplicate': { append: 'duplicate', read: 'storage' },
  'invalid-transaction': { append: 'invalid-transaction', read: 'storage' },
  'record-too-large': { append: 'too-large', read: 'storage' },
};

export function refusalOf(error: StorageError): Refused {
  return { refused: MEANINGS[reasonOf(error)].append, message: error.message };
}

/** A log that met a full disk comes back when there is room: it is refused as a disk that is full. */
function reasonOf({ code, cause }: StorageError): StorageErrorCode {
  const isFull = code === 'sticky' && cause instanceof StorageError && cause.code === 'disk-full';
  return isFull ? 'disk-full' : code;
}

export function readRefusalOf(error: StorageError): {
  readonly refused: ReadRefusal;
  readonly message: string;
} {
  return { refused: MEANINGS[error.code].read, message: error.message };
}
