// What a log that has failed and was closed still has on its way: nothing of it reaches the files of its successor.
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../storage/file-system.ts';
import { nextTurn } from '../../storage/gate.ts';
import { readManifest } from '../../storage/manifest.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  MemoryIndex,
  openStore,
  PARTITION,
  record,
  type StoreFixture,
} from '../helpers/store-fixture.ts';

const DIRECTORY = '/data/topics/events/0';

function openOn(fileSystem: FileSystem, options: Partial<LogStoreOptions> = {}): Promise<StoreFixture> {
  return openStore({ directory: '/data', fileSystem, index: new MemoryIndex(), ...options });
}

async function turns(count: number): Promise<void> {
  for (let each = 0; each < count; each++) await nextTurn();
}

describe('a log that has failed and was closed', () => {
  it('does not write the manifest that waited for its turn: by then it is its successor’s', async () => {
    const files = new FaultyFileSystem(['/']);
    const fileSystem = files.process();
    const { store } = await openOn(fileSystem);
    const release = store.holdSmallWrites();
    const first = await store.openPartition(PARTITION);
    await append(first, [record('a'), record('b')]).flushed;
    files.arm({ kind: 'write-fails', code: 'EIO', afterBytes: 0 });
    expect((await append(first, [record('lost')]).flushed)?.code).toBe('io');
    await turns(5);
    await store.closePartition(first);

    const second = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(await second.deleteRecords(2)).toBe(2);
    const acknowledged = { leaderEpoch: 2, highWatermark: 2, logStartOffset: 2 };
    expect(await readManifest(fileSystem, DIRECTORY)).toMatchObject(acknowledged);
    release();
    await turns(50);
    expect(await readManifest(fileSystem, DIRECTORY)).toMatchObject(acknowledged);
    expect(files.paths().filter((path) => path.endsWith('.new'))).toEqual([]);
    await store.close();
  });

  it('does not write where its leader epochs begin when its file is made after that', async () => {
    const files = new FaultyFileSystem(['/']);
    const fileSystem = files.process();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isMaking = false;
    const { store, clock } = await openOn({
      ...fileSystem,
      open: async (path, mode, synchronous) => {
        if (mode === 'create' && path.endsWith('.log')) {
          isMaking = true;
          await held;
        }
        return fileSystem.open(path, mode, synchronous);
      },
    });
    const log = await store.openPartition(PARTITION);
    const { flushed } = append(log, [record('stuck')]);
    while (!isMaking) await nextTurn();
    clock.advance(30_000);
    expect((await flushed)?.code).toBe('io');
    await store.closePartition(log);
    release();
    await turns(50);
    expect(files.paths().filter((path) => path.startsWith(`${DIRECTORY}/leader-epochs`))).toEqual([]);
    await store.close();
  });
});
