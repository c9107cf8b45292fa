// What a log must know of its producers: a fold over the batches that lie in it, the oldest first.
import type { RandomSource } from '../helpers/faulty-file-system.ts';

/** A batch as its producer numbers it. */
export interface ProducerBatch {
  readonly producerId: number;
  readonly producerEpoch: number;
  /** −1 for a control batch. */
  readonly baseSequence: number;
  readonly recordCount: number;
  readonly transactional: boolean;
  readonly control: boolean;
  /** Of a control batch: the transaction is void. */
  readonly aborts: boolean;
}

export interface AppendedBatch {
  readonly baseOffset: number;
  readonly producer: ProducerBatch;
}

export interface ProducerModel {
  epoch: number;
  /** Undefined: any number may come first. */
  nextSequence: number | undefined;
  /** Batches of this epoch, the newest last. */
  batches: AppendedBatch[];
  /** −1 when it has no transaction open. */
  transactionStart: number;
}

export const TRANSACTIONAL_FROM = 10;
const PRODUCER_IDS = [1, 2, TRANSACTIONAL_FROM, TRANSACTIONAL_FROM + 1];
/** Batches of a producer that are told from each other when they come again. */
export const REMEMBERED = 5;

export function producersOf(batches: readonly AppendedBatch[]): Map<number, ProducerModel> {
  const producers = new Map<number, ProducerModel>();
  for (const batch of batches) {
    const { producerId, producerEpoch, baseSequence, recordCount, transactional, control } = batch.producer;
    let known = producers.get(producerId);
    if (known === undefined || known.epoch !== producerEpoch) {
      // The epoch of a control batch begins at 0, unless nothing was known of the producer.
      const nextSequence = control && known !== undefined ? 0 : undefined;
      known = {
        epoch: producerEpoch,
        nextSequence,
        batches: [],
        transactionStart: known?.transactionStart ?? -1,
      };
      producers.set(producerId, known);
    }
    if (control) known.transactionStart = -1;
    else {
      known.batches.push(batch);
      known.nextSequence = baseSequence + recordCount;
      if (transactional && known.transactionStart < 0) known.transactionStart = batch.baseOffset;
    }
  }
  return producers;
}

export function firstUnstableOffset(producers: Map<number, ProducerModel>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { transactionStart } of producers.values()) {
    if (transactionStart >= 0) first = Math.min(first, transactionStart);
  }
  return first;
}

/** What a producer sends, and what must come of it: it is appended, or is the batch that lies there, or is refused. */
export interface Sending {
  readonly producer: ProducerBatch;
  readonly expected: 'appended' | 'sequence-gap' | 'fenced-producer' | { readonly baseOffset: number };
}

/** @param certain false when only the newest batch of a producer need be known */
export function anySending(
  producers: Map<number, ProducerModel>,
  certain: boolean,
  random: RandomSource,
): Sending {
  const below = (bound: number): number => Math.floor(random() * bound);
  const producerId = PRODUCER_IDS[below(PRODUCER_IDS.length)]!; // below the length
  const known = producers.get(producerId);
  const transactional = producerId >= TRANSACTIONAL_FROM;
  const batch = {
    producerId,
    producerEpoch: known?.epoch ?? 0,
    recordCount: 1 + below(3),
    transactional,
    control: false,
    aborts: false,
  };
  if (transactional && known !== undefined && random() < 0.4) {
    const ends = { ...batch, baseSequence: -1, recordCount: 1, control: true, aborts: random() < 0.5 };
    return { producer: ends, expected: 'appended' };
  }
  const nextSequence = known?.nextSequence;
  const next: Sending = {
    producer: { ...batch, baseSequence: nextSequence ?? below(2) * below(1000) },
    expected: 'appended',
  };
  if (known === undefined || !certain) return next;
  const choice = random();
  if (choice < 0.2 && known.batches.length > 0) {
    const newest = known.batches.slice(-REMEMBERED);
    const again = newest[below(newest.length)]!; // below the length
    return { producer: again.producer, expected: { baseOffset: again.baseOffset } };
  }
  if (choice < 0.3 && nextSequence !== undefined) {
    return { producer: { ...batch, baseSequence: nextSequence + 1 + below(5) }, expected: 'sequence-gap' };
  }
  if (choice < 0.4 && known.epoch > 0) {
    const stale = { ...batch, producerEpoch: known.epoch - 1, baseSequence: below(3) };
    return { producer: stale, expected: 'fenced-producer' };
  }
  if (choice < 0.5) {
    const isZero = random() < 0.7;
    const raised = { ...batch, producerEpoch: known.epoch + 1, baseSequence: isZero ? 0 : 1 + below(5) };
    return { producer: raised, expected: isZero ? 'appended' : 'sequence-gap' };
  }
  return next;
}

/** How the transactions of batches ended, by base offset; of those that have not, or were none, nothing is said. */
export function outcomesOf(batches: readonly AppendedBatch[]): Map<number, 'commit' | 'abort'> {
  const outcomes = new Map<number, 'commit' | 'abort'>();
  const open = new Map<number, number[]>();
  for (const { baseOffset, producer } of batches) {
    const { producerId, transactional, control, aborts } = producer;
    const own = open.get(producerId) ?? [];
    if (control) {
      for (const each of own) outcomes.set(each, aborts ? 'abort' : 'commit');
      open.delete(producerId);
    } else if (transactional) {
      open.set(producerId, [...own, baseOffset]);
    }
  }
  return outcomes;
}
