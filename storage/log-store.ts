// Partitions by name: open, create, delete, close. Opens the data directory and owns what its partitions share.
import { dirname, join } from 'node:path';
import { BufferPool } from './buffer-pool.ts';
import { CommitScheduler } from './commit-scheduler.ts';
import { Compaction, type CompactionOptions } from './compaction.ts';
import { identify, type NodeIdentity, prepareDirectory, writeIdentity } from './data-directory.ts';
import { withinDescriptors } from './descriptor-budget.ts';
import { DiskSpace } from './disk-space.ts';
import { assert, StorageError, storageErrorOf } from './errors.ts';
import { INDEX_DIRECTORY, MANIFEST_FILE, partitionDirectory } from './file-names.ts';
import { nodeFileSystem } from './file-system.ts';
import { Gate, nextTurn } from './gate.ts';
import { IndexCache } from './index-cache.ts';
import { openCheckedIndex } from './index-checksums.ts';
import { IndexRemoval } from './index-removal.ts';
import {
  INDEX_CACHE_BYTES_MAX,
  OPEN_FILES_MAX,
  POOL_BYTES_MAX,
  READ_AHEAD_BYTES_MAX,
  SCANS_MAX,
  SMALL_FILES_OPEN_MAX,
  SMALL_WRITES_MAX,
  TOPICS_LEAVING_MAX,
} from './limits.ts';
import type { LogConfig } from './log-config.ts';
import { LogSurveys } from './log-surveys.ts';
import { Maintenance } from './maintenance.ts';
import { OpenFiles } from './open-files.ts';
import { type OpenPartition, OpenPartitions } from './open-partitions.ts';
import { PartitionLog } from './partition-log.ts';
import { ProducerBudget } from './producer-budget.ts';
import { ReadAheadBudget } from './read-ahead.ts';
import { highestEpochOf, type LogFailure, recoverLog } from './recovery.ts';
import { newCounters, type StoreCounters } from './store-counters.ts';
import { type LogStoreOptions, STORE_DEFAULTS } from './store-options.ts';
import type { StoreParts } from './store-parts.ts';
import { TailCache } from './tail-cache.ts';
import { TopicDirectories } from './topic-directories.ts';

/** Buffers that are kept: by what for, and up to what. */
export interface BufferUse {
  readonly use: string;
  readonly bytes: number;
  readonly bytesMax: number;
}

export interface PartitionOptions {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Unique in the store for this incarnation of the partition, u32, never used again: its key in the index. */
  readonly logId: number;
  /** Raised at each opening; never below what `diskLeaderEpoch` says. */
  readonly leaderEpoch: number;
  readonly config: LogConfig;
  /** Appends go on down to a quarter of the disk's reserve. Default false. */
  readonly internal?: boolean;
}

