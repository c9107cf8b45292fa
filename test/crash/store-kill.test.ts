// A process with a store under load of eight appenders, killed thirty times on one data directory, in the middle of
// appends, rolls, compaction and the deletion of records: what it said was on disk is there.
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { Child } from '../helpers/child.ts';
import { logConfig, openStore, type ReadRecord, withDirectory } from '../helpers/store-fixture.ts';
import { readTo } from './tracked-log.ts';

const ROUNDS = 30;
const APPENDERS = join(import.meta.dirname, 'appenders.mjs');

beforeAll(() => expect(inject('buildError')).toBe(''));

interface Acknowledged {
  readonly value: string;
  readonly key: string;
}

/** What the killed processes had said. */
class Witness {
  /** By log, by offset. */
  readonly records = { plain: new Map<number, Acknowledged>(), compacted: new Map<number, Acknowledged>() };
  /** The plain log begins here at least, and here at most. */
  startPromised = 0;
  startAllowed = 0;

  hear(output: string): void {
    // The last line may have been cut.
    for (const line of output.split('\n').slice(0, -1)) {
      const [kind, first = '', offset = '', value = '', key = ''] = line.split(' ');
      if (kind === 'a')
        this.records[first as 'plain' | 'compacted'].set(Number(offset), { value, key }); // it has two logs
      else if (kind === 'D') this.startAllowed = Math.max(this.startAllowed, Number(first));
      else if (kind === 'd') this.startPromised = Math.max(this.startPromised, Number(first));
      else expect(line).toBe('open');
    }
  }
}

it(`${ROUNDS} kills under load: all that was said to be on disk is there`, { timeout: 180_000 }, () =>
  withDirectory(async (parent) => {
    const directory = join(parent, 'data');
    const witness = new Witness();
    for (let round = 0; round < ROUNDS; round++) {
      const child = new Child(process.execPath, [APPENDERS, directory, `${round}`]);
      // At another place in each round and each run.
      const lines = 20 + Math.floor(Math.random() * 250);
      await child.waitForLines(lines);
      child.kill('SIGKILL');
      const { stdout, stderr } = await child.finished;
      expect(`${stderr}`).toBe('');
      witness.hear(`${stdout}`);
      // Every other process opens what a killed one left, and not what we closed.
      if (round % 2 === 1) await compare(directory, witness);
    }
    await compare(directory, witness);
    expect(witness.records.plain.size).toBeGreaterThan(ROUNDS * 10);
    expect(witness.startPromised).toBeGreaterThan(0);
  }),
);

async function compare(directory: string, witness: Witness): Promise<void> {
  const { store, log } = await openStore({ directory, checkIntervalMs: 0 });
  const open = async (topic: string, logId: number): Promise<PartitionLog> => {
    const leaderEpoch = (await store.diskLeaderEpoch(topic, topic, 0)) + 1;
    const config = logConfig({ segmentBytes: 8192, deletes: false });
    return store.openPartition({ topic, topicId: topic, partition: 0, logId, leaderEpoch, config });
  };
  const plain = await open('plain', 1);
  const compacted = await open('compacted', 2);
  expect([plain.failed, compacted.failed, log.named('log.damaged')]).toEqual([undefined, undefined, []]);
  await comparePlain(plain, witness);
  await compareCompacted(compacted, witness.records.compacted);
  await store.close();
}

/** Every offset from the start on has a record, and those that were acknowledged have theirs. */
async function comparePlain(log: PartitionLog, witness: Witness): Promise<void> {
  const { logStartOffset: start, logEndOffset: end } = log;
  expect(start).toBeGreaterThanOrEqual(witness.startPromised);
  expect(start).toBeLessThanOrEqual(witness.startAllowed);
  const read = await readTo(log, start, end, 1 << 20);
  // One comparison: a matcher on each of ten thousand records, after every other kill, takes longer than the kills.
  expect(read.findIndex(({ offset }, index) => offset !== start + index)).toBe(-1);
  const lost: number[] = [];
  for (const [offset, { value }] of witness.records.plain) {
    const found = read[offset - start];
    if (offset >= start && (found === undefined || textOf(found) !== value)) lost.push(offset);
  }
  expect(lost).toEqual([]);
  // Nothing is there twice, and what one appender sent is in the order in which it sent it.
  const last = new Map<string, number>();
  const outOfOrder: string[] = [];
  for (const record of read) {
    const [, appender = '', number = ''] = /^(\d+-\d+)-(\d+)$/.exec(textOf(record)) ?? [];
    if (!(Number(number) > (last.get(appender) ?? -1))) outOfOrder.push(textOf(record));
    last.set(appender, Number(number));
  }
  expect(outOfOrder).toEqual([]);
}

/** What was acknowledged is there, or a later record of its key is; and nothing else is at its offset. */
async function compareCompacted(log: PartitionLog, records: Map<number, Acknowledged>): Promise<void> {
  const read = await readTo(log, log.logStartOffset, log.logEndOffset, 1 << 20);
  const byOffset = new Map(read.map((record) => [record.offset, record]));
  const newest = new Map(read.map((record) => [`${record.key}`, record.offset]));
  const lost: number[] = [];
  for (const [offset, { value, key }] of records) {
    const found = byOffset.get(offset);
    if (found === undefined ? (newest.get(key) ?? -1) <= offset : textOf(found) !== value) lost.push(offset);
  }
  expect(lost).toEqual([]);
}

const textOf = ({ value }: ReadRecord): string => `${value}`.replace(/\.*$/, '');
