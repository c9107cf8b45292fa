// The followers of all partitions, and how far each has come: written down now and then and at a clean stop, so that a
// start after a crash looks at little, and at all that may have been left undone.
import type { Hub, Partition, Refused, Timer, TopicView } from '../../port.ts';
import type { RetainFollowerOptions } from './retain-follower.ts';
import { RetainFollower } from './retain-follower.ts';
import { encodePosition, MARKER_KEY, MARKER_VALUE, positionKey } from './retained-record.ts';
import type { RetainedTable } from './retained-table.ts';
import type { Source } from './topic-index.ts';

/** Positions are written so often while partitions are written to … */
const CHECKPOINT_INTERVAL_MS = 10_000;
/** … and after so many bytes: what a start after a crash reads again. */
const CHECKPOINT_BYTES = 256 * 1024 * 1024;

export class RetainFollowers {
  readonly #hub: Hub;
  readonly #table: RetainedTable;
  readonly #options: RetainFollowerOptions;
  readonly #followers = new Map<Partition, RetainFollower>();
  readonly #bySource = new Map<Source, RetainFollower>();
  /** Those that may have something to look at. */
  readonly #behind = new Set<RetainFollower>();
  /** Those whose position has moved since it was written. */
  readonly #moved = new Set<RetainFollower>();
  #movedBytes = 0;
  #timer: Timer | undefined;
  #writing: Promise<undefined | Refused> | undefined;
  #stopListening: () => void = () => undefined;
  #closed = false;

  constructor(
    hub: Hub,
    table: RetainedTable,
    options: Pick<RetainFollowerOptions, 'changeOf' | 'nameOf' | 'visibilityOf' | 'retainedFrom'>,
  ) {
    this.#hub = hub;
    this.#table = table;
    this.#options = {
      hub,
      cursor: hub.cursor(),
      nameOf: options.nameOf,
      visibilityOf: options.visibilityOf,
      retainedFrom: options.retainedFrom,
      changeOf: options.changeOf,
      write: (changes) => table.write(changes),
      onBehind: (follower) => this.#behind.add(follower),
      onMoved: (follower, bytes) => this.#note(follower, bytes),
    };
  }

  /** Resolves when what a crash has left undone is done, or cannot be. */
  async start(): Promise<void> {
    this.#stopListening = this.#hub.topics.onChange(({ kind, topic }) => {
      if (kind === 'deleted') this.#remove(topic);
      else this.#add(topic);
    });
    if (!this.#table.hasMarker) await this.#skipWhatIsThere();
    for (const topic of this.#hub.topics.list()) this.#add(topic);
    this.#forgetDeleted();
    await this.settled();
  }

  /** The one of a partition; undefined when its topic is gone. */
  of(partition: Partition): RetainFollower | undefined {
    return this.#followers.get(partition);
  }

  /** Resolves when all that is committed now has been looked at; undefined when it has been already. */
  settled(): Promise<unknown> | undefined {
    const behind: Promise<unknown>[] = [];
    for (const follower of this.#behind) if (follower.isBehind) behind.push(follower.settled());
    return behind.length === 0 ? undefined : Promise.all(behind);
  }

  /** The one of the partition that a message came by, while subscribers may have seen more of it than the table shows. */
  behind(source: Source): RetainFollower | undefined {
    const follower = this.#bySource.get(source);
    return follower?.isBehind === true ? follower : undefined;
  }

  /** Positions are on disk when it resolves: nothing that has been looked at is looked at again. Never rejects. */
  async checkpoint(): Promise<undefined | Refused> {
    while (this.#writing !== undefined) await this.#writing;
    return this.#checkpoint();
  }

  /** Positions are written: the next start reads nothing. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopListening();
    this.#timer?.cancel();
    for (const follower of this.#followers.values()) follower.close();
    await this.#writing;
    await this.#checkpoint();
  }

  #add(topic: TopicView): void {
    if (topic.internal) return;
    for (const partition of topic.partitions) {
      if (this.#followers.has(partition)) continue;
      const source = this.#table.sourceOf(topic.topicId, partition.partition);
      const position = this.#table.positions.get(source) ?? partition.logStartOffset;
      const from = Math.min(position, partition.highWatermark);
      const follower = new RetainFollower(partition, source, from, this.#options);
      this.#followers.set(partition, follower);
      this.#bySource.set(source, follower);
    }
  }

  #remove(topic: TopicView): void {
    const records = [];
    for (const partition of topic.partitions) {
      const follower = this.#followers.get(partition);
      if (follower === undefined) continue;
      follower.close();
      this.#followers.delete(partition);
      this.#bySource.delete(follower.source);
      this.#moved.delete(follower);
      this.#behind.delete(follower);
      if (this.#table.positions.has(follower.source)) records.push(recordOf(follower.source, null));
    }
    if (records.length > 0) void this.#table.writeOwn(records); // the next start forgets what this cannot
  }

  /**
   * A table that is new knows nothing of what was there before it: retained is what comes from now on. What is in a
   * transaction that is open comes when that ends.
   */
  async #skipWhatIsThere(): Promise<void> {
    const records = [];
    for (const topic of this.#hub.topics.list()) {
      if (topic.internal) continue;
      for (const { partition, lastStableOffset } of topic.partitions) {
        if (lastStableOffset === 0) continue;
        records.push(recordOf(this.#table.sourceOf(topic.topicId, partition), lastStableOffset));
      }
    }
    const refused = await this.#table.writeOwn(records);
    if (refused === undefined) {
      await this.#table.writeOwn([{ place: '', key: MARKER_KEY, value: MARKER_VALUE }]);
    }
  }

  #forgetDeleted(): void {
    const records = [];
    for (const source of this.#table.positions.keys()) {
      if (!this.#bySource.has(source)) records.push(recordOf(source, null));
    }
    if (records.length > 0) void this.#table.writeOwn(records); // the next start forgets what this cannot
  }

  #note(follower: RetainFollower, bytes: number): void {
    if (!follower.isBehind) this.#behind.delete(follower);
    this.#moved.add(follower);
    this.#movedBytes += bytes;
    if (this.#movedBytes >= CHECKPOINT_BYTES)
      void this.#checkpoint(); // never rejects
    else if (!this.#closed) {
      this.#timer ??= this.#hub.clock.setTimer(CHECKPOINT_INTERVAL_MS, () => void this.#checkpoint());
    }
  }

  /** One at a time, so that an older position never comes behind a newer one. */
  async #checkpoint(): Promise<undefined | Refused> {
    if (this.#writing !== undefined) return undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#moved.size === 0) return undefined;
    const moved = [...this.#moved];
    this.#moved.clear();
    this.#movedBytes = 0;
    this.#writing = this.#table.writeOwn(moved.map(({ source, position }) => recordOf(source, position)));
    const refused = await this.#writing;
    this.#writing = undefined;
    // An old position costs time at the next start, and nothing else.
    if (refused !== undefined) for (const follower of moved) this.#moved.add(follower);
    return refused;
  }
}

/** All positions of a topic lie together. */
function recordOf(source: Source, position: number | null) {
  return {
    place: source.topicId,
    key: positionKey(source),
    value: position === null ? null : encodePosition(position),
  };
}
