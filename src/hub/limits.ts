// The hub's bounds: each number has its unit and its reason here.

/** One batch at most, as it is stored. Far above what front ends take, far below what the store can hold. */
export const BATCH_BYTES_MAX = 256 * 1024 * 1024;

/** Partitions of all topics together: each costs a handle, an entry in the MetaStore and a folder. */
export const PARTITIONS_MAX = 200_000;

/** Partitions that are opened at the same time: enough to keep the disk busy, few enough to keep memory small. */
export const OPENING_MAX = 32;

/** Numbers taken from the MetaStore at a time. Log ids are u32, which lasts for 16 million restarts of these. */
export const PRODUCER_ID_BLOCK = 1000;
export const LOG_ID_BLOCK = 256;

/** Stored bytes that a follower is handed at once unless it asks for less or more. */
export const FOLLOW_BYTES = 1024 * 1024;

/** Ranges that a follower handles before others get their turn: reads from memory would never pause. */
export const FOLLOW_RANGES_PER_TURN = 16;

/** A follower whose read failed tries again after the first delay, then twice as long, up to the last. */
export const FOLLOW_RETRY_DELAY_MIN_MS = 1000;
export const FOLLOW_RETRY_DELAY_MAX_MS = 30_000;

/** A partition whose log met a full disk is opened again when this is free, which is enough for it to open … */
export const REOPENING_FREE_BYTES = 8 * 1024 * 1024;

/** … and is tried after the first delay, then, when it does not open, twice as long after that, up to the last. */
export const REOPENING_DELAY_MIN_MS = 1000;
export const REOPENING_DELAY_MAX_MS = 60_000;
