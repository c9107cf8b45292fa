// Where batches lie: what the log says of its files and positions, held against the bytes on disk.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PartitionLog } from '../../storage/partition-log.ts';
import {
  append,
  codeOf,
  logConfig,
  openStore,
  PARTITION,
  record,
  withDirectory,
} from '../helpers/store-fixture.ts';

const BATCHES = 60;

async function fill(log: PartitionLog): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch++) {
    const records = [record('a'.repeat(50), 1000 + batch), record('b', 2000 - batch)];
    expect(await append(log, records).flushed).toBeUndefined();
  }
}

/** Every offset's batch is in the file, at the byte, that the log names. */
async function expectPlaces(log: PartitionLog, directory: string): Promise<void> {
  const segments = await log.reads.segments();
  expect(segments.length).toBeGreaterThan(2);
  let offset = 0;
  for (const segment of segments) {
    const bytes = await readFile(join(directory, 'topics', PARTITION.topic, '0', segment.file));
    expect(segment.baseOffset).toBe(offset);
    expect(segment.flushedBytes).toBe(segment.byteSize);
    expect(bytes.length).toBeGreaterThanOrEqual(segment.byteSize);
    expect(segment.firstTimestampMs).toBe(1000 + segment.baseOffset / 2);
    expect(segment.maxTimestampMs).toBe(2000 - segment.baseOffset / 2);
    let end = 0;
    for (; offset < segment.endOffset; offset++) {
      const found = await log.reads.positionOf(offset, log.flushedOffset);
      const baseOffset = offset - (offset % 2);
      expect(found).toMatchObject({
        ...{ segmentBaseOffset: segment.baseOffset, file: segment.file, leaderEpoch: segment.leaderEpoch },
        ...{ baseOffset, lastOffset: baseOffset + 1, recordCount: 2 },
      });
      // A batch begins with the offset of its first record.
      expect(Number(bytes.readBigUInt64BE(found!.position))).toBe(baseOffset);
      end = found!.position + found!.byteLength;
    }
    expect(end).toBe(segment.byteSize);
  }
}

it('are told of batches in memory and in files alike, before and after a restart', async () => {
  await withDirectory(async (directory) => {
    const config = logConfig({ segmentBytes: 4000 });
    const before = await openStore({ directory });
    const written = await before.store.openPartition({ ...PARTITION, config });
    await fill(written);
    await expectPlaces(written, directory);
    expect((await written.reads.segments()).map(({ active }) => active).lastIndexOf(true)).toBe(
      written.segmentCount - 1,
    );
    await before.store.close();

    const { store } = await openStore({ directory });
    const log = await store.openPartition({ ...PARTITION, leaderEpoch: 2, config });
    await expectPlaces(log, directory);
    expect((await log.reads.segments()).some(({ active }) => active)).toBe(false);
    expect(await log.reads.positionOf(2 * BATCHES, log.flushedOffset)).toBeUndefined();
    expect(await codeOf(log.reads.positionOf(2 * BATCHES + 1, log.flushedOffset))).toBe(
      'offset-out-of-range',
    );
    await store.close();
  });
});
