// Random programs of several producers: batches that follow, come again, leave gaps, are of old and of new epochs, go
// round at 2^31 − 1, end transactions; between them rolls, checkpoints, failed flushes, clean stops and crashes, with
// snapshots that are lost, damaged or of earlier. The model is the list of batches that the log holds, and the rule as
// the specification has it, in numbers that do not go round. Whatever happened: what the log holds is known, exactly.
//
// Seeds are fixed, so that a failure repeats; POLYLOG_PRODUCER_RUNS sets how many run, POLYLOG_PRODUCER_SEED runs one.
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../storage/errors.ts';
import { SEQUENCE_MAX } from '../../storage/producer-state.ts';
import { type Keep, type RandomSource, seededRandom } from '../helpers/faulty-file-system.ts';
import { CHECKPOINT, ProducerLog, SNAPSHOT } from './producer-fixture.ts';

const RUNS = Number(process.env['POLYLOG_PRODUCER_RUNS'] ?? 40);
const ONE_SEED = process.env['POLYLOG_PRODUCER_SEED'];
const ROUND = SEQUENCE_MAX + 1;
const PRODUCERS = 4;

interface Batch {
  readonly producerId: number;
  readonly epoch: number;
  /** −1: a control batch. */
  readonly sequence: number;
  readonly count: number;
  readonly offset: number;
  readonly transactional: boolean;
}

