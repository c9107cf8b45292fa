// What a protocol front end gets from the hub, and what it gives back. Types only: a front end imports this
// file and nothing else of ours, so a third protocol is a new folder beside `kafka` and `mqtt` and one line in
// the composition root (src/broker.ts).
//
// Two pairs of verbs. `append` and `read` act on a partition that this node leads (Kafka). `publish` and
// `follow` act on a topic from anywhere and leave finding the leader to the hub (MQTT, HTTP).

// ---------------------------------------------------------------------------------------------- records

/**
 * Encodes one record into the partition's open write buffer. The calls come in this order, synchronously:
 * `startRecord`, `header` × headerCount, `endRecord`; the last takes the source attributes, already encoded.
 * A range `start, end` is a slice of the `source` given to `startRecord`; `end < 0` (by convention −1, −1)
 * means null, `start === end` means empty.
 */
export interface RecordWriter {
  /**
   * Offers bytes that the following calls slice from: they are copied once next to the write buffer, so that
   * each slice is then a move inside one buffer. Returns what to add to a position in `bytes` before it is
   * passed on; the source to pass on is the writer's own {@link staged}. Worth it from about 4 slices.
   */
  stage(bytes: Uint8Array): number;
  readonly staged: Uint8Array;
  /** @param timestampMs milliseconds since the epoch; −1 = none. */
  startRecord(
    timestampMs: number,
    source: Uint8Array,
    keyStart: number,
    keyEnd: number,
    headerCount: number,
  ): void;
  header(source: Uint8Array, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void;
  /**
   * @param attributes the record's source attributes, encoded (see {@link SourceAttributes}); null = none.
   */
  endRecord(source: Uint8Array, valueStart: number, valueEnd: number, attributes: Uint8Array | null): void;
  /**
   * A whole record that has the key and the attributes of the one written before and no headers, as that one: cheaper
   * than the calls above. They are told by their objects, which must not have changed since. The value is not null.
   * @returns false when the one before is another, or there is none in this batch: nothing was written
   */
  repeatRecord(
    timestampMs: number,
    key: Uint8Array,
    source: Uint8Array,
    valueStart: number,
    valueEnd: number,
    attributes: SourceAttributes | null,
  ): boolean;
  /**
   * To be set to what stays as it is for as long as the batch is open, which with {@link Hub.publish} is longer than the
   * call of `fill`: values that are slices of it may then be taken from a copy that was made before.
   */
  lastingSource: Uint8Array | undefined;
  /**
   * Somebody looks for a record of the batch: see {@link Partition.markedEnd}. Set by whoever writes attributes that are
   * looked for; where a record has headers it is set by itself.
   */
  isMarked: boolean;
  /** Offset that the next `startRecord` gets. */
  readonly nextOffset: number;
}

/**
 * Source attributes: what only the protocol that a record came by means. Stored as `protocol_data`: a
 * MessagePack array `[name, value, name, value, …]`, names str, values bin or nil; the grammar of headers.
 * Names are the header names under which other protocols show them (`mqtt.topic`, `mqtt.qos`, …), values are
 * the bytes they show. A name that starts with `_` is private to its source and shown to nobody.
 * A record without attributes has a `protocol_data` of zero bytes.
 */
export type SourceAttributes = Uint8Array;

/**
 * Steps through the batches and records of a {@link RecordRange}. It is a cursor: its fields describe where it
 * stands, and positions are indices into `bytes`. No object is made per record. −1 stands for null.
 */
export interface RecordCursor {
  readonly bytes: Buffer;

  /** Next batch; of a range that is `committedOnly`, the next one with records of applications that count. */
  nextBatch(): boolean;
  readonly batchBaseOffset: number;
  /** Last offset that the batch covers, whether or not a record stands there (holes after compaction). */
  readonly batchLastOffset: number;
  readonly batchRecordCount: number;
  readonly batchMaxTimestampMs: number;
  readonly batchFirstTimestampMs: number;
  readonly batchLeaderEpoch: number;
  readonly batchIsTransactional: boolean;
  readonly batchIsControl: boolean;
  /** Of a control batch: the transaction that it ends is void. Else its records count. */
  readonly batchAborts: boolean;
  /** Of a control batch: epoch of the coordinator that ended the transaction; −1 for any other batch. */
  readonly controlCoordinatorEpoch: number;
  readonly batchIsLogAppendTime: boolean;
  /** −1 when the batch has no producer identity; then epoch and sequence are −1 too. */
  readonly batchProducerId: number;
  readonly batchProducerEpoch: number;
  readonly batchBaseSequence: number;
  /** Bytes that the batch takes in the range, its own frame included. */
  readonly batchByteLength: number;

  /** Next record of the current batch. */
  nextRecord(): boolean;
  readonly offset: number;
  readonly timestampMs: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly headerCount: number;
  readonly attributeCount: number;
  /** Of all source attributes together, as they are stored: records of one sender often have the same. */
  readonly attributesStart: number;
  readonly attributesEnd: number;

