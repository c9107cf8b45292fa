// What a random program of transactions knows: records, transactions, producers, offsets. What nobody has answered before a
// crash is `asked`, and decided by what is there after it.

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

export class Transaction {
  readonly id: string;
  readonly startedAtMs: number;
  readonly timeoutMs: number;
  /** `asked`: whether it has begun is not known. */
  state: 'asked' | 'open' | 'commit' | 'abort' = 'asked';
  /** Places of records that the coordinator has been told of; those that it may have been told of. */
  readonly places = new Set<string>();
  readonly placesAsked = new Set<string>();
  /** Offsets that it will commit, if it does: any of these. Undefined = none; null among them = maybe none. */
  pending: readonly (number | null)[] | undefined;

  constructor(id: string, startedAtMs: number, timeoutMs: number) {
    this.id = id;
    this.startedAtMs = startedAtMs;
    this.timeoutMs = timeoutMs;
  }

  get isOpen(): boolean {
    return this.state === 'open' || this.state === 'asked';
  }
}

export interface ModelRecord {
  readonly text: string;
  readonly place: string;
  readonly transaction: Transaction | undefined;
  readonly by: Producer | undefined;
  readonly madeAtMs: number;
  state: 'asked' | 'there' | 'nowhere';
  /** Of one that is there. */
  offset: number;
  /** It was deleted before it was certain that it counts. */
  isLost: boolean;
}

export interface Producer {
  /** Of the transactional id; undefined = it is idempotent only. */
  readonly id: string | undefined;
  /** 2 = of KIP-890. */
  readonly kind: 1 | 2;
  producerId: number;
  epoch: number;
  timeoutMs: number;
  /** By place: the next one. */
  readonly sequences: Map<string, number>;
  /** By place: what was sent last and not answered. */
  readonly unanswered: Map<string, ModelRecord[]>;
}

export class TransactionalId {
  readonly id: string;
  /** Of the last answer; undefined = it is not known, and asked for after a crash. */
  producerId = -1;
  epoch = -1;
  owner: Producer | undefined;
  readonly fenced: Producer[] = [];
  transaction: Transaction | undefined;
  /** What is under way: what a crash leaves open. */
  asked: 'init' | 'commit' | 'abort' | 'other' | undefined;
  /** The offset that the group has for it: one of these. */
  offsets: readonly number[] = [-1];

  constructor(id: string) {
    this.id = id;
  }
}

export class Partition {
  readonly place: string;
  readonly topic: string;
  readonly partition: number;
  readonly isCompacted: boolean;
  /** A machine that stops may lose what was acknowledged (`flush.messages` above 1). */
  readonly losesEnd: boolean;
  readonly records: ModelRecord[] = [];
  /** On disk when the machine stopped. */
  flushedOffset = 0;
  start = 0;
  /** Where it may begin, if a deletion was not answered. */
  startAsked = 0;
  /** What the subscriber has been sent. */
  readonly delivered: string[] = [];

  constructor(topic: string, partition: number, kind: 'plain' | 'compacted' | 'loses its end') {
    this.place = `${topic}-${partition}`;
    this.topic = topic;
    this.partition = partition;
    this.isCompacted = kind === 'compacted';
    this.losesEnd = kind === 'loses its end';
  }

  /** By offset, those that are in the log, or were. */
  get there(): readonly ModelRecord[] {
    return this.records.filter(({ state }) => state === 'there').sort((a, b) => a.offset - b.offset);
  }

  /** First record at `from` or behind of a transaction that is open; Infinity = there is none. */
  firstUnstableOffset(from: number): number {
    const first = this.there.find(
      ({ offset, transaction }) => offset >= from && transaction?.isOpen === true,
    );
    return first?.offset ?? Number.POSITIVE_INFINITY;
  }

  /** Records that count, below the offset. */
  committedBelow(offset: number): readonly ModelRecord[] {
    return this.there.filter((each) => each.offset < offset && counts(each));
  }
}

function counts({ transaction }: ModelRecord): boolean {
  return transaction === undefined || transaction.state === 'commit';
}
