// Retained messages (section 3.3.1.3): the last message of each topic that was published with RETAIN, kept in a table of
// its own until an empty one, its expiry or another takes its place. Retained is not "the last record of the log".
import type { Hub, Partition, Published, RecordCursor, RecordWriter, Refused, Timer } from '../../port.ts';
import type { MqttCounters } from '../counters.ts';
import { MessageView } from '../message-view.ts';
import { REASON } from '../reason-codes.ts';
import type { RecordTopics } from '../record-topic.ts';
import type { Session } from '../session.ts';
import { levelCount } from '../topic-filter.ts';
import type { RetainFollower } from './retain-follower.ts';
import { RetainFollowers } from './retain-followers.ts';
import { RetainedLeft } from './retained-left.ts';
import { encodeRetained } from './retained-record.ts';
import type { Change, FoundMessage, StoredMessage } from './retained-table.ts';
import { RetainedTable } from './retained-table.ts';
import { Slices } from './slices.ts';
import type { TableScan } from './table-scan.ts';
import type { RetainedTopic, Source, TopicWalk } from './topic-index.ts';
import { TopicIndex } from './topic-index.ts';

/** What has expired is removed this often … */
const SWEEP_INTERVAL_MS = 30_000;
/** … and so many at a time. */
const SWEEP_TOPICS_MAX = 1000;

export interface RetainedLimits {
  /** Messages at most. */
  readonly retainedCountMax: number;
  /** Payload and properties of one message at most. */
  readonly retainedSizeMax: number;
  /** Memory that the index may take, about. */
  readonly retainedIndexBytesMax: number;
  /** Bytes of messages that are kept in memory, those that were used last. */
  readonly retainedCacheBytesMax: number;
}

export interface RetainedOptions {
  readonly hub: Hub;
  readonly counters: MqttCounters;
  readonly topics: RecordTopics<Session>;
  readonly limits: RetainedLimits;
}

/** Publishes that share a commit, and so a promise: they are answered together. */
interface StoredTogether {
  readonly stored: Promise<Published | Refused>;
  readonly topics: string[];
  lastOffset: number;
  readonly retained: Promise<Published | Refused>;
}

export class RetainedMessages {
  readonly #hub: Hub;
  readonly #counters: MqttCounters;
  readonly #topics: RecordTopics<Session>;
  readonly #limits: RetainedLimits;
  readonly #table: RetainedTable;
  readonly #followers: RetainFollowers;
  /** Of those who are sent many. */
  readonly slices: Slices;
  readonly left = new RetainedLeft();
  readonly #message = new MessageView();
  /** Topics of publishes under way that have been let in: they count as if they were there. */
  readonly #admitted = new Map<string, number>();
  /** The publishes that the next one may be stored with. */
  #together: StoredTogether | undefined;
  #sweep: Timer | undefined;
  #closed = false;