  /** Next header of the current record, then false. Calling it is optional; `rewindHeaders` starts over. */
  nextHeader(): boolean;
  rewindHeaders(): void;
  /** Next source attribute of the current record, then false; private ones (`_…`) included. */
  nextAttribute(): boolean;
  rewindAttributes(): void;
  /** Of the header or attribute the cursor stands on. */
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly itemStart: number;
  readonly itemEnd: number;

  /** Starts over on another range. */
  reset(range: RecordRange): void;
}

/** Whole batches, in offset order. The bytes stay as they are until `release` is called. */
export interface RecordRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Where to read on: one past the last offset that the last batch covers; the offset asked for if empty. */
  readonly nextOffset: number;
  /**
   * Transactions that were aborted and overlap the range, by their first offset. Set by reads up to 'lastStable', where
   * there are any: the batches of such a producer from the first offset to the last one are void.
   */
  readonly aborted?: readonly AbortedTransaction[] | undefined;
  /**
   * A cursor passes over control batches, and over what is void by `aborted`. Set by {@link Hub.follow}: a follower of
   * all that is below the high watermark is told of no aborted transactions, so it passes over control batches alone.
   */
  readonly committedOnly?: boolean | undefined;
  /**
   * Says that neither `bytes` nor any view of it is looked at any more, so that the memory can be used again. Worth
   * calling by who has copied what it wants: fresh memory costs more than what is done with it. Nobody has to.
   */
  release?(): void;
}

export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
  /** Of the control batch that ended it. */
  readonly lastOffset: number;
}

// ------------------------------------------------------------------------------------------ partitions

export type Acks = 'none' | 'written' | 'flushed';

export interface BatchOptions {
  readonly acks: Acks;
  /** Leader epoch that the caller believes in; absent = whatever is current. */
  readonly leaderEpoch?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  /** How many records `fill` writes: a producer's batch is judged before it is encoded. Asked for with a producer id. */
  readonly recordCount?: number;
  readonly transactional?: boolean;
  /** Set when the timestamps are the hub's clock by the topic's `message.timestamp.type`. */
  readonly logAppendTime?: boolean;
  /** Upper bound of the encoded size, to get a buffer that is large enough at once; a hint. */
  readonly byteLengthHint?: number;
}

/**
 * Why the log did not take what it was given. Each front end has one table from these to its wire codes.
 * Of producers: `fenced-producer`, a higher epoch has written; `fenced-coordinator`, a later coordinator has ended a
 * transaction of it; `gap`, a sequence is missing before this one;
 * `duplicate`, it was appended so long ago that nobody knows where (a recent one is answered, see {@link Appended});
 * `invalid-transaction`, it has a transaction open here that this batch is not part of.
 */
export type Refusal =
  | 'not-leader'
  | 'fenced-epoch'
  | 'unknown-epoch'
  | 'not-enough-replicas'
  | 'not-enough-replicas-after-append'
  | 'timeout'
  | 'storage'
  | 'disk-full'
  | 'fenced-producer'
  | 'fenced-coordinator'
  | 'duplicate'
  | 'gap'
  | 'invalid-transaction'
  | 'too-large'
  | 'unknown-topic';

export interface Refused {
  readonly refused: Refusal;
  readonly message: string;
}

export interface Appended {
  readonly refused?: undefined;
  readonly baseOffset: number;
  readonly logStartOffset: number;
  /** The hub's time when the batch was appended with `logAppendTime`, else −1. */
  readonly logAppendTimeMs: number;
  /**
   * Set when the batch lies in the log already, by an earlier append of its producer: `fill` was not called, the offset
   * and the time are those of then, and it is acknowledged when that one is as safe as `acks` asks.
   */
  readonly duplicate?: true;
  /**
   * Resolves when the batch is as safe as `acks` asks, or with why it never will be. Appends that share a group
   * commit get **the same promise object**, so that a connection can answer them together. Never rejects.
   */
  readonly acknowledged: Promise<Published | Refused>;
  /** With acks 'written' alone: resolves when readers see the batch, or never will. Never rejects. */
  readonly settled?: Promise<unknown>;
}

export interface Published {
  readonly refused?: undefined;
}

/** How a producer's transaction ends in one partition. */
export interface TransactionEnd {
  readonly producerId: number;
  /** What the producer has from now on: an epoch that is new begins its sequence at 0. */
  readonly producerEpoch: number;
  readonly outcome: 'commit' | 'abort';
  readonly coordinatorEpoch: number;
}

/** Which records a reader may see. `logEnd` is for replication and tests only. */
export type Visibility = 'logEnd' | 'highWatermark' | 'lastStable';

export interface ReadOptions {
  readonly offset: number;
  /** Stored bytes to return at most; the first batch comes back whole, however large. */
  readonly maxBytes: number;
  readonly upTo: Visibility;
}

export type ReadRefusal = 'offset-out-of-range' | 'storage' | 'unknown-topic' | 'not-leader';

export type ReadResult = (RecordRange & { readonly refused?: undefined }) | ReadRefused;

export interface RecordsDeleted {
  readonly refused?: undefined;
  readonly logStartOffset: number;
}

export interface ReadRefused {
  readonly refused: ReadRefusal;
  readonly message: string;
}

