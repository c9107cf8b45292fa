// What the store refuses or reports, as one error class with a code, and the assertion for what cannot happen.

/**
 * - `offset-out-of-range`: below the log start or above the bound of the read.
 * - `corrupt`: stored bytes do not match their checksum or their grammar; the partition takes no appends any more.
 * - `fenced-epoch`, `unknown-epoch`: the caller's leader epoch is older, or newer, than the log's.
 * - `sticky`: an earlier write or flush of this partition failed or hung; it takes no appends until reopened.
 * - `busy`: too many bytes wait for the disk; nothing was appended, try again later.
 * - `io`: the file system failed; `cause` is its error.
 * - `disk-full`: no room on the disk (ENOSPC, EDQUOT) or less than the reserve.
 * - `locked`: another process has the data directory open.
 * - `data-directory`: it is a file, or not writable, or belongs to another node.
 * - `format`: written by a newer version, or not by this program.
 * - `closed`, `deleted`: the partition is closed, its topic is deleted.
 * - `fenced-producer`: the producer has written with a higher epoch.
 * - `fenced-coordinator`: a later coordinator has ended a transaction of the producer.
 * - `sequence-gap`: the batch is not the producer's next one: something before it is missing.
 * - `old-duplicate`: the batch was appended before, and where has been forgotten.
 * - `invalid-transaction`: the producer has a transaction open that the batch is not part of.
 * - `record-too-large`: a batch would pass BATCH_BYTES_MAX (limits.ts).
 */
export type StorageErrorCode =
  | 'offset-out-of-range'
  | 'corrupt'
  | 'fenced-epoch'
  | 'unknown-epoch'
  | 'sticky'
  | 'busy'
  | 'io'
  | 'disk-full'
  | 'locked'
  | 'data-directory'
  | 'format'
  | 'closed'
  | 'deleted'
  | 'fenced-producer'
  | 'fenced-coordinator'
  | 'sequence-gap'
  | 'old-duplicate'
  | 'invalid-transaction'
  | 'record-too-large';

export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StorageError';
    this.code = code;
  }
}

/** The file system's error as ours: `disk-full` when the disk is, else `io`. A StorageError stays what it is. */
export function storageErrorOf(error: unknown, doing: string): StorageError {
  if (error instanceof StorageError) return error;
  const code = errorCodeOf(error);
  const reason = error instanceof Error ? error.message : String(error);
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new StorageError(full ? 'disk-full' : 'io', `${doing}: ${reason}`, error);
}

/** The `code` of an error of node (`ENOENT`, …), or undefined. */
export function errorCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** For what cannot happen unless this program is wrong. */
export function assert(condition: boolean, fact: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${fact}`);
}
