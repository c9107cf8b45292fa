// What can be wrong with record batches that a client sent. The wire codes are in error-codes.ts.

export type RecordsErrorCode =
  /** Size or checksum is wrong: damaged on the way. */
  | 'corrupt-batch'
  /** The batch is whole, but what it says is not a legal batch. */
  | 'invalid-record'
  /** A message set of format 0 or 1, from before Kafka 0.11. */
  | 'legacy-format'
  | 'unsupported-compression'
  | 'invalid-timestamp'
  /** Larger than allowed, as sent or after decompression. */
  | 'too-large';

/** One record at fault within a batch that is refused for it (KIP-467). */
export interface RecordFault {
  readonly recordIndex: number;
  readonly message: string;
}

export class RecordsError extends Error {
  readonly code: RecordsErrorCode;
  readonly faults: readonly RecordFault[];

  constructor(
    code: RecordsErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly faults?: readonly RecordFault[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RecordsError';
    this.code = code;
    this.faults = options.faults ?? [];
  }
}

export function corruptBatch(message: string): RecordsError {
  return new RecordsError('corrupt-batch', message);
}

export function invalidRecord(message: string, cause?: unknown): RecordsError {
  return new RecordsError('invalid-record', message, { cause });
}

export function tooLarge(message: string): RecordsError {
  return new RecordsError('too-large', message);
}