/** A file of a partition's log, as it is now. */
export interface SegmentView {
  readonly file: string;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  /** One past the last offset that its batches cover. */
  readonly endOffset: number;
  /** All batches, and those that are on disk. */
  readonly byteSize: number;
  readonly flushedBytes: number;
  /** Undefined while its index does not tell. */
  readonly firstTimestampMs: number | undefined;
  readonly maxTimestampMs: number | undefined;
  /** The next append goes to it. */
  readonly active: boolean;
}

/** A batch and where it lies. */
export interface BatchPosition {
  readonly refused?: undefined;
  readonly segmentBaseOffset: number;
  readonly file: string;
  readonly position: number;
  readonly byteLength: number;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly recordCount: number;
}

export interface TimestampedOffset {
  readonly offset: number;
  readonly timestampMs: number;
  readonly leaderEpoch: number;
}

/** One partition that this node leads. A handle is dead (`deleted`) once its topic is deleted. */
export interface Partition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  /**
   * From here on no record has headers, or attributes that their writer has marked: whoever looks for some of those need not
   * read. Nothing is known of what was in the log when it was opened: it may all be marked.
   */
  readonly markedEnd: number;
  readonly deleted: boolean;

  /**
   * Appends one batch. `fill` is called before `append` returns, once, and must not await; if it throws,
   * nothing is appended and `append` throws the same error. Batches of several calls keep the order of the calls.
   * Offsets are final when it returns. The batch is acknowledged as `acks` says: 'flushed' after the flush that
   * covers it (after the write, if the topic's `flush.messages` is above 1), 'written' after the write, 'none' at once.
   * An internal topic takes no appends and no publishes (`unknown-topic`): its state is written through its table.
   */
  append(options: BatchOptions, fill: (writer: RecordWriter) => void): Appended | Refused;

  /**
   * Ends the producer's transaction with a control batch: on disk when it resolves. With no transaction open here it is
   * written all the same, and raises the epoch; an epoch below the one that the log knows is `fenced-producer`, one of a
   * coordinator `fenced-coordinator`. Refused for an internal topic. Never rejects.
   */
  endTransaction(end: TransactionEnd): Promise<Published | Refused>;
  /** First offset of the producer's open transaction; −1 = none is open, or none of the epoch that is asked for. */
  transactionStart(producerId: number, producerEpoch?: number): number;

  /** Offset below the log start or above the bound's end is `offset-out-of-range`; the end itself is an empty range. */
  read(options: ReadOptions): Promise<ReadResult>;

  /**
   * The log starts at `beforeOffset` from now on, unless it does already or later: durable when it resolves. Above the
   * high watermark, or below 0, is `offset-out-of-range`. An internal topic keeps what it has (`unknown-topic`).
   */
  deleteRecords(beforeOffset: number): Promise<RecordsDeleted | ReadRefused>;

  /** First record with timestamp ≥ `timestampMs`, below the bound. Rejects when the log cannot be read. */
  offsetForTime(timestampMs: number, upTo: Visibility): Promise<TimestampedOffset | undefined>;
  /** First record among those with the largest timestamp, below the bound (KIP-734). Rejects as above. */
  offsetOfMaxTimestamp(upTo: Visibility): Promise<TimestampedOffset | undefined>;

  /** `listener` is called in the tick in which the high watermark or the log start moved, or the topic was deleted. Returns its removal. */
  onAdvance(listener: () => void): () => void;

  /**
   * The newest leader epoch at or below `leaderEpoch`, and where it ends: at the start of the next one, or at the log's
   * end (KIP-101, KIP-279). Undefined when the log has newer ones only.
   */
  endOfEpoch(leaderEpoch: number): EpochEnd | undefined;
  /** Producers that the log remembers. */
  producers(): readonly ProducerView[];

  /** Its files, oldest first. Reads no log. Rejects when the index cannot be read. */
  segments(): Promise<readonly SegmentView[]>;
  /** Where the batch lies that covers the offset, in a hole the next one below the high watermark. */
  positionOf(offset: number): Promise<BatchPosition | ReadRefused>;

  /** Bytes on disk and number of segments. */
  readonly byteSize: number;
  readonly segmentCount: number;
}

export interface EpochEnd {
  readonly leaderEpoch: number;
  readonly endOffset: number;
}

export interface ProducerView {
  readonly producerId: number;
  readonly producerEpoch: number;
  /** −1 = none. */
  readonly lastSequence: number;
  readonly lastTimestampMs: number;
  /** First offset of its open transaction; −1 = none. */
  readonly transactionStartOffset: number;
  /** Of the coordinator that ended a transaction of it last; −1 = none is known. */
  readonly coordinatorEpoch: number;
}

// ---------------------------------------------------------------------------------------------- topics

export interface TopicView {
  readonly name: string;
  readonly topicId: string;
  readonly internal: boolean;
  readonly partitions: readonly Partition[];
  readonly config: TopicConfig;
}