class Program {
  readonly #random: RandomSource;
  readonly #seed: number;
  #producers: ProducerLog;
  /** What the log holds. */
  #batches: Batch[] = [];
  #end = 0;
  #oldSnapshot: Buffer | undefined;
  readonly trace: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    const bytes = 300 + this.#below(3000);
    this.#producers = new ProducerLog({ checkpointBytes: bytes }, { segmentBytes: 300 + this.#below(6000) });
    this.#producers.files.turns = () => 1 + this.#below(3);
  }

  async run(): Promise<void> {
    await this.#producers.open();
    for (let step = 20 + this.#below(60); step > 0; step--) await this.#step();
    await this.#producers.close();
  }

  async #step(): Promise<void> {
    const choice = this.#below(100);
    if (choice < 80) await this.#send();
    else if (choice < 84) await this.#endTransaction();
    else if (choice < 87) await this.#failFlush();
    else if (choice < 93) await this.#restart('stop');
    else await this.#restart('crash');
    this.#expectUnstable();
  }

  async #send(): Promise<void> {
    const producerId = this.#below(PRODUCERS);
    const own = this.#batches.filter((each) => each.producerId === producerId);
    const { epoch, sequence, count } = this.#candidate(own);
    const transactional = producerId === 1 || producerId === 2;
    const expected = judge(own, epoch, sequence, count);
    const told = await this.#ask(() =>
      this.#producers.send(producerId, sequence, { epoch, count, transactional }),
    );
    this.trace.push(`${producerId} e${epoch} s${sequence}+${count}: ${expected}, ${told}`);
    if (expected !== 'next') expect(told, this.#why()).toBe(expected);
    else {
      expect(told, this.#why()).toBe(`at ${this.#end}`);
      this.#batches.push({ producerId, epoch, sequence, count, offset: this.#end, transactional });
      this.#end += count;
    }
  }

  /** What the client has to send, and what it should not. */
  #candidate(own: readonly Batch[]): { epoch: number; sequence: number; count: number } {
    const count = 1 + this.#below(3);
    const last = own.at(-1);
    if (last === undefined) {
      // The log knows nothing of it: it may be anywhere in its round.
      const sequence = this.#oneIn(2) ? 0 : SEQUENCE_MAX - this.#below(6);
      return { epoch: this.#below(3), sequence, count };
    }
    const { epoch } = last;
    const data = own.filter((each) => each.sequence >= 0 && each.epoch === epoch);
    const newest = data.at(-1);
    const next = newest === undefined ? 0 : (newest.sequence + newest.count) % ROUND;
    const choice = this.#below(20);
    if (choice < 9) return { epoch, sequence: next, count };
    if (choice < 13 && data.length > 0) {
      const again = data[Math.max(0, data.length - 1 - this.#below(8))]!; // within
      return { epoch, sequence: again.sequence, count: this.#oneIn(5) ? count : again.count };
    }
    if (choice < 15) return { epoch, sequence: (next + 1 + this.#below(3)) % ROUND, count };
    if (choice < 16) return { epoch, sequence: (next + ROUND - 1 - this.#below(9)) % ROUND, count };
    if (choice < 17) return { epoch: epoch + 1, sequence: 0, count };
    if (choice < 18) return { epoch: epoch + 1, sequence: next, count };
    return { epoch: Math.max(0, epoch - 1), sequence: next, count };
  }

  async #endTransaction(): Promise<void> {
    const producerId = 1 + this.#below(2);
    const own = this.#batches.filter((each) => each.producerId === producerId);
    const current = own.at(-1)?.epoch ?? 0;
    const epoch = Math.max(0, current + this.#below(3) - 1);
    const told = await this.#ask(() => this.#producers.end(producerId, epoch));
    this.trace.push(`${producerId} e${epoch} ends: ${told}`);
    if (own.length > 0 && epoch < current) {
      expect(told, this.#why()).toBe('fenced-producer');
      return;
    }
    expect(told, this.#why()).toBe(`at ${this.#end}`);
    this.#batches.push({
      ...{ producerId, epoch, sequence: -1, count: 1, offset: this.#end, transactional: true },
    });
    this.#end++;
  }

  /** Appends; sometimes waits. */
  async #ask(send: () => ReturnType<ProducerLog['send']>): Promise<string> {
    try {
      const { baseOffset, repeats, flushed } = send();
      const patience = this.#below(4);
      if (patience > 1) await flushed;
      else if (patience === 1) await this.#ticks(this.#below(8));
      return repeats === undefined ? `at ${baseOffset}` : `again ${baseOffset}`;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error); // a StorageError, or it is shown
    }
  }

  async #failFlush(): Promise<void> {
    this.#producers.files.arm({ kind: 'datasync-fails' });
    const sent = this.#producers.send(PRODUCERS, 0, { epoch: this.#below(30000) });
    const error = await sent.flushed;
    this.trace.push(`flush: ${error?.code}`);
    await this.#producers.fixture.store.closePartition(this.#producers.log);
    // What failed may not have come back yet.
    for (let tries = 0; tries < 50; tries++) {
      if (await this.#producers.openPartition().then(() => true, isSticky)) break;
      await this.#ticks(1);
    }
    this.#lookAtLog({ producerId: PRODUCERS, offset: this.#end });
  }

  async #restart(how: 'stop' | 'crash'): Promise<void> {
    const { files } = this.#producers;
    const keep: Keep = this.#oneIn(2) ? 'nothing' : this.#oneIn(2) ? 'anything' : 'everything';
    if (how === 'stop') await this.#producers.close();
    else if (this.#oneIn(3)) files.kill();
    if (how === 'crash' || this.#oneIn(3)) files.crash(keep, this.#random);
    const has = (path: string): boolean => files.paths().includes(path);
    const spoils = this.#below(8);
    if (has(SNAPSHOT)) {
      const bytes = Buffer.from(files.bytesOf(SNAPSHOT));
      if (spoils === 0) await files.process().unlink(SNAPSHOT);
      if (spoils === 1) files.overwrite(SNAPSHOT, bytes.subarray(0, this.#below(bytes.length)));
      if (spoils === 2 && bytes.length > 0) {
        bytes[this.#below(bytes.length)]! ^= 1 << this.#below(8); // within
        files.overwrite(SNAPSHOT, bytes);
      }
      if (spoils === 3 && this.#oldSnapshot !== undefined) files.overwrite(SNAPSHOT, this.#oldSnapshot);
      if (this.#oneIn(2)) this.#oldSnapshot = bytes;
    }
    if (has(CHECKPOINT) && this.#oneIn(8)) await files.process().unlink(CHECKPOINT);
    this.trace.push(`${how}, ${keep}, spoils ${spoils}`);
    await this.#producers.open();
    this.#lookAtLog(undefined);
  }

  /** What was not flushed may be gone. */
  #lookAtLog(failed: { producerId: number; offset: number } | undefined): void {
    const end = this.#producers.log.logEndOffset;
    if (failed !== undefined && end > failed.offset) throw new Error(`${this.#why()}: ${end} is flushed`);
    while (this.#end > end) this.#end = this.#batches.pop()!.offset;
    expect(end, this.#why()).toBe(this.#end);
    this.trace.push(`end ${end}`);
  }

  #expectUnstable(): void {
    const { log } = this.#producers;
    log.setHighWatermark(log.logEndOffset);
    const open = new Map<number, number>();
    for (const { producerId, sequence, transactional, offset } of this.#batches) {
      if (sequence < 0) open.delete(producerId);
      else if (transactional && !open.has(producerId)) open.set(producerId, offset);
    }
    expect(log.firstUnstableOffset, this.#why()).toBe(Math.min(...open.values()));
  }

  async #ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #oneIn(count: number): boolean {
    return this.#below(count) === 0;
  }

  #why(): string {
    return `seed ${this.#seed}\n${this.trace.join('\n')}\n`;
  }
}

/** False for one that may be tried again. */
function isSticky(error: unknown): boolean {
  if (error instanceof StorageError && error.code === 'sticky') return false;
  throw error;
}

/** The rule. `own` are the producer's batches in the log. Returns `next`, `again <offset>` or a code. */
function judge(own: readonly Batch[], epoch: number, sequence: number, count: number): string {
  const current = own.at(-1)?.epoch;
  if (current === undefined) return 'next';
  if (epoch < current) return 'fenced-producer';
  if (epoch > current) return sequence === 0 ? 'next' : 'sequence-gap';
  const data = own.filter((each) => each.epoch === epoch && each.sequence >= 0);
  const first = data[0];
  if (first === undefined) {
    const hadLower = own.some((each) => each.epoch < epoch);
    return !hadLower || sequence === 0 ? 'next' : 'sequence-gap';
  }
  // Places from the epoch's first record on do not go round.
  let total = 0;
  const places = data.map((each) => {
    total += each.count;
    return { ...each, place: total - each.count };
  });
  const place = (sequence - first.sequence + ROUND) % ROUND;
  if (place === total) return 'next';
  const recent = places.slice(-5);
  const again = recent.find((each) => each.place === place && each.count === count);
  if (again !== undefined) return `again ${again.offset}`;
  return place + count <= recent[0]!.place ? 'old-duplicate' : 'sequence-gap'; // data has one at least
}

describe('random programs of producers', () => {
  const seeds =
    ONE_SEED === undefined ? Array.from({ length: RUNS }, (_, index) => index + 1) : [Number(ONE_SEED)];
  it(`${seeds.length} of them: what the log holds is known, exactly`, async () => {
    for (const seed of seeds) {
      const program = new Program(seed);
      await program.run().catch((error: unknown) => {
        throw new Error(`seed ${seed}\n${program.trace.join('\n')}`, { cause: error });
      });
    }
  }, 120_000);
});
