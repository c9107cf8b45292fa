// A configuration could not be put into effect, and some of it is in effect all the same: it cannot be taken back.
export class PartlyAppliedError extends Error {
  readonly code = 'partly-applied';
  /** Keys, as messages have them: `topic.telemetry`. */
  readonly applied: readonly string[];

  constructor(message: string, applied: readonly string[], cause: unknown) {
    super(message, { cause });
    this.name = 'PartlyAppliedError';
    this.applied = applied;
  }
}
