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

/** Above it every write is flushed, whatever its log's configuration says, so that the bound before is for the disk. */
export const UNFLUSHED_BYTES_HIGH = 256 * 1024 * 1024;

/** The file system is asked how much is free so often while something is appended, or refused for lack of room. */
export const DISK_CHECK_INTERVAL_MS = 1000;

/**
 * What one log leaves unflushed: a flush of so much takes no longer than a commit may, and recovery writes so much again
 * of what a killed process left.
 */
export const UNFLUSHED_LOG_BYTES_MAX = 16 * 1024 * 1024;

/** Zeros ahead in the file of one log (segment-room.ts) … */
export const LOG_ROOM_BYTES_MAX = 512 * 1024;

/** … and in those of all together. */
export const ROOM_BYTES_MAX = 256 * 1024 * 1024;

/** So many zeros go to the disk at once: a commit that meets them there waits half a millisecond longer. */
export const ROOM_SLICE_BYTES_MAX = 64 * 1024;

/** Slices on their way at once, all logs together: half of libuv's four threads, so that appends always find one. */
export const ROOM_FILLS_MAX = 2;

/** A log that nobody appends to gives its room back after this, in the next round of maintenance. */
export const ROOM_IDLE_MS = 60_000;

/** Behind a larger commit no room is made: what a flush is spared is less than what every byte costs a second time. */
export const ROOM_COMMIT_BYTES_MAX = 16 * 1024;

/** Less than this above the reserve, and no room is made ahead: there are better uses for the last of a disk. */
export const ROOM_SPARE_BYTES_MIN = 1024 * 1024 * 1024;

/** Segments that are open at most, in use or not. */
export const OPEN_FILES_MAX = 800;

/** Small files, directories and files under recovery that are open at most. */
export const SMALL_FILES_OPEN_MAX = 100;

/** Ends of recent reads that a partition remembers, so that as many sequential readers need no index. */
export const READ_ENDS_MAX = 16;

/** A file read takes at least this much, so that the first batch usually comes with its length. */
export const READ_BYTES_MIN = 16 * 1024;

/** A sequential reader's file is read this much at a time: measured, more gains nothing. */
export const READ_AHEAD_BLOCK_BYTES = 512 * 1024;

/** A block that a reader asked for is kept for its next read up to this. */
export const READ_AHEAD_BLOCK_BYTES_MAX = 1024 * 1024;

/** Blocks that a log keeps: two for each of two readers. */
export const READ_AHEAD_BLOCKS_MAX = 4;

/** Blocks of all logs together: two for each of sixteen readers. */
export const READ_AHEAD_BYTES_MAX = 16 * 1024 * 1024;

/** Reads ahead under way: half of libuv's four threads, so that appends always find one. */
export const READ_AHEADS_MAX = 2;

/** A block that was not asked for in this time makes way for others. */
export const READ_AHEAD_IDLE_MS = 5000;

/** Rows of aborted transactions kept in memory, all logs together. */
export const ABORTED_CACHE_BYTES_MAX = 4 * 1024 * 1024;

/** Rows of the index kept in memory, all logs together: what lies in some 8 GiB of log at 16 KiB a batch. */
export const INDEX_CACHE_BYTES_MAX = 8 * 1024 * 1024;

/** A file read takes at most this much, but for its first batch: what clients may ask for is not bounded. */
export const FILE_READ_BYTES_MAX = 4 * 1024 * 1024;

/** Recovery and index rebuilding read this much at a time. */
export const SCAN_BYTES = 1024 * 1024;

/** Batch headers are read by blocks of this: large enough for many small batches, small against a large one. */
export const HEADER_SCAN_BYTES = 64 * 1024;

/** Behind a damaged batch, the next good one is looked for within this. */
export const DAMAGE_SEARCH_BYTES_MAX = 64 * 1024 * 1024;

/** Scans (recovery, indexing) that run at once: each holds SCAN_BYTES. */
export const SCANS_MAX = 4;

/** A closed segment above this is worth indexing when a read finds no entry; below it is scanned as quickly. */
export const UNINDEXED_BYTES_MAX = 1024 * 1024;

/** Room to ask for when a batch begins and nobody knows how large it will be. */
export const BATCH_ROOM_BYTES = 1024;

/** Files of bytes that recovery cut off which a partition keeps. */
export const CUT_FILES_MAX = 3;

/** A batch may end in zeros, so some of those behind what recovery cuts off are kept with it. */
export const CUT_ZEROS_MAX = 4096;

/** Maintenance passes the turn on after this much work without a wait, so that appends and reads do not stall. */
export const MAINTENANCE_SLICE_MS = 2;

/** Topics whose logs are let go of in one turn of the event loop. */
export const TOPICS_LEAVING_MAX = 8;

/** Topics that are renamed away at once; behind them their files go one by one. */
export const RENAMES_MAX = 2;

/** Small files that are written at once behind everybody's back: they must not fill libuv's four threads. */
export const SMALL_WRITES_MAX = 2;

/** Buffers of 16 KiB (CHUNK_BYTES_MIN) … */
export const POOLED_BUFFER_BYTES_MIN = CHUNK_BYTES_MIN;

/** … to 4 MiB are used again. */
export const POOLED_BUFFER_BYTES_MAX = 4 * 1024 * 1024;

/** Free buffers kept for that: as many as eight readers of files let go of at once. */
export const POOL_BYTES_MAX = 8 * 1024 * 1024;

/** Work in the background gives way to others after so long. */
export const PACE_SLICE_MS = 1;

/** What compaction may spend at once after a rest, as a part of what it may in a second. */
export const PACE_BURST_SECONDS = 0.02;

/** Compaction looks so often whether it has to stop, however long it has to rest. */
export const PACE_REST_MAX_MS = 100;

/** Compaction collects this much before it writes. */
export const COMPACTION_BUFFER_BYTES = 1024 * 1024;

/**
 * Compaction flushes as it goes, so that no flush of an append waits for much of what it wrote: measured on a busy disk,
 * a flush takes 7 ms with nothing, 14 ms with 1 MiB and 30 ms with 8 MiB to write.
 */
export const COMPACTION_FLUSH_BYTES = 1024 * 1024;

/** Rounds whose tombstones wait; when there are more the oldest wait with the next. */
export const COMPACTION_ROUNDS_MAX = 64;

/** A log whose compaction failed is tried again after this, doubled each time … */
export const COMPACTION_RETRY_MIN_MS = 60_000;

/** … up to this. */
export const COMPACTION_RETRY_MAX_MS = 3_600_000;
