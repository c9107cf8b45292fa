// What the files of a data directory say of its topics, whoever knows of them: names, ids and partitions. For the offline
// tools; makes nothing.
import { join } from 'node:path';
import { errorCodeOf, storageErrorOf } from './errors.ts';
import { TOPIC_FILE, TOPICS_DIRECTORY } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { asFields, readJsonFile } from './small-file.ts';

export interface TopicOnDisk {
  readonly name: string;
  /** Undefined when the topic's file is lost. */
  readonly topicId: string | undefined;
  /** One more than the highest number. */
  readonly partitions: number;
}

/** By name. @throws StorageError io */
export async function findTopicsOnDisk(
  fileSystem: FileSystem,
  dataDirectory: string,
): Promise<readonly TopicOnDisk[]> {
  const directory = join(dataDirectory, TOPICS_DIRECTORY);
  try {
    const names = (await fileSystem.readdir(directory)).toSorted();
    const topics: TopicOnDisk[] = [];
    for (const name of names) {
      const topic = join(directory, name);
      if (!(await fileSystem.stat(topic)).isDirectory) continue;
      const numbers = (await fileSystem.readdir(topic))
        .filter((each) => /^[0-9]{1,9}$/.test(each))
        .map(Number);
      const topicId = asFields(await readJsonFile(fileSystem, join(topic, TOPIC_FILE)))?.['topicId'];
      topics.push({
        name,
        topicId: typeof topicId === 'string' ? topicId : undefined,
        partitions: Math.max(-1, ...numbers) + 1,
      });
    }
    return topics;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw storageErrorOf(error, `reading ${directory}`);
  }
}
