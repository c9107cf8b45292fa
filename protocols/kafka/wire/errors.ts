// What the codec can find wrong. One class, so that a connection has one thing to catch.

export type WireErrorCode =
  /** The bytes are not what the schema says: a length beyond the end, a null that may not be, a bad varint. */
  | 'malformed'
  /** Well formed so far, but decoding it would take more memory than a request of its size may. */
  | 'too-large'
  /** The message has no such version. */
  | 'unsupported-version'
  /** The value cannot be written: out of the type's range, or set in a field that the version lacks. */
  | 'unrepresentable';

export class WireError extends Error {
  readonly code: WireErrorCode;

  constructor(code: WireErrorCode, message: string) {
    super(message);
    this.name = 'WireError';
    this.code = code;
  }
}

export function malformed(message: string): WireError {
  return new WireError('malformed', message);
}

export function unrepresentable(message: string): WireError {
  return new WireError('unrepresentable', message);
}
