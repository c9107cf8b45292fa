// The partitions that are open or being opened: by directory, and of a topic, so that deleting one of thousands does
// not look at all.
import type { PartitionLog } from './partition-log.ts';

export interface OpenPartition {
  readonly directory: string;
  readonly topicId: string;
  readonly logId: number;
  readonly log: Promise<PartitionLog>;
  /** Once it is open. */
  opened: PartitionLog | undefined;
}

export class OpenPartitions {
  readonly #byDirectory = new Map<string, OpenPartition>();
  readonly #ofTopic = new Map<string, Set<OpenPartition>>();

  has(directory: string): boolean {
    return this.#byDirectory.has(directory);
  }

  get(directory: string): OpenPartition | undefined {
    return this.#byDirectory.get(directory);
  }

  all(): OpenPartition[] {
    return [...this.#byDirectory.values()];
  }

  /** Those that are open now. */
  opened(): PartitionLog[] {
    return this.all().flatMap(({ opened }) => opened ?? []);
  }

  add(open: OpenPartition): void {
    this.#byDirectory.set(open.directory, open);
    const ofTopic = this.#ofTopic.get(open.topicId);
    if (ofTopic === undefined) this.#ofTopic.set(open.topicId, new Set([open]));
    else ofTopic.add(open);
  }

  /** False when it is not there, or another one is in its place. */
  remove(open: OpenPartition): boolean {
    if (this.#byDirectory.get(open.directory) !== open) return false;
    this.#byDirectory.delete(open.directory);
    const ofTopic = this.#ofTopic.get(open.topicId);
    ofTopic?.delete(open);
    if (ofTopic?.size === 0) this.#ofTopic.delete(open.topicId);
    return true;
  }

  /** Those of a topic, which are removed. */
  takeTopic(topicId: string): OpenPartition[] {
    const taken = [...(this.#ofTopic.get(topicId) ?? [])];
    for (const open of taken) this.remove(open);
    return taken;
  }
}
