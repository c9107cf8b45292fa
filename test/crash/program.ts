// A random program of appends, rolls, reads, faults, deletions, clean stops and crashes on a file system that forgets
// what a real one may forget. After every opening: nothing that was acknowledged is missing, nothing that a reader has
// seen is gone or different, and what else is there is a prefix of what was appended.
import { errorCodeOf } from '../../storage/errors.ts';
import { Findings, noTotals } from '../../storage/inspection-findings.ts';
import { verifyLog } from '../../storage/inspection-verify.ts';
import {
  type Fault,
  FaultyFileSystem,
  type Keep,
  type RandomSource,
  seededRandom,
} from '../helpers/faulty-file-system.ts';
import {
  logConfig,
  MemoryIndex,
  openStore,
  type StoreFixture,
  TestClock,
  type TestRecord,
} from '../helpers/store-fixture.ts';
import { check, readTo, TrackedLog } from './tracked-log.ts';

const DIRECTORY = '/data';

function describeConfig(config: TrackedLog['config']): string {
  const { segmentBytes, segmentMs, flushMessages, retentionMs, retentionBytes } = config;
  return `segments ${segmentBytes} ${segmentMs}, flush ${flushMessages}, retention ${retentionMs} ${retentionBytes}`;
}

/** How often the store has reported what: programs in which nothing happens prove nothing. */
export type Happened = Map<string, number>;

/** Runs one program. What it throws names the seed and tells what was done. */
export async function runProgram(seed: number, happened: Happened = new Map()): Promise<void> {
  const program = new Program(seed, happened);
  try {
    await program.run();
  } catch (error) {
    throw new Error(`seed ${seed}: ${error}\n${program.trace.join('; ')}`, { cause: error });
  }
}

class Program {
  readonly trace: string[] = [];
  readonly #random: RandomSource;
  readonly #files = new FaultyFileSystem(['/']);
  readonly #index = new MemoryIndex();
  readonly #clock = new TestClock();
  readonly #happened: Happened;
  #logs: TrackedLog[];
  /** Topics whose deletion was acknowledged: they do not come back. */
  readonly #deleted: { readonly topic: string; readonly topicId: string }[] = [];
  /** Deletions that were decided, and not acknowledged before a crash. */
  #deleting: { readonly topic: string; readonly topicId: string }[] = [];
  #logIds = 0;
  #recordCount = 0;
  /** Some programs have producers, and some compact: it takes the others longer to find what they look for. */
  readonly #producing: boolean;
  readonly #compacting: boolean;
  #fixture: StoreFixture | undefined;
  /** A fault was armed in this process: operations may fail, with a code that says so. */
  #faulty = false;
  /** What the next opening should find about the last stop. */
  #stop: 'clean' | 'clean, then power off' | 'in the middle' | 'crash' = 'clean';
  #pending: Promise<void>[] = [];
  #maintaining: Promise<void> = Promise.resolve();
  /** Of processes. */
  #generation = 0;
  /** What the last end of a process may have taken. */
  #after: 'kill' | 'crash' = 'kill';
  #backgroundError: unknown;

