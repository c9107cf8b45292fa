// The rows of the index that say which transactions were aborted: spoilt or lost, they are made anew by whoever needs them,
// and `log verify` tells. And what the control batches say of their transactions, held against the batches.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFileSystem } from '../../storage/file-system.ts';
import * as frame from '../../storage/frame.ts';
import { withChecksums } from '../../storage/index-checksums.ts';
import { type Finding, Findings, noTotals } from '../../storage/inspection-findings.ts';
import { verifyLog } from '../../storage/inspection-verify.ts';
import { indexKey, SPACE_ABORTED } from '../../storage/offset-index.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  record,
  withDirectory,
} from '../helpers/store-fixture.ts';

const COUNT = 5;

/** Transactions of producer 1, aborted one after the other, each of one record: offsets 0 and 1, 2 and 3, … */
async function writeAborted(log: PartitionLog): Promise<void> {
  for (let sequence = 0; sequence < COUNT; sequence++) {
    append(log, [record('void')], {
      ...{ producerId: 1, producerEpoch: 0, baseSequence: sequence, recordCount: 1, transactional: true },
    });
    const end = { producerId: 1, producerEpoch: 0, aborts: true, coordinatorEpoch: 0 };
    await log.endTransaction(end).flushed;
  }
}

const ABORTED = Array.from({ length: COUNT }, (_, index) => ({
  ...{ producerId: 1, firstOffset: 2 * index, lastOffset: 2 * index + 1 },
}));

async function abortedOf(log: PartitionLog) {
  const found = [];
  for (let offset = 0; offset < log.logEndOffset; ) {
    const range = await log.read(offset, 1, log.logEndOffset, 'committed');
    for (const each of range.aborted ?? []) if (each.firstOffset >= offset) found.push(each);
    offset = range.nextOffset;
  }
  return found;
}

async function verify(directory: string, database?: MemoryIndex, fileSystem = nodeFileSystem) {
  const found: Finding[] = [];
  const index = database && { database: withChecksums(database, () => {}), logId: PARTITION.logId };
  const options = { fileSystem, directory: join(directory, 'topics', PARTITION.topic, '0'), index };
  await verifyLog(
    { ...options, compacts: false },
    new Findings((finding) => found.push(finding)),
    noTotals(),
  );
  return found.filter(({ severity }) => severity === 'error');
}

describe.each(['a stop', 'a crash right behind it'])('a row of the index after %s', (how) => {
  it.each<[string, (row: Buffer) => Buffer]>([
    ['with a changed byte', (row) => row.with(9, row[9]! ^ 1) as Buffer],
    ['cut in half', (row) => row.subarray(0, row.length / 2)],
    ['that is empty', () => Buffer.alloc(0)],
  ])('%s is told, and made anew', async (_title, spoil) => {
    const files = new FaultyFileSystem(['/']);
    const memory = new MemoryIndex();
    const open = async (leaderEpoch: number) => {
      const index = withChecksums(memory, () => {});
      const { store } = await openStore({ directory: '/data', fileSystem: files.process(), index });
      const log = await store.openPartition({ ...PARTITION, leaderEpoch, config: logConfig({}) });
      log.onCommitted = (offset) => log.setHighWatermark(offset);
      return { store, log };
    };
    const first = await open(1);
    await writeAborted(first.log);
    if (how === 'a stop') await first.store.close();
    else {
      await first.store.closePartition(first.log);
      files.crash('nothing', seededRandom(1));
    }
    const key = indexKey(SPACE_ABORTED, PARTITION.logId, 0, 0, 0);
    const row = await memory.get(key);
    expect(row?.length).toBeGreaterThan(32 * COUNT);
    expect(await verify('/data', memory, files.process())).toEqual([]);
    await memory.put([{ key, value: Buffer.from(spoil(row!)) }]);
    expect(await verify('/data', memory, files.process())).toMatchObject([{ code: 'index' }]);
    const second = await open(2);
    expect(await abortedOf(second.log)).toEqual(ABORTED);
    await second.store.close();
    expect(await verify('/data', memory, files.process())).toEqual([]);
  });
});

describe('a control batch', () => {
  /** Changes the last control batch of the log, under a right checksum. */
  function change(directory: string, apply: (value: Buffer) => void): void {
    const partition = join(directory, 'topics', PARTITION.topic, '0');
    const name = readdirSync(partition).find((each) => each.endsWith('.log'))!;
    const bytes = readFileSync(join(partition, name));
    const view = frame.viewOf(bytes);
    let at = 0;
    while (at + frame.batchByteLengthAt(view, at) < bytes.length) at += frame.batchByteLengthAt(view, at);
    apply(bytes.subarray(bytes.length - 20));
    const length = frame.batchByteLengthAt(view, at);
    view.setUint32(at + frame.BATCH_CHECKSUM_AT, frame.batchChecksum(bytes, view, at, length));
    writeFileSync(join(partition, name), bytes);
  }

  async function written(directory: string): Promise<void> {
    const { store } = await openStore({ directory, index: new MemoryIndex() });
    const log = await store.openPartition({ ...PARTITION, leaderEpoch: 1, config: logConfig({}) });
    log.onCommitted = (offset) => log.setHighWatermark(offset);
    const open = { producerId: 2, producerEpoch: 0, baseSequence: 0, recordCount: 1, transactional: true };
    append(log, [record('open')], open);
    await writeAborted(log);
    await store.close();
  }

  it.each<[string, (value: Buffer) => void, string]>([
    ['of another first offset', (value) => value.writeBigInt64BE(7n, 4), 'it began at 7: it began at 9'],
    ['of no transaction', (value) => value.writeBigInt64BE(-1n, 4), 'none was open: it began at 9'],
    ['of another stable offset', (value) => value.writeBigInt64BE(11n, 12), 'said to be 11: it is 0'],
  ])('%s is told', (_title, spoil, message) =>
    withDirectory(async (directory) => {
      await written(directory);
      expect(await verify(directory)).toEqual([]);
      change(directory, spoil);
      expect(await verify(directory)).toMatchObject([
        { code: 'batch', message: expect.stringContaining(message) },
      ]);
    }),
  );

  it('of a transaction whose beginning is deleted may say where that was', () =>
    withDirectory(async (directory) => {
      const index = new MemoryIndex();
      const { store } = await openStore({ directory, index });
      const config = logConfig({ segmentBytes: 200 });
      const log = await store.openPartition({ ...PARTITION, leaderEpoch: 1, config });
      log.onCommitted = (offset) => log.setHighWatermark(offset);
      const own = { producerId: 2, producerEpoch: 0, recordCount: 1, transactional: true };
      for (let sequence = 0; sequence < 6; sequence++)
        await append(log, [record('long')], { ...own, baseSequence: sequence }).flushed;
      await log.deleteRecords(4);
      await log.endTransaction({ producerId: 2, producerEpoch: 0, aborts: true, coordinatorEpoch: 0 })
        .flushed;
      await store.close();
      expect(await verify(directory)).toEqual([]);
    }));
});