/** Effective configuration of a topic, Kafka's names in camel case. Only what has an effect. */
export interface TopicConfig {
  readonly cleanupPolicy: 'delete' | 'compact' | 'compact,delete' | 'none';
  readonly maxMessageBytes: number;
  readonly messageTimestampType: 'CreateTime' | 'LogAppendTime';
  /** How far the timestamps that producers give may be from the clock; Infinity = however far. */
  readonly messageTimestampBeforeMaxMs: number;
  readonly messageTimestampAfterMaxMs: number;
  /** Copies that whoever asks for all of them wants at least. There is one node, so one copy. */
  readonly minInsyncReplicas: number;
}

export type TopicErrorCode =
  | 'exists'
  | 'unknown-topic'
  | 'invalid-name'
  | 'invalid-partitions'
  | 'invalid-replication-factor'
  | 'invalid-config'
  | 'limit'
  | 'internal-topic'
  | 'declared'
  | 'conflict'
  | 'unknown-outcome'
  | 'storage';

export interface TopicError {
  readonly error: TopicErrorCode;
  readonly message: string;
  /** Of `declared`: where the configuration says otherwise, `file:line`. */
  readonly declaredAt?: string;
}

export interface CreateTopicRequest {
  readonly name: string;
  /** −1 = the configured default. */
  readonly partitions: number;
  /** −1 = the default, which is 1; anything else than 1 is refused. */
  readonly replicationFactor: number;
  /** Kafka's names and values; unknown names and values that would not be honoured are refused. */
  readonly config: Readonly<Record<string, string>>;
  readonly validateOnly?: boolean;
}

/** One entry. `append` and `subtract` change the items of a list; the value of `delete` is not looked at. */
export interface TopicConfigChange {
  readonly name: string;
  readonly operation: 'set' | 'delete' | 'append' | 'subtract';
  readonly value: string;
}

/** What happened to a topic: `extended`, it has more partitions; `configured`, its configuration is another one. */
export type TopicChangeKind = 'created' | 'extended' | 'configured' | 'deleted';

/**
 * A view does not change: after a change `get` returns another one, with the same handles of the partitions that there
 * were before. Whoever keeps a view compares it.
 */
export interface Topics {
  /** Synchronous: what exists now. */
  get(name: string): TopicView | undefined;
  getById(topicId: string): TopicView | undefined;
  /** Sorted by name; internal ones included. */
  list(): readonly TopicView[];
  partition(name: string, partition: number): Partition | undefined;
  create(request: CreateTopicRequest): Promise<TopicView | TopicError>;
  delete(name: string): Promise<undefined | TopicError>;
  /**
   * The topic, made with the defaults if missing and the configuration allows it. Concurrent calls share one
   * creation. For those who want to write: an internal topic is refused.
   */
  ensure(name: string): Promise<TopicView | TopicError>;
  /**
   * Changes entries of the topic's configuration, all or none, in effect when it resolves. Of an internal topic it is
   * refused.
   * @param options.others what becomes of the entries that are not named: `kept`, or `reset` to what they are by default
   * @param options.expected the topic as the caller knows it: once it has become another one, it is a `conflict`
   */
  alterConfig(
    name: string,
    changes: readonly TopicConfigChange[],
    options?: {
      readonly others?: 'kept' | 'reset';
      readonly validateOnly?: boolean;
      readonly expected?: TopicView;
    },
  ): Promise<undefined | TopicError>;
  /** The topic has `total` partitions when it resolves, more than before. Refused for an internal topic. */
  addPartitions(
    name: string,
    total: number,
    options?: { readonly validateOnly?: boolean },
  ): Promise<undefined | TopicError>;
  /** Every configuration entry that Kafka knows, by name, with what is in effect; undefined = no such topic. */
  describeConfig(name: string): readonly TopicConfigEntry[] | undefined;
  /** The same of a topic that would be made with these entries. */
  describeNewConfig(own: Readonly<Record<string, string>>): readonly TopicConfigEntry[];
  /** Called after the change; returns its removal. */
  onChange(
    listener: (change: { readonly kind: TopicChangeKind; readonly topic: TopicView }) => void,
  ): () => void;
  /**
   * Where the hub's configuration declares the topic, `file:line`; undefined = nowhere. What is declared is changed there
   * alone: other ways to change it, and to delete the topic, are refused as `declared`.
   */
  declaredAt(name: string): string | undefined;
  /** Undefined when legal, else why not. Kafka's rule: `[A-Za-z0-9._-]{1,249}`, not `.` or `..`. */
  illegalName(name: string): string | undefined;
}

export interface TopicConfigEntry {
  readonly name: string;
  /** In effect. */
  readonly value: string;
  /** Who said so: the topic, the hub's configuration for all topics, or nobody. */
  readonly source: 'topic' | 'hub' | 'default';
  readonly type: 'boolean' | 'string' | 'int' | 'long' | 'double' | 'list';
  readonly documentation: string;
  /** False: only the default, or what says what happens anyway, is accepted: another value would change nothing. */
  readonly hasEffect: boolean;
  /** What the hub's configuration says, when that is not the default. */
  readonly hubValue: string | undefined;
  /** What counts where nobody says anything. */
  readonly defaultValue: string;
}

// ------------------------------------------------------------------------------------- publish, follow

export interface Followed {
  close(): void;
}