  private constructor(options: RetainedOptions, table: RetainedTable) {
    this.#hub = options.hub;
    this.slices = new Slices(options.hub.clock);
    this.#counters = options.counters;
    this.#topics = options.topics;
    this.#limits = options.limits;
    this.#table = table;
    this.#followers = new RetainFollowers(options.hub, table, {
      nameOf: (kafkaTopic) => options.topics.nameOf(kafkaTopic),
      visibilityOf: (kafkaTopic) => options.topics.visibilityOf(kafkaTopic),
      retainedFrom: (topic) => table.index.find(topic)?.entry,
      changeOf: (cursor, follower) => this.#changeOf(cursor, follower),
    });
  }

  /** Resolves when the table serves, and holds what a crash had left undone. */
  static async open(options: RetainedOptions): Promise<RetainedMessages> {
    const table = await RetainedTable.open(options.hub, options.limits.retainedCacheBytesMax);
    const retained = new RetainedMessages(options, table);
    await retained.#followers.start();
    retained.#scheduleSweep();
    return retained;
  }

  get count(): number {
    return this.#table.index.size;
  }

  /** How many times over the log of the table holds what is current. */
  get logRatio(): number {
    return this.#table.logRatio;
  }

  /** Whether memory has room for all messages. */
  get isCached(): boolean {
    return this.#table.isCached;
  }

  /** What the messages take in the log. */
  get byteLength(): number {
    return this.#table.index.retainedBytes;
  }

  /** Memory that the index takes, about. */
  get heldBytes(): number {
    return this.#table.index.heldBytes;
  }

  /** Counts the changes; see {@link RetainedTopic.version}. */
  get version(): number {
    return this.#table.index.version;
  }

  /**
   * Why a message may not be retained, as a reason code; 0 = nothing speaks against it.
   * @param byteLength of payload and properties
   */
  refusalOf(topic: string, byteLength: number, isEmpty: boolean): number {
    if (isEmpty) return 0;
    const { retainedSizeMax } = this.#limits;
    if (byteLength > retainedSizeMax) return REASON.QUOTA_EXCEEDED;
    return this.#admits(topic) ? 0 : REASON.QUOTA_EXCEEDED;
  }

  /**
   * Publishes to the topic's log what is to be retained. Resolves when both the log and the table have it, or with why
   * not. To be called in the turn of {@link refusalOf}. Never rejects, but throws what `fill` throws.
   */
  publish(
    topic: string,
    partition: Partition,
    fill: (writer: RecordWriter) => void,
  ): Promise<Published | Refused> {
    return this.append(topic, partition, fill).retained;
  }

  /** The same for those who do not wait for the table: `stored` resolves when the log has it. */
  append(
    topic: string,
    partition: Partition,
    fill: (writer: RecordWriter) => void,
  ): { readonly stored: Promise<Published | Refused>; readonly retained: Promise<Published | Refused> } {
    let offset = -1;
    const stored = this.#hub.publish(partition, (writer) => {
      offset = writer.nextOffset;
      writer.isMarked = true;
      fill(writer);
    });
    this.#admitted.set(topic, (this.#admitted.get(topic) ?? 0) + 1);
    const together = this.#together?.stored === stored ? this.#together : this.#begin(partition, stored);
    together.topics.push(topic);
    together.lastOffset = offset;
    return { stored, retained: together.retained };
  }

  /** The first of those that are stored together, and wait together for the table. */
  #begin(partition: Partition, stored: Promise<Published | Refused>): StoredTogether {
    const topics: string[] = [];
    const retained = stored.then(async (result) => {
      if (this.#together === together) this.#together = undefined;
      const follower = this.#followers.of(partition);
      const isStored = result.refused === undefined;
      const settled =
        isStored && follower !== undefined ? await follower.reached(together.lastOffset) : result;
      for (const topic of topics) this.#release(topic);
      return settled;
    });
    const together: StoredTogether = { stored, topics, lastOffset: -1, retained };
    this.#together = together;
    return together;
  }

  /** Resolves when the index shows all that is committed now; undefined when it does already. */
  settled(): Promise<unknown> | undefined {
    return this.#followers.settled();
  }

  /** Of the partition that a message came by: undefined when the index shows all that subscribers may have seen of it. */
  behind(source: Source): RetainFollower | undefined {
    return this.#followers.behind(source);
  }

  /** Topics that match a filter, exact or with wildcards. */
  walk(filter: string): TopicWalk {
    return this.#table.index.walk(filter);
  }

  /** All messages, in the order in which they lie in the table's log. */
  scan(): TableScan {
    return this.#table.scan();
  }

  /** The next ones that a scan comes to. Rejects when the log cannot be read. */
  readOn(
    scan: TableScan,
    isWanted: (topic: RetainedTopic, name: string) => boolean,
  ): Promise<FoundMessage[]> {
    return this.#table.readOn(scan, isWanted);
  }

  find(topic: string): RetainedTopic | undefined {
    return this.#table.index.find(topic);
  }

  nameOf(topic: RetainedTopic): string {
    return this.#table.index.nameOf(topic);
  }

  /**
   * Forgets messages, and is done when no crash can bring them back. A topic that is being written to keeps what comes.
   * @returns how many there were. Never rejects.
   */
  async forget(topics: readonly string[]): Promise<number | Refused> {
    const changes = topics
      .filter((topic) => this.#table.index.find(topic) !== undefined && !this.#table.isWriting(topic))
      .map((topic) => ({ topic, value: null }));
    const refused = changes.length === 0 ? undefined : await this.#table.write(changes);
    return refused ?? (await this.#followers.checkpoint()) ?? changes.length;
  }

  /** Undefined when it is gone. Rejects when the log cannot be read. */
  read(topic: RetainedTopic): Promise<StoredMessage | undefined> {
    return this.#table.read(topic);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sweep?.cancel();
    await this.#followers.close();
    this.#table.close();
  }

  #release(topic: string): void {
    const others = (this.#admitted.get(topic) ?? 1) - 1;
    if (others > 0) this.#admitted.set(topic, others);
    else this.#admitted.delete(topic);
  }

  #admits(topic: string): boolean {
    if (this.#admitted.has(topic) || this.#table.isKnown(topic)) return true;
    const { retainedCountMax, retainedIndexBytesMax } = this.#limits;
    const { index } = this.#table;
    const bytes = index.heldBytes + TopicIndex.bytesMax(topic, levelCount(topic));
    return index.size + this.#admitted.size < retainedCountMax && bytes <= retainedIndexBytesMax;
  }

  /** What the record that the cursor stands on does to the table. */
  #changeOf(cursor: RecordCursor, follower: RetainFollower): Change | undefined {
    const message = this.#message;
    const match = this.#topics.match(cursor, follower.name);
    message.read(cursor, match.encodedTopic, this.#hub.clock.now());
    if (!message.retain || !match.delivers || match.ignoresRetain) return undefined;
    const { topic } = match;
    if (this.#isOlder(topic, cursor, follower)) return undefined;
    // [MQTT-3.3.1-6]; one that has expired is as good as none.
    if (message.payloadStart === message.payloadEnd || message.remainingMs <= 0)
      return { topic, value: null };
    message.buildProperties(cursor);
    const properties = message.properties.subarray(0, message.propertiesLength);
    if (message.expiryAt >= 0) properties.writeUInt32BE(message.expirySeconds, message.expiryAt);
    const payload = message.payload.subarray(message.payloadStart, message.payloadEnd);
    if (this.refusalOf(topic, properties.length + payload.length, false) !== 0) {
      this.#drop(topic);
      return undefined;
    }
    const value = encodeRetained({
      qos: message.qos,
      expiryAt: message.expiryAt,
      timestampMs: cursor.timestampMs,
      source: follower.source,
      sourceOffset: cursor.offset,
      clientId: message.clientId,
      properties,
      payload,
    });
    return { topic, value };
  }

  /** After a crash the table may have this record already, or one that came later by another partition. */
  #isOlder(topic: string, cursor: RecordCursor, { source, repairEnd }: RetainFollower): boolean {
    if (cursor.offset >= repairEnd) return false;
    const entry = this.#table.index.find(topic)?.entry;
    if (entry === undefined) return false;
    return entry.source === source
      ? entry.sourceOffset >= cursor.offset
      : entry.timestampMs > cursor.timestampMs;
  }

  /** Only what Kafka clients have written: a publish of MQTT has been let in, or was refused. */
  #drop(topic: string): void {
    this.#counters.retainedRefused++;
    this.#hub.log.warn('mqtt-not-retained', { topic, reason: 'a limit of retained messages' });
  }

  #scheduleSweep(): void {
    if (this.#closed) return;
    this.#sweep = this.#hub.clock.setTimer(SWEEP_INTERVAL_MS, () => {
      void this.#removeExpired().then(() => this.#scheduleSweep()); // never rejects
    });
  }

  async #removeExpired(): Promise<void> {
    const changes: Change[] = [];
    for (const topic of this.#table.index.expired(this.#hub.clock.now())) {
      // What is being written comes before this in the table's log, and would be removed.
      if (this.#table.isWriting(topic)) continue;
      changes.push({ topic, value: null });
      if (changes.length === SWEEP_TOPICS_MAX) break;
    }
    // What cannot be removed now is found again; nobody is sent it.
    if (changes.length > 0) await this.#table.write(changes);
  }
}
