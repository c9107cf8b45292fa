// The store's bounds: each number has its unit and its reason here.

/** One batch at most, its frame included. Lengths are u32 and offsets within a Buffer must stay below 2^31. */
export const BATCH_BYTES_MAX = 1024 * 1024 * 1024;

/** Positions in a segment are u32 in the index; Kafka's `segment.bytes` is an int32 as well. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;

/** First chunk of a partition that was quiet: small, because most partitions are quiet. */
export const CHUNK_BYTES_MIN = 16 * 1024;

/** Chunks double up to this; large enough that a chunk's end is rare, small enough to be evicted one by one. */
export const CHUNK_BYTES_MAX = 1024 * 1024;

/** A shared batch (PartitionLog.join) is sealed at this size … */
export const SHARED_BATCH_BYTES_MAX = 64 * 1024;

/** … or this many records, so that a reader of one record never decodes much more. */
export const SHARED_BATCH_RECORDS_MAX = 1000;

/** Bytes that may wait for the disk in all partitions together; above it appends are refused as `busy`. */
export const UNFLUSHED_BYTES_MAX = 512 * 1024 * 1024;

/** Files that the store keeps open at most when idle; leases above it are closed when returned. */
export const OPEN_FILES_MAX = 1000;

/** Ends of recent reads that a partition remembers, so that as many sequential readers need no index. */
export const READ_ENDS_MAX = 16;

/** A file read takes at least this much, so that the first batch usually comes with its length. */
export const READ_BYTES_MIN = 16 * 1024;

/** Recovery and index rebuilding read this much at a time. */
export const SCAN_BYTES = 1024 * 1024;

/** Behind a damaged batch, the next good one is looked for within this. */
export const DAMAGE_SEARCH_BYTES_MAX = 64 * 1024 * 1024;

/** Scans (recovery, indexing) that run at once: each holds SCAN_BYTES. */
export const SCANS_MAX = 4;

/** A closed segment above this is worth indexing when a read finds no entry; below it is scanned as quickly. */
export const UNINDEXED_BYTES_MAX = 1024 * 1024;

/** Room to ask for when a batch begins and nobody knows how large it will be. */
export const BATCH_ROOM_BYTES = 1024;

/** Small files that are written at once behind everybody's back: they must not fill libuv's four threads. */
export const SMALL_WRITES_MAX = 2;

/** Buffers of 16 KiB (CHUNK_BYTES_MIN) … */
export const POOLED_BUFFER_BYTES_MIN = CHUNK_BYTES_MIN;

/** … to 4 MiB are used again. */
export const POOLED_BUFFER_BYTES_MAX = 4 * 1024 * 1024;

/** Free buffers kept for that. */
export const POOL_BYTES_MAX = 32 * 1024 * 1024;
