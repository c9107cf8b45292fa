// One transactional id as a value: who its producer is, what its transaction holds, and where it stands. What happens to
// it are functions of values (initialize.ts, end.ts, and `added` here): they take the time and ids as arguments and return
// the value that comes next, which counts once it is on disk.

import assert from 'node:assert/strict';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';

export type TransactionState =
  | 'empty'
  | 'ongoing'
  | 'prepare-commit'
  | 'prepare-abort'
  | 'complete-commit'
  | 'complete-abort';

/**
 * The states that each state may be entered from; `undefined` = the id was not known. That a transaction aborts which
 * holds nothing is of KIP-890: a client of its kind does not know whether anything of it has come.
 */
export const PREDECESSORS: Readonly<Record<TransactionState, readonly (TransactionState | undefined)[]>> = {
  empty: [undefined, 'empty', 'complete-commit', 'complete-abort'],
  ongoing: ['empty', 'ongoing', 'complete-commit', 'complete-abort'],
  'prepare-commit': ['ongoing'],
  'prepare-abort': ['ongoing', 'empty', 'complete-commit', 'complete-abort'],
  'complete-commit': ['prepare-commit'],
  'complete-abort': ['prepare-abort'],
};

export const NO_PRODUCER_ID = -1;
export const NO_EPOCH = -1;
/** The last epoch that a client is told: the one above ends its last transaction. */
export const LAST_CLIENT_EPOCH = 32_766;

/** 2 = its client is one of KIP-890: partitions are added by Produce, and the epoch is raised at each end. */
export type ClientVersion = 0 | 1 | 2;

export interface Transaction {
  readonly transactionalId: string;
  readonly state: TransactionState;
  readonly producerId: number;
  readonly producerEpoch: number;
  /** The epoch before, if the producer that was told the present one had it (KIP-360): it may ask again. */
  readonly lastProducerEpoch: number;
  /** The producer's id before its epochs ran out. */
  readonly previousProducerId: number;
  /** What it will be once this transaction is complete: its epochs have run out. */
  readonly nextProducerId: number;
  readonly timeoutMs: number;
  /** topic → partitions; those of the groups' offsets among them. */
  readonly partitions: ReadonlyMap<string, ReadonlySet<number>>;
  readonly groups: ReadonlySet<string>;
  /** When the present or the last transaction began; −1 = there was none since the producer began. */
  readonly startedAtMs: number;
  readonly updatedAtMs: number;
  readonly clientVersion: ClientVersion;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface ProducerClaim {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
}

export type Outcome = 'commit' | 'abort';

export const NO_PARTITIONS: ReadonlyMap<string, ReadonlySet<number>> = new Map();
export const NO_GROUPS: ReadonlySet<string> = new Set();

export function assertLegal(before: Transaction | undefined, after: Transaction): void {
  const isLegal = PREDECESSORS[after.state].includes(before?.state);
  assert(isLegal, `transaction ${after.transactionalId}: ${before?.state ?? 'unknown'} → ${after.state}`);
}

/** Whether a producer is the one of now: in Kafka's order. An epoch beyond the last is told to nobody. */
export function claimFault(
  current: Transaction,
  { producerId, producerEpoch }: { readonly producerId: number; readonly producerEpoch: number },
): ErrorCode {
  if (current.producerId !== producerId) return ERROR_CODES.INVALID_PRODUCER_ID_MAPPING;
  const isTold = producerEpoch <= LAST_CLIENT_EPOCH;
  return isTold && current.producerEpoch === producerEpoch ? ERROR_CODES.NONE : ERROR_CODES.PRODUCER_FENCED;
}

/** Decided, and its markers are not all written. */
export function isPrepared({ state }: Transaction): boolean {
  return state === 'prepare-commit' || state === 'prepare-abort';
}

export function outcomeOf({ state }: Transaction): Outcome {
  return state === 'prepare-commit' || state === 'complete-commit' ? 'commit' : 'abort';
}

export function holds({ partitions }: Transaction, { topic, partition }: TopicPartition): boolean {
  return partitions.get(topic)?.has(partition) === true;
}

export function partitionCount({ partitions }: Transaction): number {
  let count = 0;
  for (const ofTopic of partitions.values()) count += ofTopic.size;
  return count;
}

/** With these partitions, and offsets of these groups, in it; the first make it begin. */
export function added(
  before: Transaction,
  places: readonly TopicPartition[],
  groups: readonly string[],
  clientVersion: ClientVersion,
  nowMs: number,
): Transaction {
  const isOpen = before.state === 'ongoing';
  const partitions = new Map<string, ReadonlySet<number>>(isOpen ? before.partitions : NO_PARTITIONS);
  // Each set is copied once: a request may name all partitions of a topic.
  const copies = new Map<string, Set<number>>();
  for (const { topic, partition } of places) {
    const ofTopic = copies.get(topic) ?? new Set(partitions.get(topic));
    ofTopic.add(partition);
    copies.set(topic, ofTopic);
  }
  for (const [topic, ofTopic] of copies) partitions.set(topic, ofTopic);
  return {
    ...before,
    ...{ state: 'ongoing', partitions, clientVersion },
    groups: new Set([...(isOpen ? before.groups : NO_GROUPS), ...groups]),
    startedAtMs: isOpen ? before.startedAtMs : nowMs,
    updatedAtMs: nowMs,
  };
}

/** What an id takes in memory, roughly. */
const TRANSACTION_BYTES = 1_024;
const TOPIC_BYTES = 200;
const PARTITION_BYTES = 50;

export function bytesOf({ transactionalId, partitions, groups }: Transaction): number {
  let bytes = TRANSACTION_BYTES + 4 * transactionalId.length;
  for (const [topic, ofTopic] of partitions)
    bytes += TOPIC_BYTES + 2 * topic.length + PARTITION_BYTES * ofTopic.size;
  for (const group of groups) bytes += PARTITION_BYTES + 2 * group.length;
  return bytes;
}
