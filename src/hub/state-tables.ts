// State tables of the front ends: each on an internal compacted topic, its partitions loaded from their logs and
// woken when these advance.
import type {
  Clock,
  Log,
  Refused,
  StatePartitionState,
  StateRecord,
  StateTable,
  StateTableOptions,
} from '../../protocols/port.ts';
import { type PartitionLog, StateTable as StoredTable } from '../../storage/index.ts';
import { partitionOfKey } from './murmur2.ts';
import type { HubPartition } from './partition.ts';
import { refusalOf } from './refusals.ts';
import type { HubTopic } from './topic.ts';

/**
 * What makes a start quick: a state topic is read whole then, and compaction leaves alone the segment that is written
 * to. Said here where a default for all topics would harm: a table that loads while its log is compacted must find the
 * tombstones of what it has read.
 */
export const STATE_TOPIC_CONFIG: Readonly<Record<string, string>> = {
  'cleanup.policy': 'compact',
  'segment.bytes': String(1024 * 1024),
  'min.compaction.lag.ms': '0',
  'delete.retention.ms': String(24 * 3_600_000),
};

/** A state table over the topic's logs. Resolves when each partition has been replayed, or could not be. */
export async function openStateTable(
  topic: HubTopic,
  options: StateTableOptions,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<HubStateTable> {
  const { apply, onState } = options;
  const table = new StoredTable({
    name: topic.name,
    partitions: topic.partitions.length,
    clock,
    log,
    apply,
    ...(onState === undefined ? {} : { onState }),
  });
  const load = async (each: HubPartition, partitionLog: PartitionLog | undefined): Promise<void> => {
    if (partitionLog === undefined) return; // said when it could not be opened; its state stays `gone`
    try {
      await table.load(each.partition, partitionLog);
    } catch (error) {
      // The other partitions serve; this one's clients are told that its coordinator is not here.
      log.error('state-not-loaded', { table: each.name, error });
    }
  };
  const stopListening = topic.partitions.flatMap((each) => [
    each.onAdvance(() => table.advance(each.partition)),
    each.onReopened((reopened) => void load(each, reopened)), // never rejects
  ]);
  await Promise.all(topic.partitions.map((each) => load(each, each.log)));
  return new HubStateTable(topic.name, topic.partitions.length, table, stopListening);
}

export class HubStateTable implements StateTable {
  readonly topic: string;
  readonly partitions: number;
  readonly #table: StoredTable;
  readonly #stopListening: readonly (() => void)[];

  constructor(topic: string, partitions: number, table: StoredTable, stopListening: readonly (() => void)[]) {
    this.topic = topic;
    this.partitions = partitions;
    this.#table = table;
    this.#stopListening = stopListening;
  }

  partitionOf(id: string): number {
    return partitionOfKey(Buffer.from(id, 'utf8'), this.partitions);
  }

  stateOf(partition: number): StatePartitionState {
    return this.#table.stateOf(partition);
  }

  async write(partition: number, records: readonly StateRecord[]): Promise<undefined | Refused> {
    const error = await this.#table.write(partition, records);
    return error === undefined ? undefined : refusalOf(error);
  }

  read(partition: number, offset: number): Promise<StateRecord | undefined> {
    return this.#table.read(partition, offset);
  }

  scan(
    partition: number,
    fromOffset: number,
    maxBytes: number,
    onRecord: (key: Buffer, value: Buffer | null, offset: number) => void,
  ): Promise<number> {
    return this.#table.scan(partition, fromOffset, maxBytes, onRecord);
  }

  /** Names of the partitions that do not serve. */
  notServing(): readonly string[] {
    const partitions = Array.from({ length: this.partitions }, (_, partition) => partition);
    return partitions
      .filter((partition) => this.stateOf(partition) !== 'serving')
      .map((partition) => `${this.topic}-${partition}`);
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
    for (let partition = 0; partition < this.partitions; partition++) this.#table.unload(partition);
  }
}