// ---------------------------------------------------------------------------------------- state tables

export type StatePartitionState = 'loading' | 'serving' | 'gone';

export interface StateRecord {
  readonly key: Buffer;
  /** null = tombstone. */
  readonly value: Buffer | null;
}

/**
 * Keyed state on a compacted internal topic: decide → record → apply. `apply` runs for each record once it is
 * committed, in offset order, by the same path at start-up and live.
 */
export interface StateTable {
  readonly topic: string;
  readonly partitions: number;
  /** murmur2 of the key, as Kafka's default partitioner. */
  partitionOf(id: string): number;
  stateOf(partition: number): StatePartitionState;
  /** Resolves after the records are flushed *and* applied. All go out in one batch, so all or none survive a crash. */
  write(partition: number, records: readonly StateRecord[]): Promise<undefined | Refused>;
  /**
   * The record at an offset that `apply` was given: so that what is large, or seldom wanted, stays in the log. Undefined
   * when it is gone, because a later record of its key has taken its place; then `apply` knows a later offset.
   * Rejects when the log cannot be read, or the partition is not serving.
   */
  read(partition: number, offset: number): Promise<StateRecord | undefined>;
  /**
   * Hands over the records of a stretch of the partition's log, in their order, also those that later ones have taken the
   * place of. `onRecord` must not await; key and value are views of memory that is used again when it has returned.
   * @param maxBytes of the stretch; one batch comes whole
   * @returns where to read on: the end of what is committed when there is nothing more. Rejects as {@link read} does, and
   * with what `onRecord` throws.
   */
  scan(
    partition: number,
    fromOffset: number,
    maxBytes: number,
    onRecord: (key: Buffer, value: Buffer | null, offset: number) => void,
  ): Promise<number>;
}

export interface StateTableOptions {
  readonly topic: string;
  apply(partition: number, key: Buffer, value: Buffer | null, offset: number, timestampMs: number): void;
  /** The partition has been replayed (serving) or is leaving (gone): its state must be dropped. */
  onState?(partition: number, state: StatePartitionState): void;
}

// ------------------------------------------------------------------------------------ cluster, identity

