// The record of a control batch: how a producer's transaction ended. The batch says whose it was, and whether it was
// aborted; the record's value says the rest. Its key is null.
//
//   value  coordinator epoch i32 | first offset of the transaction in this log i64, −1 = none was open
//          | last stable offset behind it i64
//
// So every control batch tells by itself which records it is about, and which transactions were over by then: all that
// began below its last stable offset.
import { BATCH_FRAME_BYTES, BATCH_RECORD_COUNT_AT, readInt64, viewOf, writeInt64 } from './frame.ts';

const FIRST_OFFSET_AT = 4;
const STABLE_OFFSET_AT = FIRST_OFFSET_AT + 8;
const CONTROL_VALUE_BYTES = STABLE_OFFSET_AT + 8;

export interface ControlRecord {
  readonly coordinatorEpoch: number;
  /** −1 = no transaction was open. */
  readonly firstOffset: number;
  /** First offset of the oldest transaction that was open behind it, else one past the control batch. */
  readonly stableOffset: number;
}

/** The value as it is stored. */
export function controlValue(record: ControlRecord): Buffer {
  const value = Buffer.alloc(CONTROL_VALUE_BYTES);
  const view = viewOf(value);
  view.setInt32(0, record.coordinatorEpoch);
  writeInt64(view, FIRST_OFFSET_AT, record.firstOffset);
  writeInt64(view, STABLE_OFFSET_AT, record.stableOffset);
  return value;
}

/**
 * Of the control batch at `at`, which is `byteLength` long and whole. Undefined when its record has another value: no
 * transaction was ever ended by such a batch.
 */
export function controlRecordOf(view: DataView, at: number, byteLength: number): ControlRecord | undefined {
  // The value ends the record's frame, which ends the batch, and its length stands before it.
  const valueAt = at + byteLength - CONTROL_VALUE_BYTES;
  const isOurs =
    view.getUint32(at + BATCH_RECORD_COUNT_AT) === 1 &&
    valueAt - 4 > at + BATCH_FRAME_BYTES &&
    view.getUint32(valueAt - 4) === CONTROL_VALUE_BYTES;
  return isOurs ? recordAt(view, valueAt) : undefined;
}

function recordAt(view: DataView, at: number): ControlRecord {
  return {
    coordinatorEpoch: view.getInt32(at),
    firstOffset: readInt64(view, at + FIRST_OFFSET_AT),
    stableOffset: readInt64(view, at + STABLE_OFFSET_AT),
  };
}
