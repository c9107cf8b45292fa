// Directories of topics. A topic is an incarnation: `topic.json` has its id, and a directory with another id is not
// this topic, whatever its name. A deleted topic is renamed away in one step and removed at leisure, so that the name
// is free at once and a crash in between leaves nothing half deleted.
import { join } from 'node:path';
import { CoalescedWork } from './coalesced-work.ts';
import type { Log } from './environment.ts';
import { assert, errorCodeOf } from './errors.ts';
import {
  DELETED_DIRECTORY,
  SET_ASIDE_DIRECTORY,
  TOPIC_FILE,
  TOPICS_DIRECTORY,
  topicDirectory,
} from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { FORMAT_VERSION } from './frame.ts';
import { Gate } from './gate.ts';
import { RENAMES_MAX } from './limits.ts';
import { refuseNewer } from './manifest.ts';
import { asFields, makeDirectory, readJsonFile, writeJsonFile } from './small-file.ts';

export class TopicDirectories {
  readonly #fileSystem: FileSystem;
  readonly #data: string;
  readonly #log: Log;
  /** Topics that were looked at or are being made, by id: once for all their partitions. */
  readonly #made = new Map<string, Promise<void>>();
  /** Thousands of topics may come and go at once, and share the flushes of their names. */
  readonly #topicsSync: CoalescedWork;
  readonly #deletedSync: CoalescedWork;
  /** Renames on their way, few at a time: what else needs libuv's four threads must get through. */
  readonly #renames = new Gate(RENAMES_MAX);
  /** Answers on their way, by id: all partitions of a topic ask at once. */
  readonly #looking = new Map<string, Promise<boolean>>();
  #removing: Promise<void> = Promise.resolve();
  #asideCount = 0;