export interface Node {
  readonly nodeId: number;
  readonly rack: string | undefined;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface Cluster {
  readonly clusterId: string;
  readonly nodeId: number;
  nodes(): readonly Node[];
  /** Node that leads the partition; −1 = none now. */
  leaderOf(topic: string, partition: number): number;
  replicasOf(topic: string, partition: number): readonly number[];
  controller(): number;
  coordinatorOf(kind: 'group' | 'transaction' | 'session', id: string): number;
  /** Address of a node on a listener: the advertised one, or undefined = the address that the client reached. */
  endpoint(nodeId: number, listener: string): Endpoint | undefined;
  /** Producer ids never come back: blocks are taken from the MetaStore. */
  allocateProducerId(): Promise<number>;
}

export interface Principal {
  readonly name: string;
  readonly listener: string;
  readonly remoteAddress: string;
}

export type Operation = 'read' | 'write' | 'create' | 'delete' | 'alter' | 'describe';
export type ResourceKind = 'topic' | 'group' | 'cluster' | 'transactional-id';

/** One access rule binds every door. This build has the allow-all policy only. */
export interface Access {
  allows(principal: Principal, operation: Operation, kind: ResourceKind, name: string): boolean;
}

/** Time and randomness are arguments everywhere, so that a simulation can drive them. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start, never going back. */
  monotonic(): number;
  setTimer(delayMs: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export interface Random {
  uuid(): string;
  /** Uniform in [0, bound). */
  below(bound: number): number;
}

export interface Log {
  debug(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  error(event: string, fields?: object): void;
}

// ------------------------------------------------------------------------------------------------- hub

/** What whoever asks for the configuration of the hub is told. */
export interface HubSettings {
  readonly dataDirectory: string;
  /** Partitions of a topic that is made without saying how many. */
  readonly defaultPartitions: number;
  readonly autoCreate: boolean;
  /** Of each internal topic. */
  readonly statePartitions: number;
}

/** How often a number was how large. */
export interface Histogram {
  /** Ascending: each is the largest number that its range takes. */
  readonly bounds: readonly number[];
  /** One more than there are bounds: the last is of numbers above all of them. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
  observe(value: number): void;
}

/** Takes what somebody has counted when an operator asks; src/metrics/ says which names there are, and their labels. */
export interface MetricSink {
  /** Numbers of one name and the same labels are added up. */
  add(name: string, value: number, labels?: MetricLabels): void;
  addHistogram(name: string, histogram: Histogram, labels?: MetricLabels): void;
}

export type MetricLabels = Readonly<Record<string, string>>;

export interface DiskSpace {
  readonly totalBytes: number;
  readonly usableBytes: number;
}

export interface Hub {
  readonly topics: Topics;
  readonly settings: HubSettings;
  readonly cluster: Cluster;
  readonly access: Access;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;

  cursor(): RecordCursor;

  /** Of durations in seconds, for what is measured all the time: a few additions each. */
  histogram(): Histogram;

  /**
   * Says that the caller keeps so many bytes of records more, or less (below 0), because they are likely to be asked for
   * soon. The newest records, in the store's memory, make way for them, down to a quarter of what those may take.
   */
  keepElsewhere(bytes: number): void;

  /** Of the file system that the data is on; undefined when it does not tell. Never rejects. */
  diskSpace(): Promise<DiskSpace | undefined>;

  /** The partition of a key among so many: murmur2, as Kafka's default partitioner does it for a key that is not null. */
  partitionFor(key: Uint8Array, partitions: number): number;

  /**
   * Appends one record to a topic's partition, acknowledged as 'flushed' is when the promise resolves. `fill` is called
   * before `publish` returns and writes exactly one record; if it throws, nothing is appended and `publish`
   * throws the same error. Records published in one tick to one
   * partition share a batch, and callers whose records share a flush get **the same promise object**, so that
   * a connection can acknowledge them together. Never rejects.
   */
  publish(partition: Partition, fill: (writer: RecordWriter) => void): Promise<Published | Refused>;

  /**
   * Hands over committed records of a partition from `fromOffset` on (default: what it reads up to, now), range
   * by range, in order. The next range is read after `onRange` has returned (or its promise resolved). When
   * retention overtakes the follower it goes on at the log start and says so through `onSkip`.
   */
  follow(
    partition: Partition,
    options: {
      readonly fromOffset?: number;
      readonly maxBytes?: number;
      /** How far it reads; 'lastStable' if absent. Either way the ranges are `committedOnly`. */
      readonly visibility?: 'lastStable' | 'highWatermark';
      onRange(range: RecordRange): void | Promise<void>;
      onSkip?(fromOffset: number, toOffset: number): void;
      onError?(refusal: ReadRefusal, message: string): void;
    },
  ): Followed;

  /** Opens (creating it when missing) an internal topic as a state table and replays it. */
  stateTable(options: StateTableOptions): Promise<StateTable>;
}

// -------------------------------------------------------------------------------------------- front end

export interface ListenerOptions {
  /** Which of the front end's transports is spoken; absent = the protocol itself. */
  readonly protocol?: string;
  /** Addresses and networks ("10.0.0.0/8") of proxies that say with a PROXY header where a client is; nobody else is let in. */
  readonly proxyTrusted?: readonly string[];
  /** Origins of web pages that may connect, "*" = any. */
  readonly origins?: readonly string[];
  /** Unique name from the configuration. */
  readonly name: string;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly connectionsMax: number;
  /** Connections a second; one above is told to come back later. Absent = any number. */
  readonly connectRateMax?: number;
}

export interface ListenerView {
  readonly name: string;
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly connections: number;
}

/** What the admin API shows of consumer groups, and does to them; given by the front end that coordinates them. */
export interface GroupDirectory {
  list(): readonly GroupView[];
  get(groupId: string): GroupView | undefined;
  offsets(groupId: string): readonly GroupOffset[] | undefined;
  /** The group is gone, with its offsets, when it resolves. */
  delete(groupId: string): Promise<undefined | GroupError>;
  /** Offsets are gone when it resolves: those of what no member is subscribed to. */
  deleteOffsets(groupId: string, places: readonly GroupPlace[]): Promise<undefined | GroupError>;
  /** Offsets of a group without members are committed when it resolves; a group that is not there is made. */
  commitOffsets(
    groupId: string,
    offsets: readonly (GroupPlace & { readonly offset: number })[],
  ): Promise<undefined | GroupError>;
}

export interface GroupPlace {
  readonly topic: string;
  readonly partition: number;
}

export interface GroupError {
  readonly error: 'unknown-group' | 'not-empty' | 'subscribed' | 'unavailable' | 'limit' | 'storage';
  readonly message: string;
}

export interface GroupView {
  readonly groupId: string;
  /** A group of the classic protocol prepares and completes rounds, one of the consumer protocol assigns and reconciles. */
  readonly state:
    | 'empty'
    | 'preparing-rebalance'
    | 'completing-rebalance'
    | 'assigning'
    | 'reconciling'
    | 'stable'
    | 'dead';
  readonly protocolType: string;
  readonly protocol: string | null;
  readonly generation: number;
  readonly members: readonly GroupMemberView[];
}

export interface GroupMemberView {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly assignment: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
}

export interface GroupOffset {
  readonly topic: string;
  readonly partition: number;
  readonly committed: number;
  readonly leaderEpoch: number;
  readonly metadata: string;
  readonly committedAtMs: number;
}

/** What the admin API shows of transactions; given by the front end that coordinates them. */
export interface TransactionDirectory {
  list(): readonly TransactionView[];
  get(transactionalId: string): TransactionView | undefined;
  /** Aborts what is open, and fences its producer: done when it resolves. */
  abort(transactionalId: string): Promise<undefined | TransactionError>;
}

export interface TransactionError {
  readonly error: 'unknown-transaction' | 'not-open' | 'unavailable';
  readonly message: string;
}

export interface TransactionView {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly state:
    | 'empty'
    | 'ongoing'
    | 'prepare-commit'
    | 'prepare-abort'
    | 'complete-commit'
    | 'complete-abort'
    | 'dead';
  readonly timeoutMs: number;
  /** −1 = none is open. */
  readonly startedAtMs: number;
  readonly updatedAtMs: number;
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
  /** Consumer groups whose offsets are part of it. */
  readonly groups: readonly string[];
}

/**
 * What the admin API shows of clients that publish to topics and subscribe to filters, and does for operators; given by
 * the front end that they speak to. A message's topic is the protocol's own name of it, not the hub's topic that has it.
 */
export interface MessagingDirectory {
  readonly clients: ClientDirectory;
  readonly sessions: SessionDirectory;
  readonly subscriptions: SubscriptionDirectory;
  readonly retained: RetainedDirectory;
  readonly publisher: MessagePublisher;
  readonly mappings: MappingDirectory;
}

/** A page of names, in code unit order. */
export interface NameQuery {
  /** The last name of the page before. */
  readonly after?: string | undefined;
  /** Only those that contain it, upper and lower case alike. */
  readonly search?: string | undefined;
  readonly limit: number;
}

export interface NamePage {
  readonly names: readonly string[];
  readonly hasMore: boolean;
}

/** Clients that are connected. */
export interface ClientDirectory {
  readonly count: number;
  /** Names alone: with very many clients only those that are shown are worth a view. */
  ids(query: NameQuery): NamePage;
  get(clientId: string): ClientView | undefined;
  subscriptions(clientId: string): readonly SubscriptionView[];
  /** Tells the client to go. Resolves when what it leaves behind is on disk; false = it is not connected. */
  disconnect(clientId: string): Promise<boolean>;
}

export interface ClientView {
  readonly clientId: string;
  readonly listener: string;
  readonly remoteAddress: string;
  readonly protocolVersion: string;
  readonly connectedAtMs: number;
  /** 0 = it may be silent for ever. */
  readonly keepaliveSeconds: number;
  /** It asked for nothing of what an earlier connection had left. */
  readonly cleanStart: boolean;
  /** What its session outlives the connection by; 0 = not at all, Infinity = it does not expire. */
  readonly expirySeconds: number;
  readonly subscriptions: number;
  /** Messages on their way to it that it has not acknowledged. */
  readonly inflight: number;
  /** Partitions of which it has missed something that it has still to get. */
  readonly partitionsBehind: number;
  /** Bytes that wait for its socket. */
  readonly pendingBytes: number;
}

/** Sessions that outlive their connections. */
export interface SessionDirectory {
  readonly count: number;
  ids(query: NameQuery): NamePage;
  /** From memory. */
  get(clientId: string): SessionView | undefined;
  /** What is kept of a client that is away is read from the log: rejects when that cannot be read. */
  read(clientId: string): Promise<SessionDetail | undefined>;
  /** The client is told to go, and what is kept of it is gone when it resolves; false = there is no such session. */
  end(clientId: string): Promise<boolean | Refused>;
}

export interface SessionView {
  readonly clientId: string;
  readonly connected: boolean;
  /** Infinity = never. */
  readonly expirySeconds: number;
  /** Infinity = never, or not while its client is connected. */
  readonly expiresAtMs: number;
  readonly subscriptions: number;
  readonly inflight: number;
}

export interface SessionDetail extends SessionView {
  readonly filters: readonly SubscriptionView[];
  /** Next offset that goes to the client, per partition; none while it is subscribed to nothing. */
  readonly cursors: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
  }[];
}

export interface SubscriptionDirectory {
  /** By client, then by filter. Rejects when the log cannot be read. */
  find(query: SubscriptionQuery): Promise<SubscriptionPage>;
}

export interface SubscriptionQuery {
  /** Only subscriptions that get messages of this topic; absent = all. */
  readonly topic?: string | undefined;
  readonly after?: SubscriptionKey | undefined;
  readonly limit: number;
}

export interface SubscriptionKey {
  readonly clientId: string;
  readonly filter: string;
}

/** May have fewer items than were asked for, or none, and go on all the same: looking is bounded too. */
export interface SubscriptionPage {
  readonly items: readonly SubscriptionView[];
  /** Undefined = that was all. */
  readonly next: SubscriptionKey | undefined;
}

export interface SubscriptionView extends SubscriptionKey {
  readonly connected: boolean;
  readonly qos: number;
  /** Not for what the client itself publishes. */
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  /** 0 = none. */
  readonly identifier: number;
  /** Name of the group of a shared subscription, of which one member gets each message. */
  readonly share: string | undefined;
}

/** Messages that are kept for those who subscribe later. */
export interface RetainedDirectory {
  readonly count: number;
  /** What they take in the log. */
  readonly byteLength: number;
  /** By topic, in code unit order. Rejects when the log cannot be read. */
  find(query: RetainedQuery): Promise<RetainedPage>;
  /** Forgets the messages of all topics that match; on disk when it resolves, with how many. */
  clear(filter: string): Promise<number | Refused>;
  /** Undefined when topics can be held against it, else why not. */
  illegalFilter(filter: string): string | undefined;
}

export interface RetainedQuery extends NameQuery {
  readonly filter: string;
  /** Of payloads: the page ends with the message that reaches it. */
  readonly bytesMax: number;
}

export interface RetainedPage {
  readonly items: readonly RetainedMessageView[];
  readonly hasMore: boolean;
}

export interface RetainedMessageView {
  readonly topic: string;
  readonly qos: number;
  readonly payload: Buffer;
  readonly timestampMs: number;
  /** Infinity = never. */
  readonly expiresAtMs: number;
  /** Undefined when none of its clients has published it. */
  readonly clientId: string | undefined;
}

export interface MessagePublisher {
  /**
   * On disk when it resolves, and kept where that was asked for. Never rejects. Messages of one topic keep the order of the
   * calls.
   * @param onAppended is told where it will be, before any reader can see it there
   */
  publish(
    principal: Principal,
    message: MessageToPublish,
    onAppended?: (place: MessagePublished) => void,
  ): Promise<MessagePublished | MessageNotPublished>;
}

export interface MessageToPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** In their order; a name may come twice. */
  readonly userProperties: readonly (readonly [name: string, value: string])[];
  readonly contentType?: string | undefined;
  readonly responseTopic?: string | undefined;
  readonly correlationData?: Buffer | undefined;
  readonly expirySeconds?: number | undefined;
  /** The payload is said to be text. */
  readonly isText?: boolean | undefined;
  /** Whose message it is; absent = an operator's. */
  readonly clientId?: string | undefined;
}

export interface MessagePublished {
  readonly refused?: undefined;
  /** The hub's. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface MessageNotPublished {
  /** `invalid`: no client may send such a message; `limit`: there is no room for it. */
  readonly refused: 'invalid' | 'forbidden' | 'limit' | 'too-large' | 'storage';
  readonly message: string;
}

/** Which of the hub's topics has which messages. */
export interface MappingDirectory {
  /** Rules, in the order in which they count. */
  list(): readonly MappingView[];
  /** A text says why it is none. */
  ofTopic(topic: string, clientId: string): TopicMapping | string;
  ofFilter(filter: string): FilterMapping | string;
  /** @param key null = the record has none. @param named what the record itself says that its topic is. */
  ofRecord(topic: string, key: Buffer | null, named: Buffer | undefined): RecordMapping;
}

export interface MappingView {
  readonly match: string;
  readonly preset: string | undefined;
  readonly topic: string | undefined;
  readonly key: string;
  readonly qos: number;
  readonly retain: 'store' | 'ignore';
  readonly direction: 'both' | 'in' | 'out';
  readonly isolation: 'read_committed' | 'read_uncommitted';
  readonly replay: boolean;
  /** Where the configuration says so, `file:line`. */
  readonly declaredAt: string | undefined;
}

/** Where a message of a topic is stored. */
export interface TopicMapping {
  /** Position in the list; −1 = no rule is for it. */
  readonly rule: number;
  /** The hub's topic; undefined = the rule makes no legal name. */
  readonly topic: string | undefined;
  /** −1 = there is no such topic yet. */
  readonly partition: number;
  readonly key: string;
  /** Whether clients may publish to it. */
  readonly publishes: boolean;
  /** Whether those who subscribe get it. */
  readonly delivers: boolean;
}

/**
 * Where messages that match are stored. A record of any topic may name any topic as its own, so nothing else is excluded.
 */
export interface FilterMapping {
  readonly topics: readonly {
    readonly topic: string;
    /** Rules by which it has such messages, in their order; −1 = it has some that no rule is for. */
    readonly rules: readonly number[];
    readonly partitions: readonly number[];
  }[];
}

/** The message that a record is. */
export interface RecordMapping {
  readonly messageTopic: string;
  /** By what: what the record itself says, a rule, its key, or the name of the hub's topic. */
  readonly by: 'header' | 'rule' | 'key' | 'name';
  /** That decides about its delivery; −1 = none. */
  readonly rule: number;
  readonly delivers: boolean;
  /** At most. */
  readonly qos: number;
}

export interface FrontEnd {
  readonly protocol: string;
  /** More names by which listeners ask for it: other transports of the protocol. */
  readonly transports?: readonly string[];
  listen(options: ListenerOptions): Promise<ListenerView>;
  listeners(): readonly ListenerView[];
  /** Makes `messaging` be there without a listener. */
  open?(): Promise<void>;
  /**
   * One listener takes other limits and rules, for connections made from now on; its address and transport stay.
   * Front ends without it have to be started again for that, and for the next.
   */
  changeListener?(options: ListenerOptions): void;
  /** One listener stops accepting at once; its connections are treated as by `drain`. Resolves when they are gone. */
  closeListener?(name: string): Promise<void>;
  /** Gives what it has counted. */
  collect?(sink: MetricSink): void;
  readonly groups?: GroupDirectory;
  readonly transactions?: TransactionDirectory;
  /** Undefined until it listens, or is opened. */
  readonly messaging?: MessagingDirectory | undefined;
  /** Stops accepting and says goodbye as the protocol does; requests in flight are answered. */
  drain(): Promise<void>;
  /** Closes what is left. Idempotent. */
  close(): Promise<void>;
}