  constructor(seed: number, happened: Happened) {
    this.#happened = happened;
    this.#random = seededRandom(seed);
    this.#files.random = this.#random;
    this.#files.now = () => this.#clock.now();
    this.#files.hasSynchronousFiles = this.#oneIn(2);
    this.#files.overwritesInPlace = this.#oneIn(2);
    if (this.#oneIn(3)) this.#files.turns = () => 1 + this.#below(4);
    this.#producing = this.#oneIn(3);
    this.#compacting = this.#oneIn(3);
    const topics = this.#oneIn(4) ? ['events', 'other'] : ['events'];
    this.#logs = topics.map((topic) => this.#newLog(topic));
  }

  async run(): Promise<void> {
    await this.#open();
    for (let steps = 4 + this.#below(16); steps > 0; steps--) {
      await this.#step();
      if (this.#backgroundError !== undefined) throw this.#backgroundError;
    }
    this.#heal();
    await this.#repairAll();
    await this.#cleanStop();
    await this.#open();
    await this.#cleanStop();
    await this.#verifyLogs();
    const leftovers = this.#files.paths().filter((path) => path.startsWith(`${DIRECTORY}/deleted/`));
    check(leftovers.length === 0, () => `deleted topics are still there: ${leftovers}`);
    if (this.#backgroundError !== undefined) throw this.#backgroundError;
    this.#countEvents();
  }

  /** What `polylog log verify` says of what the last clean stop has left. */
  async #verifyLogs(): Promise<void> {
    for (const { topic, logId, isCompacted } of this.#logs) {
      const options = {
        fileSystem: this.#files.process(),
        directory: `${DIRECTORY}/topics/${topic}/0`,
        index: { database: this.#index, logId },
        // The checkpoint that would say so is written last.
        compacts: isCompacted,
      };
      const findings = new Findings(({ severity, code, path, offset, message }) => {
        // The index forgets what it was told last when the machine stops, that rows were removed too.
        const isWrong = severity === 'error' && code !== 'index';
        check(!isWrong, () => `${code}: ${path}, offset ${offset}: ${message}`);
      });
      await verifyLog(options, findings, noTotals());
    }
  }

  #countEvents(): void {
    for (const { event } of this.#fixture?.log.events ?? []) {
      this.#happened.set(event, (this.#happened.get(event) ?? 0) + 1);
    }
  }

  async #step(): Promise<void> {
    await this.#repairAll();
    if (this.#compacting && this.#oneIn(5)) return this.#maintain();
    const choice = this.#below(100);
    if (choice < 27) await this.#append('goes on');
    else if (choice < 37) await this.#append('waits');
    else if (choice < 43) await this.#read();
    else if (choice < 47) this.#readOn();
    else if (choice < 50) await this.#configure();
    else if (choice < 54) await this.#advance();
    else if (choice < 64) await this.#maintain();
    else if (choice < 68) await this.#deleteRecords();
    else if (choice < 75) await this.#fault();
    else if (choice < 77) await this.#deleteTopic();
    else if (choice < 84) await this.#stopAndOpen();
    else await this.#crash();
  }

  // ------------------------------------------------------------------------------------------------ steps

  /** Appends a few batches. */
  async #append(then: 'goes on' | 'waits'): Promise<void> {
    const tracked = this.#anyLog();
    for (
      let batches = 1 + this.#below(this.#compacting ? 8 : 4);
      batches > 0 && tracked.log!.failed === undefined;
      batches--
    ) {
      const records = Array.from({ length: 1 + this.#below(5) }, () => this.#record());
      this.#goOn(tracked.append(records, this.#oneIn(3)));
      if (this.#producing && this.#oneIn(2)) {
        this.#goOn(tracked.produce(() => this.#record(), this.#random));
      }
    }
    this.trace.push(
      `${tracked.topic}: append to ${tracked.records.length}${then === 'waits' ? ', wait' : ''}`,
    );
    if (then === 'waits') await this.#settle();
    else if (this.#oneIn(2)) await this.#ticks(1 + this.#below(20));
  }

  /** What readers see below the flushed offset is what was appended, and is promised from then on. */
  async #read(): Promise<void> {
    // A fault that has not struck yet may strike a read, and a start that moves the offset that is looked for.
    this.#heal();
    await this.#maintaining;
    const tracked = this.#anyLog();
    const log = tracked.log!;
    const { from, upTo } = this.#range(tracked);
    this.trace.push(`${tracked.topic}: read ${from} to ${upTo}`);
    tracked.compare(await readTo(log, from, upTo, 1 + this.#below(3000)), from, upTo);
    if (upTo <= log.flushedOffset) tracked.promise(upTo);
    tracked.compareEpochs();
    tracked.compareTransactions();
    const present = await tracked.present(upTo);
    const timestampMs = this.#clock.now() + 120 - this.#below(240);
    const found = (await log.offsetForTime(timestampMs, upTo))?.offset ?? -1;
    const expected = present.findIndex((each) => each !== undefined && each.timestampMs >= timestampMs);
    check(found === expected, () => `offset ${found} for time ${timestampMs}, and not ${expected}`);
    let largest = -1;
    for (const [offset, each] of present.entries()) {
      if (each === undefined) continue;
      if (largest < 0 || each.timestampMs > present[largest]!.timestampMs) largest = offset; // one that is there
    }
    const newest = (await log.offsetOfMaxTimestamp(upTo))?.offset ?? -1;
    check(newest === largest, () => `offset ${newest} of the largest timestamp, and not ${largest}`);
  }

  /** A reader that goes on while other things happen. */
  #readOn(): void {
    const tracked = this.#anyLog();
    const { log, records } = tracked;
    const { from, upTo } = this.#range(tracked);
    const isFlushed = upTo <= log!.flushedOffset;
    this.trace.push(`${tracked.topic}: read on from ${from} to ${upTo}`);
    const reading = readTo(log!, from, upTo, 1 + this.#below(1000)).then(
      (read) => {
        if (tracked.records !== records) return;
        tracked.compare(read, from, upTo);
        if (isFlushed) tracked.promise(upTo);
      },
      (error: unknown) => {
        const code = errorCodeOf(error);
        if (tracked.log !== log || code === 'closed' || code === 'deleted') return;
        if (code === 'offset-out-of-range' && log!.logStartOffset > from) return;
        this.#tolerate(error);
      },
    );
    this.#goOn(reading);
  }

  /** From somewhere above the start to the flushed offset, or to what is committed. */
  #range(tracked: TrackedLog): { readonly from: number; readonly upTo: number } {
    const log = tracked.log!; // of open logs only
    const start = log.logStartOffset;
    const upTo = Math.max(start, this.#oneIn(3) ? log.highWatermark : log.flushedOffset);
    return { from: start + this.#below(upTo + 1 - start), upTo };
  }

  async #configure(): Promise<void> {
    await this.#maintaining;
    const tracked = this.#anyLog();
    tracked.config = this.#randomConfig();
    tracked.log!.setConfig(tracked.config);
    this.trace.push(`${tracked.topic}: ${describeConfig(tracked.config)}`);
  }

  /** Rolls by age, and retention; to the end, or until something else happens. */
  async #maintain(): Promise<void> {
    await this.#maintaining;
    this.trace.push('maintain');
    const logs = this.#logs.filter(({ log }) => log !== undefined && log.failed === undefined);
    const sizes = logs.map(({ log }) => log!.byteSize);
    for (const tracked of logs) tracked.maintained();
    const generation = this.#generation;
    this.#maintaining = this.#fixture!.store.maintain().then(() => {
      if (generation !== this.#generation) return;
      for (const [index, tracked] of logs.entries()) {
        const { log, config } = tracked;
        if (log === undefined || log.failed !== undefined || this.#faulty) continue;
        if (tracked.deletedBefore >= log.logStartOffset) continue;
        tracked.startMoved(log.logStartOffset);
        if (tracked.deletedBefore > 0 || tracked.isCompacted || config.retentionMs < Number.POSITIVE_INFINITY)
          continue;
        const enough = Math.min(sizes[index]!, config.retentionBytes);
        check(log.byteSize >= enough, () => `${log.byteSize} bytes are left, and ${enough} are to be kept`);
      }
    });
    this.#goOn(this.#maintaining);
    if (this.#oneIn(2)) await this.#maintaining;
    else if (this.#oneIn(3)) {
      await this.#ticks(this.#below(10));
      await this.#restart();
    }
  }

  async #deleteRecords(): Promise<void> {
    const tracked = this.#anyLog();
    const log = tracked.log!;
    const start = log.logStartOffset;
    const beforeOffset = start + this.#below(log.highWatermark - start + 1);
    this.trace.push(`${tracked.topic}: delete records before ${beforeOffset}`);
    tracked.startAllowed = Math.max(tracked.startAllowed, beforeOffset);
    tracked.deletedBefore = Math.max(tracked.deletedBefore, beforeOffset);
    const generation = this.#generation;
    const deleting = log.deleteRecords(beforeOffset).then(
      () => {
        if (generation === this.#generation && tracked.log === log) tracked.startMoved(beforeOffset);
      },
      (error: unknown) => {
        if (tracked.log === log && errorCodeOf(error) !== 'closed') this.#tolerate(error);
      },
    );
    this.#goOn(deleting);
    if (this.#oneIn(2)) await deleting;
    else if (this.#oneIn(3)) {
      await this.#ticks(this.#below(10));
      await this.#restart();
    }
  }

  async #advance(): Promise<void> {
    // A flush that is under way would be given up.
    this.#heal();
    await this.#settle();
    for (let steps = this.#below(8); steps > 0; steps--) {
      await this.#ticks(40);
      this.#clock.advance(20_000);
    }
  }

  /** Something fails or hangs while something is appended or closed. */
  async #fault(): Promise<void> {
    if (this.#oneIn(4)) return this.#hang();
    if (this.#oneIn(4)) {
      this.#faulty = true;
      this.#files.capacityBytes = this.#files.usedBytes + this.#below(2000);
      this.trace.push('the disk is nearly full');
      return;
    }
    const faults = Array.from({ length: 1 + this.#below(2) }, () => this.#anyFault());
    this.#faulty = true;
    this.#files.arm(...faults);
    this.trace.push(...faults.map(({ kind, files, after }) => `${kind} ${files ?? ''} after ${after}`));
  }

  #anyFault(): Fault {
    const after = this.#below(3);
    const files = this.#oneIn(3) ? { files: /\.json\.new$|\.json$|\.snapshot/ } : {};
    switch (this.#below(9)) {
      case 0:
      case 1:
        return {
          kind: 'write-fails',
          code: this.#oneIn(2) ? 'EIO' : 'ENOSPC',
          afterBytes: this.#below(400),
          after,
          ...files,
        };
      case 2:
      case 3:
        return { kind: 'datasync-fails', after, ...files };
      case 4:
        return { kind: 'open-fails', code: 'EMFILE', after, ...files };
      case 5:
        return { kind: 'rename-fails', files: /./, after };
      case 6:
        return { kind: 'directory-sync-fails', files: /./, after };
      case 7:
        return { kind: 'unlink-fails', after, ...files };
      default:
        return { kind: 'truncate-fails', after };
    }
  }

  /** A flush hangs; the log is given up when the time is over, and what hung comes back. */
  async #hang(): Promise<void> {
    const tracked = this.#anyLog();
    this.trace.push(`${tracked.topic}: datasync-hangs`);
    await this.#settle();
    if (tracked.log!.failed !== undefined) return;
    this.#faulty = true;
    this.#heal();
    tracked.config = { ...tracked.config, flushMessages: 1 };
    tracked.log!.setConfig(tracked.config);
    await this.#ticks(40);
    if (tracked.log!.failed !== undefined) return;
    this.#files.arm({ kind: 'datasync-hangs', files: new RegExp(`/${tracked.topic}/0/.*\\.log$`) });
    this.#goOn(tracked.append([this.#record(), this.#record()], false));
    for (let ticks = 0; this.#files.isArmed && ticks < 1000; ticks++) await this.#ticks(1);
    this.#clock.advance(60_000);
    check(tracked.log?.failed !== undefined, () => 'the watchdog gives the log up');
    if (this.#oneIn(3)) return this.#crash();
    this.#files.releaseHanging();
    await this.#ticks(10);
  }

  async #deleteTopic(): Promise<void> {
    const tracked = this.#anyLog();
    const { topic, topicId } = tracked;
    const deleting = { topic, topicId };
    this.trace.push(`delete ${topicId}`);
    tracked.log = undefined;
    this.#logs = this.#logs.map((each) => (each === tracked ? this.#newLog(topic) : each));
    this.#deleting.push(deleting);
    const deletion = this.#attempt(this.#fixture!.store.deleteTopic(topic, topicId));
    if (this.#oneIn(3)) {
      await this.#ticks(this.#below(8));
      return this.#restart();
    }
    if ((await deletion) !== 'done') return this.#restart();
    this.#deletionDone(deleting);
    if (this.#oneIn(3)) return this.#restart();
    this.#heal();
    await this.#openLogs();
  }

  async #stopAndOpen(): Promise<void> {
    if (this.#oneIn(4)) {
      // The machine stops in the middle of the stop.
      this.trace.push('stop, not to the end');
      this.#goOn(this.#fixture!.store.close().catch((error: unknown) => this.#tolerate(error)));
      await this.#ticks(this.#below(12));
      this.#stopMachine();
      this.#stop = 'in the middle';
      return this.#open();
    }
    if (!(await this.#cleanStop())) {
      this.#stopMachine();
      this.#stop = 'in the middle';
      return this.#open();
    }
    // A machine may well stop after that.
    if (this.#stop === 'clean' && this.#oneIn(2)) {
      this.#files.crash(this.#oneIn(2) ? 'nothing' : 'anything', this.#random);
      this.#stop = 'clean, then power off';
    }
    await this.#open();
  }

  async #crash(): Promise<void> {
    const sound = this.#logs.filter(({ log }) => log !== undefined && log.failed === undefined);
    // Something is under way, at any stage of it.
    for (const tracked of sound) {
      if (this.#oneIn(2))
        this.#goOn(
          tracked.append([this.#record()], this.#oneIn(3)).catch((error: unknown) => this.#tolerate(error)),
        );
    }
    if (!this.#oneIn(4)) await this.#ticks(this.#below(14));
    await this.#restart();
  }

  // ---------------------------------------------------------------------------------- openings and their ends

  async #restart(): Promise<void> {
    this.#stopMachine();
    await this.#open();
  }

  #stopMachine(): void {
    this.#generation++;
    this.#maintaining = Promise.resolve();
    const keep = (['nothing', 'everything', 'anything', 'anything', 'anything', 'kill'] as const)[
      this.#below(6)
    ]!;
    this.trace.push(keep === 'kill' ? keep : `crash, keeping ${keep}`);
    if (keep === 'kill') {
      this.#files.kill();
      if (this.#faulty) this.#after = 'crash';
    } else {
      this.#after = 'crash';
      this.#files.crash(keep satisfies Keep, this.#random);
      if (this.#oneIn(2)) this.#index.crash(this.#random);
    }
    for (const tracked of this.#logs) tracked.log = undefined;
    this.#pending = [];
    this.#stop = 'crash';
  }

  /** Whether it was one. */
  async #cleanStop(): Promise<boolean> {
    this.trace.push('stop');
    const closed = await this.#attempt(this.#fixture!.store.close());
    await this.#settle();
    // A flush that fails in the end is told to who waits for it.
    const sound = this.#logs.filter(({ log }) => log !== undefined && log.failed === undefined);
    for (const tracked of this.#logs) tracked.log = undefined;
    this.#stop = 'in the middle';
    if (this.#faulty) this.#after = 'crash';
    if (closed !== 'done') return false;
    for (const tracked of sound) tracked.promise(tracked.records.length);
    this.#stop = sound.length === this.#logs.length ? 'clean' : 'crash';
    this.#files.kill();
    return true;
  }

  /** Starts a process, and perhaps another one when the first did not get far. */
  async #open(): Promise<void> {
    for (;;) {
      this.#faulty = false;
      if (this.#oneIn(5)) {
        this.trace.push('open, not to the end');
        const opening = this.#openStore().then(() => this.#openLogs());
        let failed: unknown;
        opening.catch((error: unknown) => {
          failed = error;
        });
        await this.#ticks(1 + this.#below(60));
        if (failed !== undefined) throw failed;
        this.#stopMachine();
        this.#stop = 'in the middle';
        continue;
      }
      await this.#openStore();
      await this.#openLogs();
      return;
    }
  }

  async #openStore(): Promise<void> {
    const stop = this.#stop;
    this.#heal();
    this.#countEvents();
    this.#fixture = undefined;
    this.#fixture = await openStore({
      directory: DIRECTORY,
      fileSystem: this.#files.process(),
      index: this.#index,
      clock: this.#clock,
      indexIntervalBytes: 64 + this.#below(1000),
      tailCacheBytes: this.#oneIn(2) ? 0 : 1 << 20,
      checkpointBytes: 500 + this.#below(5000),
      ...(this.#oneIn(2) ? { commitBesideBytes: 1 } : {}),
      roomAfterBytes: this.#below(4000),
      diskReserveBytes: 1,
      checkIntervalMs: 0,
      compactionMapBytes: this.#oneIn(3) ? 1 : 1 << 16,
      compactionBytesPerSecond: Number.POSITIVE_INFINITY,
    });
    const { store } = this.#fixture;
    const { previousStopWasClean } = store.identity;
    check(
      stop === 'in the middle' || previousStopWasClean === (stop !== 'crash'),
      () => `the last stop was ${stop}`,
    );
    this.#stop = 'crash';
    for (const deleting of [...this.#deleting]) {
      // The owner knows of it and finishes it, or makes the next topic of that name over it.
      if (this.#oneIn(2)) continue;
      await store.deleteTopic(deleting.topic, deleting.topicId);
      this.#deletionDone(deleting);
    }
    for (const { topic, topicId } of this.#deleted) {
      const epoch = await store.diskLeaderEpoch(topic, topicId, 0);
      check(epoch === 0, () => `${topicId} is there again, with epoch ${epoch}`);
    }
    if (stop === 'clean') this.#goOn(this.#nothingScanned());
  }

  async #nothingScanned(): Promise<void> {
    const { store } = this.#fixture!;
    await this.#ticks(1);
    check(store.counters.recoveredBytes === 0, () => 'a clean stop left something to scan');
  }

  /** Opens those that are not open. */
  async #openLogs(): Promise<void> {
    const { store } = this.#fixture!;
    for (const tracked of this.#logs) {
      if (tracked.log !== undefined) continue;
      const { topic, topicId, logId } = tracked;
      tracked.epoch = Math.max(tracked.epoch, await store.diskLeaderEpoch(topic, topicId, 0)) + 1;
      tracked.config = this.#randomConfig();
      const { config, epoch: leaderEpoch } = tracked;
      const log = await store.openPartition({ topic, topicId, partition: 0, logId, leaderEpoch, config });
      log.onCommitted = (offset) => log.setHighWatermark(offset);
      this.trace.push(`${topicId} open from ${log.logStartOffset} to ${log.logEndOffset}`);
      await tracked.opened(log, this.#after);
    }
    this.#after = 'kill';
  }

  /** A log that has failed is read, closed and opened again; or all goes down. */
  async #repairAll(): Promise<void> {
    for (const tracked of this.#logs) {
      const { log } = tracked;
      if (log === undefined || log.failed === undefined) continue;
      check(
        this.#faulty && log.failed.code === 'sticky',
        () => `${tracked.topic} failed: ${log.failed?.message}`,
      );
      this.trace.push(`${tracked.topic}: repair`);
      this.#heal();
      await this.#settle();
      const upTo = log.flushedOffset;
      tracked.compare(await readTo(log, log.logStartOffset, upTo, 2000), log.logStartOffset, upTo);
      tracked.promise(upTo);
      if (this.#oneIn(4)) return this.#crash();
      this.#files.releaseHanging();
      // What came back from the failed write is taken back before it may be opened again.
      await this.#ticks(20);
      await this.#fixture!.store.closePartition(log);
      tracked.log = undefined;
      this.#after = 'crash';
      await this.#openLogs();
    }
  }

  // ------------------------------------------------------------------------------------------------- parts

  #heal(): void {
    this.#files.arm();
    this.#files.capacityBytes = Number.POSITIVE_INFINITY;
  }

  /** Work whose end nobody waits for now; whose failure is told at the next step. */
  #goOn(work: Promise<void>): void {
    const watched = work.catch((error: unknown) => {
      this.#backgroundError ??= error;
    });
    this.#pending.push(watched);
  }

  async #settle(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    await Promise.all(pending);
  }

  /** Work that may fail once a fault was armed. */
  async #attempt(work: Promise<unknown>): Promise<'done' | 'failed'> {
    try {
      await work;
      return 'done';
    } catch (error) {
      this.#tolerate(error);
      return 'failed';
    }
  }

  #tolerate(error: unknown): void {
    const code = errorCodeOf(error) ?? '';
    if (!this.#faulty || !['io', 'disk-full', 'sticky'].includes(code)) throw error;
    this.trace.push(`(${code})`);
  }

  #deletionDone(deleting: { readonly topic: string; readonly topicId: string }): void {
    this.#deleting = this.#deleting.filter((each) => each !== deleting);
    this.#deleted.push(deleting);
  }

  #newLog(topic: string): TrackedLog {
    const logId = ++this.#logIds;
    return new TrackedLog(topic, `${topic}-${logId}`, logId, this.#randomConfig(), () => this.#clock.now());
  }

  #randomConfig(): TrackedLog['config'] {
    return logConfig({
      segmentBytes: 200 + this.#below(this.#compacting ? 600 : 5000),
      segmentMs: this.#oneIn(3) ? 1 + this.#below(200_000) : Number.POSITIVE_INFINITY,
      flushMessages: this.#oneIn(4) ? 2 + this.#below(30) : 1,
      flushMs: this.#below(3000),
      retentionMs: this.#oneIn(3) ? this.#below(200_000) : Number.POSITIVE_INFINITY,
      retentionBytes: this.#oneIn(4) ? this.#below(20_000) : Number.POSITIVE_INFINITY,
      deletes: !this.#compacting || this.#oneIn(3),
      compacts: this.#compacting && !this.#oneIn(4),
      minCleanableDirtyRatio: this.#oneIn(3) ? this.#random() : 0,
      minCompactionLagMs: this.#oneIn(4) ? this.#below(100_000) : 0,
      maxCompactionLagMs: this.#oneIn(4) ? this.#below(100_000) : Number.POSITIVE_INFINITY,
      deleteRetentionMs: this.#below(3) * this.#below(200_000),
    });
  }

  #anyLog(): TrackedLog {
    return this.#logs[this.#below(this.#logs.length)]!; // there is one at least
  }

  #record(): TestRecord {
    const size = this.#oneIn(this.#compacting ? 20 : 6) ? this.#below(2000) : this.#below(60);
    const text = `${this.#recordCount++}:`;
    return {
      timestampMs: this.#timestampMs(),
      key: this.#oneIn(this.#compacting ? 20 : 3) ? null : Buffer.from(`k${this.#below(5)}`),
      value: this.#oneIn(8) ? null : Buffer.alloc(text.length + size, text),
    };
  }

  #timestampMs(): number {
    if (this.#oneIn(30)) return -1;
    if (this.#oneIn(30)) return this.#below(2 * this.#clock.now());
    return this.#clock.now() + this.#below(200) - 100;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #oneIn(count: number): boolean {
    return this.#random() * count < 1;
  }

  async #ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
  }
}
