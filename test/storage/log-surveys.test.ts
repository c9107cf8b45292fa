// What an opening knows of a directory because somebody has asked for its epochs: it is of this opening or not used.
import { describe, expect, it } from 'vitest';
import type { FileSystem } from '../../storage/file-system.ts';
import { nextTurn } from '../../storage/gate.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  type StoreFixture,
  valuesOf,
} from '../helpers/store-fixture.ts';

const DIRECTORY = '/data/topics/events/0';
const { topic, topicId } = PARTITION;

function openOn(fileSystem: FileSystem): Promise<StoreFixture> {
  return openStore({ directory: '/data', fileSystem, index: new MemoryIndex() });
}

/** The answer of one directory waits, after `hold`, until it is released. */
class HeldDirectory {
  readonly fileSystem: FileSystem;
  asked = 0;
  #isHeld = false;
  #release: (() => void) | undefined;

  constructor(fileSystem: FileSystem) {
    this.fileSystem = {
      ...fileSystem,
      readdir: async (path) => {
        const names = await fileSystem.readdir(path);
        if (path !== DIRECTORY) return names;
        this.asked++;
        if (!this.#isHeld) return names;
        this.#isHeld = false;
        await new Promise<void>((resolve) => {
          this.#release = resolve;
        });
        return names;
      },
    };
  }

  hold(): void {
    this.#isHeld = true;
  }

  /** Resolves when somebody waits for it. */
  async isWaitedFor(): Promise<void> {
    while (this.#release === undefined) await nextTurn();
  }

  release(): void {
    this.#release?.();
  }
}

describe('the leader epoch on disk', () => {
  it('spares the opening that follows a look at the directory', async () => {
    const directory = new HeldDirectory(new FaultyFileSystem(['/']).process());
    const { store } = await openOn(directory.fileSystem);
    await store.closePartition(await store.openPartition(PARTITION));
    const before = directory.asked;
    expect(await store.diskLeaderEpoch(topic, topicId, 0)).toBe(1);
    await store.closePartition(await store.openPartition({ ...PARTITION, leaderEpoch: 2 }));
    expect(directory.asked).toBe(before + 1);
    await store.openPartition({ ...PARTITION, leaderEpoch: 3 });
    expect(directory.asked).toBe(before + 2);
    await store.close();
  });

  it('says nothing to a later opening when it was asked for while the log was open', async () => {
    const { store } = await openOn(new FaultyFileSystem(['/']).process());
    const log = await store.openPartition(PARTITION);
    await store.diskLeaderEpoch(topic, topicId, 0);
    await append(log, [record('acknowledged')]).flushed;
    await store.closePartition(log);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(valuesOf(await readAll(again))).toEqual(['acknowledged']);
    await store.close();
  });

  it('says nothing to a later opening when the answer comes after one before it', async () => {
    const directory = new HeldDirectory(new FaultyFileSystem(['/']).process());
    const { store } = await openOn(directory.fileSystem);
    await store.closePartition(await store.openPartition(PARTITION));
    directory.hold();
    const asking = store.diskLeaderEpoch(topic, topicId, 0);
    await directory.isWaitedFor();
    const log = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    directory.release();
    await asking;
    await append(log, [record('acknowledged')]).flushed;
    await store.closePartition(log);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 3 });
    expect(valuesOf(await readAll(again))).toEqual(['acknowledged']);
    await store.close();
  });

  it('says nothing of a topic that was deleted meanwhile to the one in its place', async () => {
    const directory = new HeldDirectory(new FaultyFileSystem(['/']).process());
    const { store } = await openOn(directory.fileSystem);
    const old = await store.openPartition(PARTITION);
    await append(old, [record('old')]).flushed;
    await store.closePartition(old);
    directory.hold();
    const asking = store.diskLeaderEpoch(topic, topicId, 0);
    await directory.isWaitedFor();
    await store.deleteTopic(topic, topicId, [1]);
    directory.release();
    await asking;
    const anew = await store.openPartition({ ...PARTITION, topicId: 'incarnation-2', logId: 2 });
    await append(anew, [record('new')]).flushed;
    expect(valuesOf(await readAll(anew))).toEqual(['new']);
    await store.close();
  });
});
