// `polylog log rebuild-meta`: topics that the hub does not know any more, because meta/ was lost or damaged, from their
// files. Holds the directory's lock while it works.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import path from 'node:path';
import {
  findTopicsOnDisk,
  type MetaStore,
  nodeFileSystem,
  openInspectedIndex,
  openMetaStore,
  StorageError,
} from '../../storage/index.ts';
import { type FoundTopic, rebuildTopics } from '../hub/topic-rebuilding.ts';
import { TOPIC_PREFIX } from '../hub/topic-records.ts';
import { shownPath, withLogPlace } from './log-place.ts';
import { EXIT, type Surroundings } from './surroundings.ts';

export interface RebuildOptions {
  readonly dryRun?: boolean;
}

export function rebuildMeta(
  where: string,
  { dryRun = false }: RebuildOptions,
  surroundings: Surroundings,
): Promise<number> {
  return withLogPlace(
    { path: where, selection: undefined },
    surroundings,
    async ({ kind, path: directory }) => {
      if (kind !== 'data') {
        surroundings.err(`polylog: ${directory} is not a data directory\n`);
        return EXIT.wrongUsage;
      }
      const index = await openInspectedIndex(nodeFileSystem, directory);
      try {
        const topics = await topicsIn(directory);
        const metaStore = await openLost(path.join(directory, 'meta'), dryRun, surroundings);
        try {
          if (metaStore !== undefined && !dryRun) {
            // Rows are found by log ids, which are others from now on; an opening makes them anew.
            await index?.clear(Buffer.alloc(1), Buffer.alloc(32, 0xff));
            await rebuild(metaStore, topics);
          }
        } finally {
          await metaStore?.close();
        }
        tell(topics, dryRun, surroundings);
      } finally {
        await index?.close();
      }
      return EXIT.done;
    },
  );
}

async function topicsIn(directory: string): Promise<readonly FoundTopic[]> {
  const found = await findTopicsOnDisk(nodeFileSystem, directory);
  return found
    .filter(({ partitions }) => partitions > 0)
    .map(({ topicId, ...topic }) => ({ ...topic, topicId: topicId ?? randomUUID() }));
}

/**
 * A MetaStore without topics; undefined when there is none and none is to be made. What is damaged is set aside.
 * @throws StorageError data-directory: it has topics; locked, io
 */
async function openLost(
  directory: string,
  dryRun: boolean,
  surroundings: Surroundings,
): Promise<MetaStore | undefined> {
  if (dryRun && !existsSync(directory)) return undefined;
  try {
    return await openWithoutTopics(directory);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'corrupt') throw error;
    if (dryRun) return undefined;
    const aside = `${directory}.damaged-${Date.now()}`;
    await rename(directory, aside);
    surroundings.out(
      `${shownPath(directory, surroundings)} is damaged, and is ${path.basename(aside)} now\n`,
    );
    return openWithoutTopics(directory);
  }
}

async function openWithoutTopics(directory: string): Promise<MetaStore> {
  const metaStore = await openMetaStore(directory);
  try {
    const { length } = await metaStore.list(TOPIC_PREFIX);
    if (length === 0) return metaStore;
    throw new StorageError(
      'data-directory',
      `${directory} knows of ${length} topics: it is not lost, and nothing was done. To make it anew all the same, move it away`,
    );
  } catch (error) {
    await metaStore.close();
    throw error;
  }
}

async function rebuild(metaStore: MetaStore, topics: readonly FoundTopic[]): Promise<void> {
  const result = await rebuildTopics(metaStore, topics, Date.now());
  if (result.outcome === 'unknown') throw result.cause;
  // Nobody else has it open.
  if (result.outcome === 'refused') throw new Error(`${result.key} came to be there meanwhile`);
}

function tell(topics: readonly FoundTopic[], dryRun: boolean, surroundings: Surroundings): void {
  for (const { name, partitions } of topics)
    surroundings.out(`${name}: ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}\n`);
  const does = dryRun ? 'would be' : 'are';
  surroundings.out(`${topics.length} topics ${does} known again, with all their records.\n`);
  surroundings.out(
    'What they were configured to is lost: nothing of them is deleted or compacted until `polylog topics alter`, or the file, says what they keep.\n',
  );
}
