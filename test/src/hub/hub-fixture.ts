// A hub over a real store in a directory of its own, and small verbs for records that are texts.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type {
  Appended,
  Clock,
  Partition,
  RecordRange,
  RecordWriter,
  Refused,
} from '../../../protocols/port.ts';
import type { DeclaredTopic, TopicDefaults } from '../../../src/config/broker-config.ts';
import { SYSTEM_CLOCK, SYSTEM_RANDOM } from '../../../src/hub/clock.ts';
import { type LocalHub, openHub } from '../../../src/hub/hub.ts';
import type { HubPartition } from '../../../src/hub/partition.ts';
import type { HubTopic } from '../../../src/hub/topic.ts';
import { type FileSystem, nodeFileSystem, type OpenFile } from '../../../storage/file-system.ts';
import { type LogStore, type MetaStore, openLogStore, openMetaStore } from '../../../storage/index.ts';
import { TestLog } from './test-log.ts';

export interface TestHub {
  readonly hub: LocalHub;
  readonly store: LogStore;
  readonly metaStore: MetaStore;
  readonly log: TestLog;
  close(): Promise<void>;
}

export interface TestHubOptions {
  readonly topics?: Partial<TopicDefaults>;
  readonly declaredTopics?: readonly DeclaredTopic[];
  readonly fileSystem?: FileSystem;
  readonly clock?: Clock;
  readonly diskReserveBytes?: number;
  /** Puts faults between the hub and its MetaStore. */
  readonly wrapMetaStore?: (metaStore: MetaStore) => MetaStore;
}

export const TOPIC_DEFAULTS: TopicDefaults = {
  partitions: 1,
  partitionsMax: 100,
  autoCreate: true,
  autoCreateLimit: 100,
  config: {},
  statePartitions: 4,
};

/** A new directory, removed when the test is over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-hub-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What a process that is killed now would leave behind. */
export function copyAsIfKilled(directory: string): string {
  const copy = path.join(temporaryDirectory(), 'data');
  cpSync(directory, copy, { recursive: true });
  return copy;
}

export async function openTestHub(directory: string, options: TestHubOptions = {}): Promise<TestHub> {
  const log = new TestLog();
  const { fileSystem, clock = SYSTEM_CLOCK, diskReserveBytes = 0 } = options;
  const surroundings = { clock, random: SYSTEM_RANDOM, log };
  const store = await openLogStore({
    directory,
    nodeId: 7,
    diskReserveBytes,
    ...surroundings,
    ...(fileSystem === undefined ? {} : { fileSystem }),
  });
  const opened = await openMetaStore(path.join(directory, 'meta'));
  const metaStore = options.wrapMetaStore?.(opened) ?? opened;
  const hub = await openHub({
    store,
    metaStore,
    nodeId: 7,
    rack: undefined,
    topics: { ...TOPIC_DEFAULTS, ...options.topics },
    declaredTopics: options.declaredTopics ?? [],
    advertised: new Map(),
    ...surroundings,
  });
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    hub.close();
    await metaStore.close();
    await store.close();
  };
  onTestFinished(close);
  return { hub, store, metaStore, log, close };
}

export async function createTopic(hub: LocalHub, name: string, partitions = 1): Promise<HubTopic> {
  const made = await hub.topics.create({ name, partitions, replicationFactor: -1, config: {} });
  if ('error' in made) throw new Error(`${made.error}: ${made.message}`);
  return hub.topics.get(name)!;
}

export async function createPartition(hub: LocalHub, name: string): Promise<HubPartition> {
  return (await createTopic(hub, name)).partitions[0]!;
}

/** One record without a key whose value is the text. */
export function writeText(writer: RecordWriter, text: string): void {
  const value = Buffer.from(text);
  writer.startRecord(1000, value, -1, -1, 0);
  writer.endRecord(value, 0, value.length, null);
}

/** One batch of texts, flushed. */
export async function append(partition: Partition, ...texts: string[]): Promise<Appended | Refused> {
  const appended = partition.append({ acks: 'flushed' }, (writer) => {
    for (const text of texts) writeText(writer, text);
  });
  if (appended.refused !== undefined) return appended;
  const outcome = await appended.acknowledged;
  return outcome.refused === undefined ? appended : outcome;
}

export function textsOf(hub: LocalHub, range: RecordRange): string[] {
  const cursor = hub.cursor();
  cursor.reset(range);
  const texts: string[] = [];
  while (cursor.nextBatch()) {
    while (cursor.nextRecord()) texts.push(cursor.bytes.toString('utf8', cursor.valueStart, cursor.valueEnd));
  }
  return texts;
}

/** All that a reader sees from the log start on. */
export async function readTexts(hub: LocalHub, partition: Partition): Promise<string[]> {
  const texts: string[] = [];
  let offset = partition.logStartOffset;
  while (offset < partition.highWatermark) {
    const range = await partition.read({ offset, maxBytes: 1000, upTo: 'highWatermark' });
    if (range.refused !== undefined) throw new Error(`${range.refused}: ${range.message}`);
    texts.push(...textsOf(hub, range));
    offset = range.nextOffset;
  }
  return texts;
}

/** Node's own file system, but for the flushes of logs while `failFlushes` is set. */
export class FaultyFileSystem {
  failFlushes = false;

  readonly fileSystem: FileSystem = {
    ...nodeFileSystem,
    open: async (filePath, mode) => {
      const file = await nodeFileSystem.open(filePath, mode);
      return filePath.endsWith('.log') ? this.#faulty(file) : file;
    },
  };

  #faulty(file: OpenFile): OpenFile {
    return {
      read: (...args) => file.read(...args),
      write: (...args) => file.write(...args),
      truncate: (size) => file.truncate(size),
      close: () => file.close(),
      datasync: () => (this.failFlushes ? Promise.reject(new Error('no flush')) : file.datasync()),
    };
  }
}
