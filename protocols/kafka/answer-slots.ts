// The answers of one connection that are still to be written, in the order of their requests.
import type { Histogram } from '../port.ts';
import type { Api, WriteAnswer } from './api.ts';

/** The place of one answer in the line. */
export interface Slot {
  readonly correlationId: number;
  readonly timings: Histogram;
  readonly takenAtMs: number;
  /** Undefined until the request has taken effect. */
  write: WriteAnswer | undefined;
  isReady: boolean;
  result: unknown;
  afterwards: (() => void) | undefined;
}

export function newSlot(correlationId: number, timings: Histogram, takenAtMs: number): Slot {
  return {
    correlationId,
    timings,
    takenAtMs,
    write: undefined,
    isReady: false,
    result: undefined,
    afterwards: undefined,
  };
}

/** Requests that took effect and wait for the same promises, as those of one group commit do. */
export interface Waiting {
  readonly api: Api;
  readonly ready: Promise<unknown>;
  readonly settled: Promise<unknown>;
  readonly slots: Slot[];
  heldBytes: number;
}