/** @throws StorageError locked, data-directory, format, io */
export async function openLogStore(options: LogStoreOptions): Promise<LogStore> {
  const { directory, log } = options;
  const rawFileSystem = options.fileSystem ?? nodeFileSystem;
  const fileSystem = withinDescriptors(rawFileSystem, SMALL_FILES_OPEN_MAX);
  await prepareDirectory(fileSystem, directory);
  const index = options.index ?? (await openCheckedIndex(join(directory, INDEX_DIRECTORY), log));
  try {
    const pool = new BufferPool(POOL_BYTES_MAX);
    const files = new OpenFiles(rawFileSystem, OPEN_FILES_MAX);
    const cache = new TailCache(options.tailCacheBytes ?? STORE_DEFAULTS.tailCacheBytes, pool);
    const counters = newCounters();
    const identity = await identify(fileSystem, directory, options.nodeId, options.random);
    options.onOwned?.();
    const topics = new TopicDirectories(fileSystem, directory, log);
    const disk = new DiskSpace({
      fileSystem,
      directory,
      clock: options.clock,
      log,
      reserveBytes: options.diskReserveBytes ?? STORE_DEFAULTS.diskReserveBytes,
      unwrittenBytes: () => counters.unflushedBytes,
    });
    const overwriting = fileSystem.overwritesInPlace(directory).catch(() => false);
    const opening = [writeIdentity(fileSystem, directory, identity, false), topics.open(), disk.open()];
    await Promise.allSettled(opening); // when one has failed, none is under way any more
    await Promise.all(opening);
    const overwritesInPlace = await overwriting;
    const upkeep = {
      checkIntervalMs: options.checkIntervalMs ?? STORE_DEFAULTS.checkIntervalMs,
      random: options.random,
      mapBytes: options.compactionMapBytes ?? STORE_DEFAULTS.compactionMapBytes,
      bytesPerSecond: options.compactionBytesPerSecond ?? STORE_DEFAULTS.compactionBytesPerSecond,
    };
    return new LogStore(directory, identity, topics, upkeep, {
      fileSystem,
      disk,
      index,
      indexCache: new IndexCache(INDEX_CACHE_BYTES_MAX),
      files,
      cache,
      pool,
      readAhead: new ReadAheadBudget({
        ...{ files, pool, clock: options.clock, counters },
        onKept: (bytes) => cache.keepElsewhere(bytes),
      }),
      scheduler: new CommitScheduler(),
      producers: new ProducerBudget({
        producersMax: options.producersMax ?? STORE_DEFAULTS.producersMax,
        expirationMs: options.producerExpirationMs ?? STORE_DEFAULTS.producerExpirationMs,
        counters,
      }),
      scans: new Gate(SCANS_MAX),
      smallWrites: new Gate(SMALL_WRITES_MAX),
      clock: options.clock,
      log,
      counters,
      indexIntervalBytes: options.indexIntervalBytes ?? STORE_DEFAULTS.indexIntervalBytes,
      checkpointBytes: options.checkpointBytes ?? STORE_DEFAULTS.checkpointBytes,
      flushTimeoutMs: options.flushTimeoutMs ?? STORE_DEFAULTS.flushTimeoutMs,
      commitBesideBytes: options.commitBesideBytes ?? STORE_DEFAULTS.commitBesideBytes,
      fills: { underWay: 0 },
      // Elsewhere a flush costs what it costs, and the second write would be one for nothing.
      roomAfterBytes: overwritesInPlace
        ? (options.roomAfterBytes ?? STORE_DEFAULTS.roomAfterBytes)
        : Number.POSITIVE_INFINITY,
    });
  } catch (error) {
    await index.close();
    throw storageErrorOf(error, `opening ${directory}`);
  }
}

export class LogStore {
  /** From `node.json`, made at the first start. */
  readonly identity: NodeIdentity;
  readonly #directory: string;
  readonly #topics: TopicDirectories;
  readonly #parts: StoreParts;
  readonly #partitions = new OpenPartitions();
  readonly #indexRemoval: IndexRemoval;
  /** Topics whose logs are let go of, few at a time, or thousands would be one long turn. */
  readonly #leaving = new Gate(TOPICS_LEAVING_MAX);
  readonly #maintenance: Maintenance<PartitionLog>;
  /** Of logs that failed and were closed, by directory, until they are opened again or deleted. */
  readonly #failures = new Map<string, LogFailure & { readonly topicId: string }>();
  readonly #surveys: LogSurveys;
  #closing: Promise<void> | undefined;