  constructor(fileSystem: FileSystem, dataDirectory: string, log: Log) {
    this.#fileSystem = fileSystem;
    this.#data = dataDirectory;
    this.#log = log;
    this.#topicsSync = new CoalescedWork(() =>
      fileSystem.syncDirectory(join(dataDirectory, TOPICS_DIRECTORY)),
    );
    this.#deletedSync = new CoalescedWork(() =>
      fileSystem.syncDirectory(join(dataDirectory, DELETED_DIRECTORY)),
    );
  }

  /** Makes the directories that are always there, and goes on removing what an earlier run had deleted. */
  async open(): Promise<void> {
    for (const name of [TOPICS_DIRECTORY, DELETED_DIRECTORY]) {
      await makeDirectory(this.#fileSystem, join(this.#data, name));
    }
    const deleted = join(this.#data, DELETED_DIRECTORY);
    // A process that was killed may have left names that are in memory only: what is seen from now on is on disk.
    const directories = [this.#data, join(this.#data, TOPICS_DIRECTORY), deleted];
    await Promise.all(directories.map((directory) => this.#fileSystem.syncDirectory(directory)));
    for (const name of await this.#fileSystem.readdir(deleted)) this.#remove(join(deleted, name));
  }

  names(): Promise<readonly string[]> {
    return this.#fileSystem.readdir(join(this.#data, TOPICS_DIRECTORY));
  }

  /** The directory of this incarnation, made if it is missing. What lies there of another one is set aside. */
  async ensure(topic: string, topicId: string): Promise<void> {
    assertName(topic);
    let making = this.#made.get(topicId);
    if (making === undefined) {
      making = this.#make(topic, topicId);
      this.#made.set(topicId, making);
      making.catch(() => this.#made.delete(topicId));
    }
    await making;
  }

  /** Whether the directory is there and not another incarnation's. */
  async has(topic: string, topicId: string): Promise<boolean> {
    assertName(topic);
    let looking = this.#looking.get(topicId);
    if (looking === undefined) {
      looking = this.#look(topic, topicId).finally(() => this.#looking.delete(topicId));
      this.#looking.set(topicId, looking);
    }
    return looking;
  }

  async #look(topic: string, topicId: string): Promise<boolean> {
    const directory = topicDirectory(this.#data, topic);
    const id = await this.#idOf(directory);
    return id === undefined ? await this.#isThere(directory) : id === topicId;
  }

  /** Frees the name, durably. What another incarnation has there stays. */
  async delete(topic: string, topicId: string): Promise<void> {
    this.#made.delete(topicId);
    const away = await this.#renames.pass(async () =>
      (await this.has(topic, topicId)) ? this.#moveAway(topic, topicId) : undefined,
    );
    // When it is not there, an attempt before this one may have failed right here.
    await this.#topicsSync.run();
    await this.#deletedSync.run();
    if (away !== undefined) this.#remove(away);
  }

  /** Returns where it is now. A rename of which a crash kept one half has left the usual place taken. */
  async #moveAway(topic: string, topicId: string): Promise<string> {
    for (let name = topicId; ; name = `${topicId}-${++this.#asideCount}`) {
      const away = join(this.#data, DELETED_DIRECTORY, name);
      try {
        await this.#fileSystem.rename(topicDirectory(this.#data, topic), away);
        return away;
      } catch (error) {
        const code = errorCodeOf(error);
        if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
      }
    }
  }

  /** Resolves when nothing is being removed. */
  settled(): Promise<void> {
    return this.#removing;
  }

  async #make(topic: string, topicId: string): Promise<void> {
    const directory = topicDirectory(this.#data, topic);
    if (!(await makeDirectory(this.#fileSystem, directory))) {
      const id = await this.#idOf(directory);
      if (id === topicId) return;
      if (id !== undefined) {
        await this.#setAside(topic, id, directory);
        await this.#fileSystem.mkdir(directory);
      } else {
        await this.#adopt(topic, topicId, directory);
      }
    }
    // Before it has its id, so that who finds the id knows that the directory is on disk.
    await this.#topicsSync.run();
    await writeJsonFile(this.#fileSystem, join(directory, TOPIC_FILE), {
      formatVersion: FORMAT_VERSION,
      topicId,
    });
  }

  /**
   * A directory that does not say whose it is. With nothing in it, making it was interrupted. With records in it the id
   * was lost to damage: it is on disk before the first partition, and who deletes a topic renames the directory.
   */
  async #adopt(topic: string, topicId: string, directory: string): Promise<void> {
    const partitions = await this.#partitionsIn(directory);
    if (partitions > 0) this.#log.warn('topic.id-made-anew', { topic, topicId, partitions, path: directory });
  }

  async #idOf(directory: string): Promise<string | undefined> {
    const path = join(directory, TOPIC_FILE);
    const fields = asFields(await readJsonFile(this.#fileSystem, path));
    refuseNewer(fields?.['formatVersion'], path);
    const topicId = fields?.['topicId'];
    return typeof topicId === 'string' ? topicId : undefined;
  }

  async #isThere(directory: string): Promise<boolean> {
    try {
      return (await this.#fileSystem.stat(directory)).isDirectory;
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  async #partitionsIn(directory: string): Promise<number> {
    return (await this.#fileSystem.readdir(directory)).filter((name) => /^[0-9]+$/.test(name)).length;
  }

  async #setAside(topic: string, topicId: string, directory: string): Promise<void> {
    const aside = join(this.#data, SET_ASIDE_DIRECTORY);
    await makeDirectory(this.#fileSystem, aside);
    const taken = new Set(await this.#fileSystem.readdir(aside));
    let name = topicId;
    while (taken.has(name)) name = `${topicId}-${++this.#asideCount}`;
    await this.#fileSystem.rename(directory, join(aside, name));
    await this.#fileSystem.syncDirectory(join(this.#data, TOPICS_DIRECTORY));
    await this.#fileSystem.syncDirectory(aside);
    await this.#fileSystem.syncDirectory(this.#data);
    this.#log.warn('topic.set-aside', { topic, topicId, path: join(aside, name) });
  }

  /** One after the other, so that thousands of deletions leave the file system to the others. */
  #remove(path: string): void {
    this.#removing = this.#removing
      .then(() => this.#fileSystem.removeTree(path))
      .catch((error: unknown) => {
        // It is tried again at the next start.
        this.#log.warn('topic.not-removed', { path, error, code: errorCodeOf(error) });
      });
  }
}

/** The hub lets legal names through only; this is about paths. */
function assertName(topic: string): void {
  assert(
    /^[A-Za-z0-9._-]{1,249}$/.test(topic) && topic !== '.' && topic !== '..',
    `${topic} is a topic's name`,
  );
}
