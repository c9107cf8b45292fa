// What a start has found.

/** What opening the logs took. */
export interface Recovery {
  readonly durationMs: number;
  readonly partitions: number;
  readonly recoveredBytes: number;
  readonly cutBytes: number;
  readonly previousStopWasClean: boolean;
}