  constructor(
    directory: string,
    identity: NodeIdentity,
    topics: TopicDirectories,
    upkeep: CompactionOptions & { readonly checkIntervalMs: number },
    parts: StoreParts,
  ) {
    this.#directory = directory;
    this.identity = identity;
    this.#topics = topics;
    this.#parts = parts;
    this.#surveys = new LogSurveys(parts);
    this.#indexRemoval = new IndexRemoval(parts.index);
    const compaction = new Compaction(parts, upkeep);
    this.#maintenance = new Maintenance({
      clock: parts.clock,
      log: parts.log,
      checkIntervalMs: upkeep.checkIntervalMs,
      logs: () => this.#partitions.opened(),
      maintainShared: () => parts.producers.expire(parts.clock.now()),
      compact: (logs, stopped) => compaction.run(logs, stopped),
    });
    this.#maintenance.start();
  }

  /**
   * What is written at leisure waits until the returned function is called: while many logs are opened, there is other
   * use for the disk and the processor. To be called before the first log is opened, and ended before the store closes.
   */
  holdSmallWrites(): () => void {
    return this.#parts.smallWrites.hold();
  }

  /** Where the data is. */
  get directory(): string {
    return this.#directory;
  }

  get counters(): Readonly<StoreCounters> {
    return this.#parts.counters;
  }

  /** What it keeps in memory so that files are not read, and of buffers that are used again. */
  get buffers(): readonly BufferUse[] {
    const { cache, readAhead, pool } = this.#parts;
    return [
      { use: 'tail', bytes: cache.bytes, bytesMax: cache.bytesMax },
      { use: 'read_ahead', bytes: readAhead.bytes, bytesMax: READ_AHEAD_BYTES_MAX },
      { use: 'free', bytes: pool.bytes, bytesMax: POOL_BYTES_MAX },
    ];
  }

  /**
   * Somebody keeps so many bytes of records more, or less, because they are likely to be read soon: the newest records make
   * way for them, down to a quarter of `tailCacheBytes`.
   */
  keepElsewhere(bytes: number): void {
    this.#parts.cache.keepElsewhere(bytes);
  }

  /** Less is free than the reserve: appends are refused until there is more. */
  get isDiskShort(): boolean {
    return this.#parts.disk.isShort;
  }

  /** What is free on the disk; undefined when the file system does not tell. Never rejects. */
  freeBytes(): Promise<number | undefined> {
    return this.#parts.disk.measure();
  }

  /** As {@link freeBytes}, and how much there is in all. Never rejects. */
  async diskSpace(): Promise<{ readonly totalBytes: number; readonly usableBytes: number } | undefined> {
    try {
      const [totalBytes, usableBytes] = await Promise.all([
        this.#parts.fileSystem.totalBytes(this.#directory),
        this.#parts.fileSystem.freeBytes(this.#directory),
      ]);
      return { totalBytes, usableBytes };
    } catch {
      return undefined;
    }
  }

  /**
   * Creates what is missing, recovers what is there. A log that was opened before must have been closed.
   * @throws StorageError fenced-epoch, sticky, corrupt, format, io, closed
   */
  async openPartition(options: PartitionOptions): Promise<PartitionLog> {
    if (this.#closing !== undefined) throw new StorageError('closed', 'the store is closed');
    const directory = partitionDirectory(this.#directory, options.topic, options.partition);
    assert(!this.#partitions.has(directory), `${directory} is opened once`);
    const log = this.#open(directory, options).then(
      (opened) => {
        opening.opened = opened;
        return opened;
      },
      (error: unknown) => {
        this.#partitions.remove(opening);
        throw storageErrorOf(error, `opening ${directory}`);
      },
    );
    const { topicId, logId } = options;
    const opening: OpenPartition = { directory, topicId, logId, log, opened: undefined };
    this.#partitions.add(opening);
    return log;
  }

  /** Flushes and closes one partition, which may then be opened again. */
  async closePartition(log: PartitionLog): Promise<void> {
    const directory = partitionDirectory(this.#directory, log.topic, log.partition);
    const open = this.#partitions.get(directory);
    if (open === undefined || (await open.log) !== log) return;
    try {
      await log.close();
    } finally {
      const { failure } = log;
      // Its topic may have been deleted meanwhile.
      if (this.#partitions.remove(open) && failure !== undefined) {
        this.#failures.set(directory, { ...failure, topicId: open.topicId });
      }
    }
  }

  /**
   * Highest leader epoch that the partition has on disk; 0 when there is none. Of one that is not open, the next opening is
   * spared the same look at its directory. @throws StorageError format, io
   */
  async diskLeaderEpoch(topic: string, topicId: string, partition: number): Promise<number> {
    const directory = partitionDirectory(this.#directory, topic, partition);
    try {
      if (!(await this.#topics.has(topic, topicId))) return 0;
      // Of a log that has failed a file may still come back.
      const isAtRest = !this.#partitions.has(directory) && !this.#failures.has(directory);
      const survey = await (isAtRest
        ? this.#surveys.makeAhead(directory, topicId)
        : this.#surveys.make(directory));
      return survey === undefined ? 0 : highestEpochOf(survey);
    } catch (error) {
      throw storageErrorOf(error, `reading ${directory}`);
    }
  }

  /** Names of the topics that have a directory, in no order, whoever knows of them. @throws StorageError io */
  async topicsOnDisk(): Promise<readonly string[]> {
    try {
      return await this.#topics.names();
    } catch (error) {
      throw storageErrorOf(error, `reading ${this.#directory}`);
    }
  }

  /**
   * Its open partitions are `deleted` from now on. Resolves when the name is free, on disk too. What is interrupted can be
   * asked for again. @param logIds of those of its partitions that are not open @throws StorageError io
   */
  async deleteTopic(topic: string, topicId: string, logIds: readonly number[] = []): Promise<void> {
    this.#surveys.clear();
    const leaving = this.#partitions.takeTopic(topicId);
    for (const { opened } of leaving) opened?.markDeleted();
    for (const [directory, failure] of this.#failures) {
      if (failure.topicId !== topicId) continue;
      failure.abandon();
      this.#failures.delete(directory);
    }
    try {
      await this.#leaving.pass(() => this.#abandon(leaving));
      await this.#topics.delete(topic, topicId);
      await this.#indexRemoval.remove([...logIds, ...leaving.map(({ logId }) => logId)]);
    } catch (error) {
      throw storageErrorOf(error, `deleting ${topic}`);
    }
  }

  /**
   * A round of maintenance now, or the rest of the one under way: logs roll by age, let go of what retention does not
   * ask for, and are compacted. Never rejects: what fails is reported, and tried again in the next round.
   */
  maintain(): Promise<void> {
    return this.#maintenance.run();
  }

  /** Flushes, writes checkpoints and manifests, releases the directory. Idempotent. @throws StorageError io */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(directory: string, options: PartitionOptions): Promise<PartitionLog> {
    const { topic, topicId, logId, leaderEpoch } = options;
    const { fileSystem } = this.#parts;
    const surveyedAhead = this.#surveys.take(directory, topicId);
    await this.#topics.ensure(topic, topicId);
    const survey = surveyedAhead ?? (await this.#surveys.make(directory));
    if (survey === undefined) await fileSystem.mkdir(directory);
    // A log that was ever open has a manifest. Without one, who made the directory may not have got to flush its name.
    if (!survey?.names.includes(MANIFEST_FILE)) await fileSystem.syncDirectory(dirname(directory));
    const failure = this.#failures.get(directory);
    if (failure?.isSettled() === false) {
      throw new StorageError('sticky', `${directory}: a write from before the failure has not come back yet`);
    }
    const found = survey ?? { names: [], manifest: undefined };
    const recovered = await recoverLog(this.#parts, directory, logId, found, leaderEpoch, failure);
    this.#failures.delete(directory);
    const log = new PartitionLog(this.#parts, { ...options, directory }, recovered);
    return log;
  }

  async #abandon(leaving: readonly OpenPartition[]): Promise<void> {
    const abandoning = leaving.map(async ({ log }) => {
      const opened = await log.catch(() => undefined);
      // One that could not be opened has nothing to leave; one may have been on its way to being open.
      opened?.markDeleted();
      await opened?.abandon();
    });
    await Promise.all(abandoning);
    await nextTurn();
  }

  async #close(): Promise<void> {
    const { fileSystem, index, files } = this.#parts;
    await this.#maintenance.stop();
    const opened = await Promise.allSettled(this.#partitions.all().map(({ log }) => log));
    const logs = opened.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    const closed = await Promise.allSettled(logs.map((log) => log.close()));
    await this.#topics.settled();
    await files.close();
    this.#parts.disk.close();
    const failed = closed.find((each) => each.status === 'rejected');
    try {
      const clean = failed === undefined && logs.every((log) => log.failed === undefined);
      await writeIdentity(fileSystem, this.#directory, this.identity, clean);
    } catch (error) {
      throw storageErrorOf(error, `closing ${this.#directory}`);
    } finally {
      await index.close();
    }
    if (failed !== undefined) throw storageErrorOf(failed.reason, `closing ${this.#directory}`);
  }
}
