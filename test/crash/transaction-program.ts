// A random program of producers, transactional ones of both kinds among them, on a hub that is killed and restarted at any
// point. What readers of both isolation levels, an MQTT subscriber, consumer groups and the coordinator say is held against
// the model whenever everything is at rest. What was under way at a crash is asked for afterwards: all of it or nothing.
import { errorName } from '../../protocols/kafka/error-codes.ts';
import type { Partition as HubPartition } from '../../protocols/port.ts';
import { type Fault, type Keep, type RandomSource, seededRandom } from '../helpers/faulty-file-system.ts';
import { api, fetchOf } from '../protocols/kafka/kafka-requests.ts';
import { rawBatch, simpleRecord } from '../protocols/kafka/records/raw-batch.ts';
import type { FakeClient } from '../protocols/mqtt/delivery-fixture.ts';
import { committedRecords, decodeBatches, type FetchedRecord } from './record-batches.ts';
import { check } from './tracked-log.ts';
import {
  type ModelRecord,
  Partition,
  type Producer,
  Transaction,
  TransactionalId,
} from './transaction-model.ts';
import { subscribeToAll } from './transaction-subscriber.ts';
import { ABORT_CHECK_MS, ID_EXPIRATION_MS, TransactionWorld } from './transaction-world.ts';

/** What has happened how often: programs in which nothing happens prove nothing. */
export type Happened = Map<string, number>;

const GROUP = 'group';
const IDS = ['one', 'two', 'three'];
/** Where the offset is that an id commits. */
const OFFSET_PLACES = [
  { topic: 'plain', partition: 0 },
  { topic: 'plain', partition: 1 },
  { topic: 'compacted', partition: 0 },
];
const RETENTION_MS = 25_000;
/** The last epoch that a client is told. */
const LAST_CLIENT_EPOCH = 32_766;
/** How much a program does, more or less. */
const STEPS_MAX = Number(process.env['POLYLOG_TRANSACTION_STEPS'] ?? 7);

/** What a program is about besides: most are about few of these, or they would take too long. */
interface Traits {
  readonly statePartitions: 1 | 2;
  /** A topic is deleted and made again. */
  readonly deletes: boolean;
  /** Old segments go. */
  readonly retains: boolean;
  /** What is acknowledged need not be on disk. */
  readonly losesEnd: boolean;
  /** Epochs begin near the last one. */
  readonly epochsEnd: boolean;
}

/** What a client is told when the disk has failed; it counts as if it had been told nothing. */
const FAULT =
  /STORAGE_ERROR|NOT_AVAILABLE|NOT_LEADER|NOT_ENOUGH_REPLICAS|TIMED_OUT|NOT_COORDINATOR|CONCURRENT_TRANSACTIONS/;

class DiskFault extends Error {}

/** Runs one program. What it throws names the seed and tells what was done. */
export async function runTransactionProgram(seed: number, happened: Happened = new Map()): Promise<void> {
  const program = new Program(seed, happened);
  try {
    await program.run();
  } catch (error) {
    const why = error instanceof Error ? error.stack : error;
    throw new Error(`seed ${seed}: ${why}\n${program.trace.join('\n')}`, { cause: error });
  }
}

interface Running {
  readonly what: string;
  isDone: boolean;
  error: unknown;
}

interface Described {
  readonly state: string;
  readonly producerId: number;
  readonly epoch: number;
  readonly places: readonly string[];
}

class Program {
  readonly trace: string[] = [];
  readonly #random: RandomSource;
  readonly #world: TransactionWorld;
  readonly #happened: Happened;
  readonly #traits: Traits;
  readonly #partitions: Partition[];
  /** Of the topic that is deleted. */
  #doomedId: string | undefined;
  /** The disk fails. */
  #isFaulty = false;
  readonly #ids = IDS.map((id) => new TransactionalId(id));
  readonly #idempotent: Producer[] = [];
  #running: Running[] = [];
  #subscriber: FakeClient | undefined;
  /** Whether anything has been compacted. */
  #isCompacted = false;
  #recordCount = 0;

  constructor(seed: number, happened: Happened) {
    this.#random = seededRandom(seed);
    this.#traits = {
      statePartitions: this.#oneIn(3) ? 2 : 1,
      deletes: this.#oneIn(3),
      retains: this.#oneIn(4),
      losesEnd: this.#oneIn(4),
      epochsEnd: this.#oneIn(3),
    };
    const plain = this.#traits.losesEnd ? 'loses its end' : 'plain';
    this.#partitions = [
      new Partition('plain', 0, plain),
      new Partition('plain', 1, plain),
      new Partition('compacted', 0, 'compacted'),
      ...(this.#traits.deletes ? [new Partition('doomed', 0, 'plain')] : []),
    ];
    this.#world = new TransactionWorld(this.#random, this.#traits.statePartitions);
    this.#happened = happened;
  }

  async run(): Promise<void> {
    await this.#open();
    await this.#createTopics();
    if (this.#traits.epochsEnd) for (const id of this.#ids) if (this.#oneIn(2)) await this.#nearLastEpoch(id);
    this.#subscribe();
    for (let steps = 3 + this.#below(STEPS_MAX - 2); steps > 0; steps--) await this.#step();
    await this.#restart();
    await this.#endAll();
    await this.#world.close();
  }

  async #createTopics(): Promise<void> {
    const config = { 'segment.bytes': '1024', 'retention.ms': '-1' };
    const compact = {
      ...{ 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0', 'delete.retention.ms': '0' },
      ...{ 'min.compaction.lag.ms': '0' },
    };
    const { topics } = this.#world.now.hub;
    const plain = {
      ...(this.#traits.retains ? { 'retention.ms': `${RETENTION_MS}` } : {}),
      ...(this.#traits.losesEnd ? { 'flush.messages': '6' } : {}),
    };
    await topics.create({
      ...{ name: 'plain', partitions: 2, replicationFactor: -1, config: { ...config, ...plain } },
    });
    const made = await topics.create({
      ...{ name: 'compacted', partitions: 1, replicationFactor: -1, config: { ...config, ...compact } },
    });
    check(!('error' in made), () => JSON.stringify(made));
    if (this.#traits.deletes) await this.#makeDoomed();
  }

  async #makeDoomed(): Promise<void> {
    const config = { 'segment.bytes': '1024', 'retention.ms': '-1' };
    const { topics } = this.#world.now.hub;
    const made = await topics.create({ name: 'doomed', partitions: 1, replicationFactor: -1, config });
    if ('error' in made) throw new Error(`doomed: ${made.message}`);
    this.#doomedId = made.topicId;
  }

  /** As if its producer had begun, or committed, thousands of times. */
  async #nearLastEpoch(id: TransactionalId): Promise<void> {
    const { hub, kafka } = this.#world.now;
    const { store } = kafka.transactions;
    const producerId = await hub.cluster.allocateProducerId();
    const producerEpoch = LAST_CLIENT_EPOCH - this.#below(5);
    this.#say(`${id.id}: begins at epoch ${producerEpoch}`);
    const code = await store.write(store.create(id.id), {
      ...{ transactionalId: id.id, state: 'empty', producerId, producerEpoch, lastProducerEpoch: -1 },
      ...{ previousProducerId: -1, nextProducerId: -1, timeoutMs: 15_000, clientVersion: 0 },
      ...{ partitions: new Map(), groups: new Set(), startedAtMs: -1, updatedAtMs: this.#world.clock.now() },
    });
    check(code === 0, () => `${id.id} is not written: ${errorName(code)}`);
    this.#identify(id, producerId, producerEpoch);
  }

  // ------------------------------------------------------------------------------------------------ steps

  async #step(): Promise<void> {
    const choice = this.#below(100);
    if (choice < 47) return this.#work();
    if (choice < 52) return this.#endAndCrash();
    if (choice < 60) return this.#faults();
    if (choice < 69) return this.#advance(ABORT_CHECK_MS + this.#below(3) * 10_000);
    if (choice < 72) return this.#advance(ID_EXPIRATION_MS + 3_600_000);
    if (choice < 76) return this.#verify();
    if (choice < 81) return this.#deleteRecords();
    if (choice < 88) return this.#traits.deletes && this.#oneIn(2) ? this.#deleteTopic() : this.#maintain();
    if (choice < 92) return this.#restart();
    this.#say('crash at rest');
    await this.#crash();
  }

  /** Several do something at once, to the end or until the process ends. */
  async #work(): Promise<void> {
    for (const id of this.#ids) if (this.#oneIn(2)) this.#start(() => this.#act(id));
    if (this.#oneIn(3)) this.#start(() => this.#produceOutside());
    if (!this.#traits.retains && this.#oneIn(8))
      this.#start(() => this.#world.now.store.maintain(), 'maintenance');
    if (!this.#oneIn(5)) return this.#atRest();
    await this.#world.turns(this.#below(25));
    await this.#crash();
  }

  /** The process ends between a decision and what follows from it. */
  async #endAndCrash(): Promise<void> {
    await this.#atRest();
    for (const id of this.#ids) {
      const { owner, transaction } = id;
      this.#start(async () => {
        if (owner === undefined) await this.#initialize(id);
        if (transaction?.state !== 'open') await this.#produce(id, id.owner!); // initialized
        await this.#end(id, id.owner!, this.#oneIn(3) ? 'abort' : 'commit'); // as before
      });
    }
    await this.#world.turns(this.#below(this.#oneIn(2) ? 16 : 80));
    await this.#crash();
  }

  /** The disk fails under several who do something at once, and then the machine stops. */
  async #faults(): Promise<void> {
    await this.#atRest();
    const faults = Array.from({ length: 1 + this.#below(2) }, () => this.#fault());
    this.#say(`faults: ${faults.map(({ kind, after }) => `${kind} after ${after}`)}`);
    this.#isFaulty = true;
    this.#world.arm(...faults);
    for (const id of this.#ids) if (this.#oneIn(2)) this.#start(() => this.#act(id));
    if (this.#oneIn(2)) this.#start(() => this.#produceOutside());
    await this.#world.turns(10 + this.#below(60));
    this.#count('disk faults');
    // Of a process alone the page cache would keep what the disk has not.
    await this.#crash(this.#anyOf(['nothing', 'everything', 'anything'] as const));
  }

  #fault(): Fault {
    const after = this.#below(8);
    const code = this.#anyOf(['EIO', 'ENOSPC']);
    return this.#anyOf<Fault>([
      { kind: 'write-fails', code, afterBytes: this.#below(300), after },
      { kind: 'datasync-fails', after },
      { kind: 'open-fails', code, after: this.#below(2) },
      { kind: 'rename-fails', files: /\.(json|snapshot)$/, after: this.#below(2) },
    ]);
  }

  /** What it is told, unless the disk fails: then it was told nothing. */
  #named(code: number): string {
    const told = errorName(code);
    if (this.#isFaulty && FAULT.test(told)) throw new DiskFault(told);
    return told;
  }

  /** One thing after the other with one transactional id. */
  async #act(id: TransactionalId): Promise<void> {
    for (let actions = 1 + this.#below(3); actions > 0; actions--) {
      const choice = this.#below(100);
      if (id.owner === undefined || choice < 8) await this.#initialize(id);
      else if (choice < 14 && id.fenced.length > 0) await this.#actFenced(id, this.#anyOf(id.fenced));
      else if (choice < 55) await this.#produce(id, id.owner);
      else if (choice < 68) await this.#commitOffset(id, id.owner);
      else if (choice < 72) await this.#commitOffsetOutside(id);
      else if (choice < 76) await this.#sneak(id, id.owner);
      else await this.#end(id, id.owner, this.#oneIn(3) ? 'abort' : 'commit');
    }
  }

  async #initialize(id: TransactionalId): Promise<void> {
    const { owner } = id;
    const resumes = owner !== undefined && this.#oneIn(3);
    const timeoutMs = this.#anyOf([15_000, 60_000]);
    const kind = this.#oneIn(2) ? 1 : 2;
    this.#say(`${id.id}: init${resumes ? ' again' : ''}, kind ${kind}`);
    id.asked = 'init';
    for (;;) {
      const { producerId, epoch } = resumes ? owner : { producerId: -1, epoch: -1 };
      const answer = await this.#world.ask(api.initProducerId, 5, {
        ...{ transactionalId: id.id, transactionTimeoutMs: timeoutMs, producerId, producerEpoch: epoch },
      });
      const told = this.#named(answer.errorCode);
      if (told === 'CONCURRENT_TRANSACTIONS') {
        check(id.transaction !== undefined, () => `${id.id}: 51 with nothing open`);
        this.#count('aborted by init');
        continue;
      }
      check(told === 'NONE', () => `${id.id}: init says ${told}`);
      const isRaised =
        id.producerId < 0 || answer.producerId !== id.producerId || answer.producerEpoch > id.epoch;
      check(isRaised, () => `${id.id}: epoch ${answer.producerEpoch} after ${id.epoch}`);
      this.#ended(id, 'abort');
      if (id.owner !== undefined) this.#fence(id, id.owner);
      this.#identify(id, answer.producerId, answer.producerEpoch);
      id.owner = {
        ...{ id: id.id, kind, timeoutMs, producerId: answer.producerId, epoch: answer.producerEpoch },
        ...{ sequences: new Map(), unanswered: new Map() },
      };
      id.asked = undefined;
      return;
    }
  }

  async #produce(id: TransactionalId, producer: Producer): Promise<void> {
    const partitions = this.#somePartitions();
    id.asked = 'other';
    const transaction = this.#transactionOf(id, producer);
    for (const { place } of partitions) transaction.placesAsked.add(place);
    if (producer.kind === 1) {
      const missing = partitions.filter(({ place }) => !transaction.places.has(place));
      for (const partition of missing) {
        const told = await this.#add(producer, partition);
        check(told === 'NONE', () => `${id.id}: add says ${told}`);
        transaction.state = 'open';
        transaction.places.add(partition.place);
      }
    }
    await this.#send(producer, partitions, transaction);
    transaction.state = 'open';
    for (const { place } of partitions) transaction.places.add(place);
    id.asked = undefined;
  }

  /** Sends what was not answered again, or something new, and takes the answer into the model. */
  async #send(
    producer: Producer,
    partitions: readonly Partition[],
    transaction: Transaction | undefined,
  ): Promise<void> {
    const sent = partitions.map((partition) => {
      const again = producer.unanswered.get(partition.place);
      const records = again ?? this.#newRecords(partition, transaction, producer);
      producer.unanswered.set(partition.place, records);
      return { partition, records };
    });
    const names = sent.map(
      ({ partition: { place }, records }) => `${place} ${records.map(({ text }) => text)}`,
    );
    this.#say(`${producer.id ?? 'idempotent'}, epoch ${producer.epoch}: produce ${names.join('; ')}`);
    const codes = await this.#produceTo(producer, sent);
    for (const [index, { partition, records }] of sent.entries()) {
      const { told, baseOffset } = codes[index]!; // one for each
      check(told === 'NONE', () => `${producer.id}: produce to ${partition.place} says ${told}`);
      this.#landed(producer, partition, records, baseOffset);
    }
  }

  #landed(
    producer: Producer,
    { place }: Partition,
    records: readonly ModelRecord[],
    baseOffset: number,
  ): void {
    for (const [delta, record] of records.entries()) {
      const offset = baseOffset + delta;
      const isSame = record.state === 'asked' || record.offset === offset;
      check(isSame, () => `${record.text} is at ${record.offset}, and said to be at ${offset}`);
      record.state = 'there';
      record.offset = offset;
    }
    producer.sequences.set(place, (producer.sequences.get(place) ?? 0) + records.length);
    producer.unanswered.delete(place);
  }

  async #produceTo(
    producer: Producer,
    sent: readonly { readonly partition: Partition; readonly records: readonly ModelRecord[] }[],
  ): Promise<readonly { readonly told: string; readonly baseOffset: number }[]> {
    const topics = [...new Set(sent.map(({ partition }) => partition.topic))];
    const answer = await this.#world.ask(api.produce, producer.kind === 1 ? 11 : 12, {
      ...{ transactionalId: producer.id ?? null, acks: -1, timeoutMs: 10_000 },
      topicData: topics.map((name) => ({
        name,
        partitionData: sent
          .filter(({ partition }) => partition.topic === name)
          .map(({ partition: { partition: index, place }, records }) => ({
            ...{ index, records: this.#batchOf(producer, place, records) },
          })),
      })),
    });
    return sent.map(({ partition }) => {
      const ofTopic = answer.responses.find(({ name }) => name === partition.topic);
      const found = ofTopic?.partitionResponses.find(({ index }) => index === partition.partition);
      return { told: this.#named(found?.errorCode ?? -1), baseOffset: found?.baseOffset ?? -1 };
    });
  }

  #batchOf(producer: Producer, place: string, records: readonly ModelRecord[]): Buffer {
    const encoded = records.map(({ text }, index) =>
      simpleRecord(index, Buffer.from(text), Buffer.from(text)),
    );
    return rawBatch(encoded, {
      attributes: producer.id === undefined ? 0 : 0x10,
      ...{ producerId: BigInt(producer.producerId), producerEpoch: producer.epoch },
      ...{ baseSequence: producer.sequences.get(place) ?? 0, baseTimestamp: BigInt(this.#world.clock.now()) },
    });
  }

  async #add({ id, producerId, epoch }: Producer, { topic, partition }: Partition): Promise<string> {
    this.#say(`${id}, epoch ${epoch}: add ${topic}-${partition}`);
    const answer = await this.#world.ask(api.addPartitionsToTxn, 3, {
      v3AndBelowTransactionalId: id ?? '',
      ...{ v3AndBelowProducerId: producerId, v3AndBelowProducerEpoch: epoch },
      v3AndBelowTopics: [{ name: topic, partitions: [partition] }],
    });
    return this.#named(answer.resultsByTopicV3AndBelow[0]!.resultsByPartition[0]!.partitionErrorCode);
  }

  async #commitOffset(id: TransactionalId, producer: Producer): Promise<void> {
    const offset = ++this.#recordCount;
    const { producerId, epoch: producerEpoch, kind } = producer;
    this.#say(`${id.id}, epoch ${producerEpoch}: commit offset ${offset} in the transaction`);
    id.asked = 'other';
    const transaction = this.#transactionOf(id, producer);
    const before = transaction.pending ?? [null];
    const claim = { transactionalId: id.id, producerId, producerEpoch, groupId: GROUP };
    if (kind === 1) {
      const { errorCode } = await this.#world.ask(api.addOffsetsToTxn, 3, claim);
      check(this.#named(errorCode) === 'NONE', () => `${id.id}: add offsets says ${errorName(errorCode)}`);
      transaction.state = 'open';
    }
    transaction.pending = [...before, offset];
    const answer = await this.#world.ask(api.txnOffsetCommit, kind === 1 ? 3 : 5, {
      ...{ ...claim, generationIdOrMemberEpoch: -1, memberId: '' },
      topics: [this.#committedAs(id, offset)],
    });
    const told = this.#named(answer.topics[0]!.partitions[0]!.errorCode);
    check(told === 'NONE', () => `${id.id}: the offset is answered ${told}`);
    transaction.state = 'open';
    transaction.pending = [offset];
    id.asked = undefined;
  }

  /** By a consumer, which knows nothing of the transaction. */
  async #commitOffsetOutside(id: TransactionalId): Promise<void> {
    // Which of the two is later is what counts; nobody does both.
    if (id.transaction?.pending !== undefined) return;
    const offset = ++this.#recordCount;
    this.#say(`${id.id}: commit offset ${offset}`);
    id.offsets = [...id.offsets, offset];
    const answer = await this.#world.ask(api.offsetCommit, 8, {
      ...{ groupId: GROUP, generationIdOrMemberEpoch: -1, memberId: '' },
      topics: [this.#committedAs(id, offset)],
    });
    const told = this.#named(answer.topics[0]!.partitions[0]!.errorCode);
    check(told === 'NONE', () => `${id.id}: the offset is answered ${told}`);
    id.offsets = [offset];
  }

  #committedAs(id: TransactionalId, committedOffset: number) {
    const { topic, partition } = OFFSET_PLACES[this.#ids.indexOf(id)]!; // one for each
    const committed = { partitionIndex: partition, committedOffset, committedMetadata: id.id };
    return { name: topic, partitions: [committed] };
  }

  async #end(id: TransactionalId, producer: Producer, outcome: 'commit' | 'abort'): Promise<void> {
    const isOpen = id.transaction?.state === 'open';
    // Whoever ends a transaction knows what is in it.
    for (const place of [...producer.unanswered.keys()]) this.#giveUp(producer, place);
    this.#say(`${id.id}, epoch ${producer.epoch}: ${outcome}`);
    id.asked = outcome;
    const { told, producerId, epoch } = await this.#askEnd(producer, outcome);
    // Of the second kind who did not hear the answer asks again, and is told the same.
    if (told === 'NONE' && producer.kind === 2 && this.#oneIn(6)) {
      const again = await this.#askEnd(producer, outcome);
      const isSame = again.told === told && again.producerId === producerId && again.epoch === epoch;
      check(isSame, () => `${id.id}: ${outcome} again is answered ${JSON.stringify(again)}`);
      this.#count('asked again');
    }
    const mayEnd = isOpen || (producer.kind === 2 && outcome === 'abort');
    // Of the first kind nobody can tell whether it asks again.
    if (mayEnd || producer.kind === 2)
      check((told === 'NONE') === mayEnd, () => `${id.id}: ${outcome} says ${told}`);
    id.asked = undefined;
    if (told !== 'NONE' || !mayEnd) return;
    this.#ended(id, outcome);
    this.#count(outcome);
    if (producer.kind === 1) return;
    const isRaised = producerId !== producer.producerId || epoch > producer.epoch;
    check(isRaised, () => `${id.id}: epoch ${epoch} behind ${producer.epoch}`);
    this.#goesOnAs(id, producer, producerId, epoch);
  }

  #goesOnAs(id: TransactionalId, producer: Producer, producerId: number, epoch: number): void {
    id.fenced.push({ ...producer, sequences: new Map(), unanswered: new Map() });
    this.#identify(id, producerId, epoch);
    Object.assign(producer, { producerId, epoch });
    producer.sequences.clear();
    producer.unanswered.clear();
  }

  async #askEnd(producer: Producer, outcome: 'commit' | 'abort') {
    const { id, producerId, epoch: producerEpoch, kind } = producer;
    const answer = await this.#world.ask(api.endTxn, kind === 1 ? 3 : 5, {
      ...{ transactionalId: id ?? '', producerId, producerEpoch, committed: outcome === 'commit' },
    });
    const { errorCode, producerId: nextId, producerEpoch: epoch } = answer;
    return { told: this.#named(errorCode), producerId: nextId, epoch };
  }

  /** Nothing that a producer of the past asks for is done. */
  async #actFenced(id: TransactionalId, producer: Producer): Promise<void> {
    const [partition] = this.#somePartitions();
    const isLastEpoch =
      producer.producerId === id.producerId
        ? producer.epoch + 1 === id.epoch
        : id.epoch === 0 && producer.epoch >= LAST_CLIENT_EPOCH;
    if (producer.kind === 1) {
      const told = await this.#add(producer, partition!);
      check(/FENCED|MAPPING/.test(told), () => `${id.id}: a fenced producer adds: ${told}`);
    }
    // An end of the second kind that is asked for again is answered again.
    if (!isLastEpoch || producer.kind === 1) {
      const { told } = await this.#askEnd(producer, 'commit');
      check(/FENCED|MAPPING/.test(told), () => `${id.id}: a fenced producer ends: ${told}`);
    }
    await this.#refused(
      producer,
      partition!,
      /PRODUCER_EPOCH|FENCED|MAPPING|OUT_OF_ORDER|TXN_STATE|ABORTABLE/,
    );
    this.#count('fenced');
  }

  /** A partition that is not in the transaction takes no records of it: the first kind has to add it before. */
  async #sneak(id: TransactionalId, producer: Producer): Promise<void> {
    const partition = this.#anyOf(this.#partitions);
    if (producer.kind === 2 || id.transaction?.places.has(partition.place) === true) return;
    await this.#refused(producer, partition, /TXN_STATE|ABORTABLE/);
  }

  async #refused(producer: Producer, partition: Partition, codes: RegExp): Promise<void> {
    const record = this.#newRecords(partition, undefined, undefined)[0]!;
    record.state = 'nowhere';
    this.#say(`${producer.id}, epoch ${producer.epoch}: try ${record.text} in ${partition.place}`);
    const [answer] = await this.#produceTo(producer, [{ partition, records: [record] }]);
    check(codes.test(answer!.told), () => `${producer.id}: ${record.text} is answered ${answer!.told}`);
  }

  async #produceOutside(): Promise<void> {
    let producer = this.#oneIn(2) ? this.#idempotent[0] : undefined;
    if (producer === undefined) {
      const request = { transactionalId: null, transactionTimeoutMs: 0, producerId: -1, producerEpoch: -1 };
      const { producerId, producerEpoch: epoch } = await this.#world.ask(api.initProducerId, 4, request);
      producer = {
        ...{ id: undefined, kind: 1, producerId, epoch, timeoutMs: 0 },
        ...{ sequences: new Map(), unanswered: new Map() },
      };
      this.#idempotent.unshift(producer);
    }
    await this.#send(producer, this.#somePartitions(), undefined);
  }

  /** Time passes: what has lasted too long is aborted, and its producer fenced. */
  async #advance(byMs: number): Promise<void> {
    await this.#atRest();
    await this.#world.untilDiskRests();
    this.#say(`${byMs} ms pass`);
    this.#world.clock.advance(byMs);
    const isExpired = ({ transaction }: TransactionalId): boolean =>
      transaction?.state === 'open' &&
      transaction.startedAtMs + transaction.timeoutMs < this.#world.clock.now();
    const forgets = byMs > ID_EXPIRATION_MS;
    const isForgotten = ({ transaction, producerId }: TransactionalId): boolean =>
      forgets && producerId >= 0 && transaction === undefined;
    if (this.#oneIn(4)) {
      for (const id of this.#ids) if (isExpired(id) || isForgotten(id)) id.asked = 'init';
      await this.#world.turns(this.#below(10));
      return this.#crash();
    }
    await this.#atRest();
    for (const id of this.#ids.filter(isForgotten)) {
      const { state } = await this.#described(id);
      check(state === 'TRANSACTIONAL_ID_NOT_FOUND', () => `${id.id} did nothing for long and is ${state}`);
      this.#identify(id, -1, -1);
      if (id.owner !== undefined) this.#fence(id, id.owner);
      id.owner = undefined;
      this.#count('forgotten');
    }
    for (const id of this.#ids.filter(isExpired)) {
      const { state, producerId, epoch } = await this.#described(id);
      check(state === 'CompleteAbort', () => `${id.id} has timed out and is ${state}`);
      this.#ended(id, 'abort');
      this.#identify(id, producerId, epoch);
      if (id.owner !== undefined) this.#fence(id, id.owner);
      id.owner = undefined;
      this.#count('timed out');
    }
    if (this.#traits.retains) await this.#maintain();
  }

  async #deleteRecords(): Promise<void> {
    await this.#atRest();
    await this.#delivered();
    const partition = this.#anyOf(this.#partitions);
    const handle = this.#handleOf(partition);
    const before = partition.start + this.#below(handle.highWatermark - partition.start + 1);
    this.#say(`${partition.place}: delete records before ${before}`);
    partition.startAsked = before;
    this.#start(async () => {
      const deleted = await handle.deleteRecords(before);
      check(deleted.refused === undefined, () => JSON.stringify(deleted));
      this.#startsAt(partition, before);
    });
    if (!this.#oneIn(3)) return this.#atRest();
    await this.#world.turns(this.#below(8));
    await this.#crash();
  }

  async #maintain(): Promise<void> {
    await this.#atRest();
    // What is deleted has come to its subscriber before, or never does.
    if (this.#traits.retains) await this.#delivered();
    this.#say('maintain');
    this.#start(() => this.#world.now.store.maintain(), 'maintenance');
    if (!this.#oneIn(3)) {
      await this.#atRest();
      for (const partition of this.#partitions) this.#retained(partition);
      return;
    }
    await this.#world.turns(this.#below(60));
    await this.#crash();
  }

  /** What retention has taken was old. */
  #retained(partition: Partition): void {
    const { logStartOffset } = this.#handleOf(partition);
    if (!this.#traits.retains || partition.topic !== 'plain' || logStartOffset <= partition.start) return;
    const youngMs = this.#world.clock.now() - RETENTION_MS;
    const taken = partition.there.filter(
      ({ offset }) => offset >= partition.start && offset < logStartOffset,
    );
    const young = taken.filter(({ madeAtMs }) => madeAtMs >= youngMs);
    check(young.length === 0, () => `${partition.place}: ${young.map(({ text }) => text)} went too early`);
    this.#startsAt(partition, logStartOffset);
    this.#count('retention');
  }

  /** A topic goes, with what open transactions have in it, and another of its name comes. */
  async #deleteTopic(): Promise<void> {
    await this.#atRest();
    await this.#delivered();
    const open = this.#ids.filter(({ owner, transaction }) => owner && transaction?.state === 'open');
    this.#say('doomed is deleted and made again');
    if (open.length > 0 && this.#oneIn(2)) {
      const id = this.#anyOf(open);
      this.#start(() => this.#end(id, id.owner!, this.#oneIn(2) ? 'abort' : 'commit')); // filtered above
    }
    this.#start(async () => {
      const error = await this.#world.now.hub.topics.delete('doomed');
      check(error === undefined, () => `doomed stays: ${error?.message}`);
      await this.#makeDoomed();
      this.#doomedReplaced();
    }, 'deletion');
    this.#count('topic deleted');
    if (!this.#oneIn(3)) return this.#atRest();
    await this.#world.turns(this.#below(60));
    await this.#crash();
  }

  #doomedReplaced(): void {
    const index = this.#partitions.findIndex(({ topic }) => topic === 'doomed');
    const { place, records } = this.#partitions[index]!; // the trait says that there is one
    for (const record of records) record.state = 'nowhere';
    for (const producer of this.#producers()) producer.unanswered.delete(place);
    this.#partitions[index] = new Partition('doomed', 0, 'plain');
  }

  #producers(): Producer[] {
    return [...this.#idempotent, ...this.#ids.flatMap(({ owner }) => (owner ? [owner] : []))];
  }

  /** A clean stop. */
  async #restart(): Promise<void> {
    await this.#atRest();
    this.#say('stop and start');
    await this.#delivered();
    this.#takeDelivered();
    await this.#world.close();
    await this.#open();
    this.#subscribe();
    await this.#verify();
  }

  async #crash(
    how: 'kill' | Keep = this.#anyOf(['kill', 'nothing', 'everything', 'anything'] as const),
  ): Promise<void> {
    const pending = this.#running.filter(({ isDone }) => !isDone).map(({ what }) => what);
    this.#say(`crash, ${how}; under way: ${pending.join(', ') || 'nothing'}`);
    this.#count(pending.length > 0 ? 'crash in the middle' : 'crash');
    this.#failed();
    this.#takeDelivered();
    for (const partition of this.#partitions) {
      const log = this.#world.now.hub.topics.partition(partition.topic, partition.partition)?.log;
      partition.flushedOffset = log?.flushedOffset ?? 0;
    }
    this.#world.end(how);
    let isKill = how === 'kill';
    this.#running = [];
    this.#isFaulty = false;
    // Sometimes the next process does not live long either.
    while (this.#oneIn(8)) {
      void this.#world.open().catch((error: unknown) => this.#say(`opening: ${error}`));
      await this.#world.turns(this.#below(60));
      this.#say('crash while opening');
      const again = this.#anyOf(['kill', 'nothing', 'anything'] as const);
      this.#world.end(again);
      isKill &&= again === 'kill';
    }
    // A process that is killed loses nothing that it has written.
    if (isKill) for (const partition of this.#partitions) partition.flushedOffset = Number.POSITIVE_INFINITY;
    await this.#open();
    if (this.#traits.deletes) await this.#resolveDoomed();
    await this.#resolve();
    this.#subscribe();
    await this.#verify();
  }

  // --------------------------------------------------------------------------------------- after a crash

  /** The crash may have come anywhere between a topic and the next one of its name. */
  async #resolveDoomed(): Promise<void> {
    const view = this.#world.now.hub.topics.get('doomed');
    if (view?.topicId === this.#doomedId) return;
    if (view === undefined) await this.#makeDoomed();
    else this.#doomedId = view.topicId;
    this.#doomedReplaced();
  }

  /** What nobody was told before the crash is asked for. */
  async #resolve(): Promise<void> {
    await this.#atRest();
    for (const partition of this.#partitions) await this.#resolveRecords(partition);
    for (const id of this.#ids) await this.#resolveId(id);
  }

  async #resolveRecords(partition: Partition): Promise<void> {
    const { logStartOffset } = this.#handleOf(partition);
    if (logStartOffset !== partition.startAsked) this.#retained(partition);
    const isRight = logStartOffset === partition.start || logStartOffset === partition.startAsked;
    check(isRight, () => `${partition.place} begins at ${logStartOffset}, and not at ${partition.start}`);
    this.#startsAt(partition, logStartOffset);
    const found = new Map(
      (await this.#fetch(partition, 0)).records.map(({ offset, value }) => [value, offset]),
    );
    for (const record of partition.records) {
      if (record.state === 'there' && partition.losesEnd) this.#resolveLost(partition, record, found);
      if (record.state !== 'asked') continue;
      const offset = found.get(record.text);
      // What was deleted meanwhile, or compacted, is not to be told from what never came; it was not asked for then.
      if (offset === undefined) {
        if (partition.losesEnd) this.#takeBack(partition, record);
        continue;
      }
      record.state = 'there';
      record.offset = offset;
    }
    for (const producer of this.#producers()) {
      const records = producer.unanswered.get(partition.place) ?? [];
      const there = records.filter(({ state }) => state === 'there');
      check(
        there.length === 0 || there.length === records.length,
        () => `half of a batch in ${partition.place}`,
      );
      // A producer sends it again: the log knows it, or takes it now. Some give up.
      if (producer.id !== undefined && this.#oneIn(2)) this.#giveUp(producer, partition.place);
    }
  }

  /** What was not on disk when the machine stopped may be gone; then its producer cannot go on. */
  #resolveLost(partition: Partition, record: ModelRecord, found: ReadonlyMap<string, number>): void {
    const { offset, text, by } = record;
    if (offset < partition.start || found.get(text) === offset) return;
    check(offset >= partition.flushedOffset, () => `${partition.place}: ${text} at ${offset} is lost`);
    record.state = 'nowhere';
    this.#takeBack(partition, record);
    this.#count('lost');
    if (by === undefined) return;
    const index = this.#idempotent.indexOf(by);
    if (index >= 0) this.#idempotent.splice(index, 1);
    for (const id of this.#ids) if (id.owner === by) id.owner = undefined;
  }

  /** It was seen before it was on disk. */
  #takeBack({ delivered }: Partition, { text }: ModelRecord): void {
    const at = delivered.indexOf(text);
    if (at >= 0) delivered.splice(at, 1);
  }

  /** Does not send again what was not answered. */
  #giveUp(producer: Producer, place: string): void {
    const records = producer.unanswered.get(place) ?? [];
    producer.unanswered.delete(place);
    for (const record of records) {
      if (record.state === 'asked') record.state = 'nowhere';
      else producer.sequences.set(place, (producer.sequences.get(place) ?? 0) + 1);
    }
  }

  async #resolveId(id: TransactionalId): Promise<void> {
    const { asked, transaction, owner } = id;
    if (id.offsets.length > 1) {
      const [offset] = await this.#offsetsOf(id, false);
      check(id.offsets.includes(offset!), () => `${id.id}: offset ${offset}, and not of ${id.offsets}`);
      id.offsets = [offset!];
    }
    if (asked === undefined) return;
    id.asked = undefined;
    const { state, producerId, epoch, places } = await this.#described(id);
    this.#say(`${id.id}: ${asked} was under way, and it is ${state} with epoch ${epoch}`);
    if (state === 'Ongoing') {
      check(transaction?.isOpen === true, () => `${id.id}: nothing was begun`);
      transaction!.state = 'open';
      for (const place of places) if (!place.startsWith('__')) transaction!.places.add(place);
    } else if (transaction?.isOpen === true) {
      const outcome = state === 'CompleteCommit' ? 'commit' : 'abort';
      const isOpen = transaction.state === 'open';
      const isRight = asked === 'init' ? outcome === 'abort' : asked === outcome;
      check(!isOpen || isRight, () => `${id.id}: it was open, ${asked} was asked, and it is ${state}`);
      this.#ended(id, isOpen ? outcome : 'abort');
    }
    const isSame = producerId === id.producerId && epoch === id.epoch;
    if (isSame || owner === undefined) return this.#identify(id, producerId, epoch);
    if (owner.kind === 2 && (asked === 'commit' || asked === 'abort') && !this.#oneIn(4)) {
      const again = await this.#askEnd(owner, asked);
      const isTold = again.told === 'NONE' && again.epoch === epoch && again.producerId === producerId;
      check(isTold, () => `${id.id}: ${asked} again is answered ${JSON.stringify(again)}`);
      this.#count('asked again');
      return this.#goesOnAs(id, owner, producerId, epoch);
    }
    this.#fence(id, owner);
    this.#identify(id, producerId, epoch);
    id.owner = undefined;
  }

  // ---------------------------------------------------------------------------------------------- checks

  async #verify(): Promise<void> {
    await this.#atRest();
    for (const partition of this.#partitions) {
      await this.#verifyUncommitted(partition);
      await this.#verifyCommitted(partition);
    }
    await this.#delivered();
    for (const id of this.#ids) await this.#verifyId(id);
  }

  async #verifyUncommitted(partition: Partition): Promise<void> {
    const { records, logStartOffset } = await this.#fetch(partition, 0);
    const where = (what: string) => () => `${partition.place}, read uncommitted: ${what}`;
    check(logStartOffset === partition.start, where(`it begins at ${logStartOffset}`));
    const found = new Map(records.map(({ offset, value }) => [offset, value]));
    for (const { offset, text, transaction } of partition.there) {
      if (offset < partition.start) continue;
      const value = found.get(offset);
      found.delete(offset);
      const mayBeGone = partition.isCompacted && this.#isCompacted && transaction?.state === 'abort';
      check(value === text || (value === undefined && mayBeGone), where(`${value} for ${text} at ${offset}`));
    }
    const unexpected = [...found.values()].filter(
      (text) => !partition.records.some((each) => each.text === text && each.state === 'asked'),
    );
    check(unexpected.length === 0, where(`${unexpected} as well`));
  }

  async #verifyCommitted(partition: Partition): Promise<void> {
    const { records, lastStableOffset, highWatermark } = await this.#fetch(partition, 1);
    const where = (what: string) => () => `${partition.place}, read committed: ${what}`;
    // A transaction whose first records are deleted may be forgotten up to those that are left, by a start.
    const stable = [0, partition.start].map((from) =>
      Math.max(partition.start, Math.min(partition.firstUnstableOffset(from), highWatermark)),
    );
    check(stable.includes(lastStableOffset), where(`stable to ${lastStableOffset}, and not to ${stable}`));
    const expected = partition
      .committedBelow(lastStableOffset)
      .filter(({ offset }) => offset >= partition.start);
    check(
      `${records.map(({ value }) => value)}` === `${expected.map(({ text }) => text)}`,
      where(`${records.map(({ value }) => value)}, and not ${expected.map(({ text }) => text)}`),
    );
  }

  /** Everything that counts has come to the subscriber, in order, and nothing else. */
  async #delivered(): Promise<void> {
    const expected = this.#partitions.map((partition) => {
      const { lastStableOffset } = this.#handleOf(partition);
      return partition.committedBelow(lastStableOffset).filter(({ isLost }) => !isLost);
    });
    const count = expected.flat().length;
    await this.#world.until(
      () => this.#deliveredCount() >= count,
      () => {
        this.#takeDelivered();
        const texts = (index: number): string => `${expected[index]!.map(({ text }) => text)}`;
        return `deliveries: ${this.#partitions.map(({ place, delivered }, index) => `${place}: ${delivered} of ${texts(index)}`).join('; ')}`;
      },
    );
    await this.#world.turns(2);
    this.#takeDelivered();
    for (const [index, { place, delivered }] of this.#partitions.entries()) {
      const texts = expected[index]!.map(({ text }) => text);
      check(`${delivered}` === `${texts}`, () => `${place}: delivered ${delivered}, and not ${texts}`);
    }
  }

  async #verifyId(id: TransactionalId): Promise<void> {
    const { transaction } = id;
    const isOpen = transaction?.state === 'open';
    const [offset, stable] = await this.#offsetsOf(id, true);
    const isPending = isOpen && transaction.pending !== undefined && !transaction.pending.includes(null);
    const mayBePending = isOpen && transaction.pending !== undefined;
    check(id.offsets.includes(offset!), () => `${id.id}: offset ${offset}, and not ${id.offsets}`);
    const isStable = stable === offset;
    const isRight = isPending ? !isStable : isStable || mayBePending;
    check(isRight, () => `${id.id}: offset ${offset}, stable ${stable}, pending ${transaction?.pending}`);
    if (id.producerId < 0) return;
    const { state, producerId, epoch, places } = await this.#described(id);
    const told = `${state} ${producerId}:${epoch} ${places}`;
    check((state === 'Ongoing') === isOpen, () => `${id.id}: ${told}, open: ${isOpen}`);
    check(
      producerId === id.producerId && epoch === id.epoch,
      () => `${id.id}: ${told}, not ${id.producerId}:${id.epoch}`,
    );
    for (const place of isOpen ? transaction.places : [])
      check(places.includes(place), () => `${id.id}: ${told}, without ${place}`);
    for (const partition of this.#partitions) {
      const own = partition.there.filter((each) => isOpen && each.transaction === transaction);
      const left = own.filter(({ offset }) => offset >= partition.start);
      const firsts = [own[0]?.offset ?? -1, left[0]?.offset ?? -1];
      const start = this.#handleOf(partition).transactionStart(id.producerId);
      check(
        firsts.includes(start),
        () => `${id.id}: open from ${start} on in ${partition.place}, not ${firsts}`,
      );
    }
  }

  // ------------------------------------------------------------------------------------------- what is used

  /** Everything is ended; then nothing is unstable. */
  async #endAll(): Promise<void> {
    for (const id of this.#ids) {
      this.#start(() => this.#initialize(id));
    }
    await this.#atRest();
    await this.#verify();
    for (const partition of this.#partitions) {
      const { lastStableOffset, highWatermark } = this.#handleOf(partition);
      check(
        lastStableOffset === highWatermark,
        () => `${partition.place} is stable to ${lastStableOffset} alone`,
      );
    }
  }

  #transactionOf(id: TransactionalId, { timeoutMs }: Producer): Transaction {
    id.transaction ??= new Transaction(id.id, this.#world.clock.now(), timeoutMs);
    return id.transaction;
  }

  #ended(id: TransactionalId, outcome: 'commit' | 'abort'): void {
    const { transaction } = id;
    if (transaction === undefined) return;
    // A batch is of one transaction: in the next one it is not sent again.
    for (const place of [...(id.owner?.unanswered.keys() ?? [])]) this.#giveUp(id.owner!, place);
    transaction.state = outcome;
    if (outcome === 'commit' && transaction.pending !== undefined)
      id.offsets = transaction.pending.flatMap((offset) => (offset === null ? id.offsets : [offset]));
    id.transaction = undefined;
  }

  #fence(id: TransactionalId, producer: Producer): void {
    id.fenced.push({ ...producer, sequences: new Map(), unanswered: new Map() });
    if (id.fenced.length > 3) id.fenced.shift();
  }

  #identify(id: TransactionalId, producerId: number, epoch: number): void {
    if (id.epoch >= LAST_CLIENT_EPOCH && epoch === 0) this.#count('epochs run out');
    id.producerId = producerId;
    id.epoch = epoch;
  }

  #startsAt(partition: Partition, start: number): void {
    partition.start = start;
    partition.startAsked = start;
    // What was not stable has come to no subscriber, and does not come any more.
    for (const record of partition.there)
      if (record.offset < start && !partition.delivered.includes(record.text)) record.isLost = true;
  }

  #newRecords(
    { place, records }: Partition,
    transaction: Transaction | undefined,
    by: Producer | undefined,
  ): ModelRecord[] {
    const madeAtMs = this.#world.clock.now();
    const made = Array.from({ length: 1 + this.#below(3) }, (): ModelRecord => {
      const text = `r${++this.#recordCount}`;
      return { text, place, transaction, by, madeAtMs, state: 'asked', offset: -1, isLost: false };
    });
    records.push(...made);
    return made;
  }

  async #described({ id }: TransactionalId): Promise<Described> {
    const answer = await this.#world.ask(api.describeTransactions, 0, { transactionalIds: [id] });
    const { errorCode, transactionState, producerId, producerEpoch, topics } = answer.transactionStates[0]!;
    return {
      state: errorCode === 0 ? transactionState : errorName(errorCode),
      ...(errorCode === 0 ? { producerId, epoch: producerEpoch } : { producerId: -1, epoch: -1 }),
      places: topics.flatMap(({ topic, partitions }) => partitions.map((index) => `${topic}-${index}`)),
    };
  }

  /** What the group has for the id; and what it has that is stable. */
  async #offsetsOf(id: TransactionalId, both: boolean): Promise<readonly number[]> {
    const found: number[] = [];
    for (const requireStable of both ? [false, true] : [false]) {
      const { topic, partition } = OFFSET_PLACES[this.#ids.indexOf(id)]!; // one for each
      const answer = await this.#world.ask(api.offsetFetch, 8, {
        groups: [{ groupId: GROUP, topics: [{ name: topic, partitionIndexes: [partition] }] }],
        requireStable,
      });
      const { errorCode, committedOffset } = answer.groups[0]!.topics[0]!.partitions[0]!;
      found.push(errorName(errorCode) === 'UNSTABLE_OFFSET_COMMIT' ? -88 : committedOffset);
    }
    return found;
  }

  /** From its start on, in pieces of any size. */
  async #fetch(partition: Partition, isolationLevel: 0 | 1) {
    const { logStartOffset } = this.#handleOf(partition);
    const records: FetchedRecord[] = [];
    let [lastStableOffset, highWatermark] = [-1, -1];
    for (let offset = logStartOffset; ; ) {
      const options = {
        ...{ partition: partition.partition, isolationLevel },
        partitionMaxBytes: this.#oneIn(3) ? 1 + this.#below(6000) : 1 << 20,
      };
      const answer = await this.#world.ask(api.fetch, 11, fetchOf(partition.topic, offset, options));
      const found = answer.responses[0]!.partitions[0]!;
      check(
        found.errorCode === 0,
        () => `fetch of ${partition.place} at ${offset}: ${errorName(found.errorCode)}`,
      );
      ({ lastStableOffset, highWatermark } = found);
      const batches = decodeBatches(found.records ?? Buffer.alloc(0));
      const read = committedRecords(batches, found.abortedTransactions ?? [], offset);
      records.push(...read);
      const last = batches.at(-1);
      if (last === undefined) return { records, lastStableOffset, highWatermark, logStartOffset };
      offset = last.nextOffset;
    }
  }

  #handleOf({ topic, partition }: Partition): HubPartition {
    const handle = this.#world.now.hub.topics.partition(topic, partition);
    if (handle === undefined) throw new Error(`${topic}-${partition} is not there`);
    return handle;
  }

  async #open(): Promise<void> {
    let outcome: unknown;
    void this.#world.open().then(
      () => {
        outcome = 'open';
      },
      (error: unknown) => {
        outcome = error;
      },
    );
    await this.#world.until(
      () => outcome !== undefined,
      () => 'the hub opens',
    );
    if (outcome !== 'open') throw outcome;
  }

  #subscribe(): void {
    const from = new Map(
      this.#partitions.map((partition) => {
        const last = partition.delivered.at(-1);
        const record = partition.records.find(({ text }) => text === last);
        const handle = this.#handleOf(partition);
        return [handle, Math.max(handle.logStartOffset, (record?.offset ?? -1) + 1)];
      }),
    );
    this.#subscriber = subscribeToAll(this.#world.now.hub, from);
  }

  #deliveredCount(): number {
    const before = this.#partitions.reduce((sum, { delivered }) => sum + delivered.length, 0);
    return before + (this.#subscriber?.packets.length ?? 0);
  }

  #takeDelivered(): void {
    for (const { payload } of this.#subscriber?.publishes ?? []) {
      const text = payload.toString();
      const partition = this.#partitions.find(({ records }) => records.some((each) => each.text === text));
      partition?.delivered.push(text);
    }
    if (this.#subscriber !== undefined) this.#subscriber.packets.length = 0;
  }

  #start(run: () => Promise<unknown>, what = 'work'): void {
    const running: Running = { what, isDone: false, error: undefined };
    this.#running.push(running);
    if (what === 'maintenance') this.#isCompacted = true;
    run().then(
      () => {
        running.isDone = true;
      },
      (error: unknown) => {
        // It is under way for ever.
        if (error instanceof DiskFault) return;
        running.isDone = true;
        running.error = error ?? new Error('rejected');
      },
    );
  }

  /** Everything is answered, and what was decided is complete. */
  async #atRest(): Promise<void> {
    await this.#world.until(
      () => this.#running.every(({ isDone }) => isDone),
      () => 'answers',
    );
    this.#failed();
    this.#running = [];
    const isPrepared = (): boolean =>
      [...this.#world.now.kafka.transactions.store.entries()].some(
        ({ transaction, isChanging }) => isChanging || transaction?.state.startsWith('prepare') === true,
      );
    await this.#world.until(
      () => !isPrepared(),
      () => 'the end of what is prepared',
    );
    await this.#world.turns(1);
  }

  #failed(): void {
    const failed = this.#running.find(({ error }) => error !== undefined);
    if (failed !== undefined) throw failed.error;
    if (this.#isFaulty) return;
    const { events } = this.#world.now.log;
    const error = events.find(({ level }) => level === 'error');
    check(error === undefined, () => `reported: ${error?.event} ${JSON.stringify(error?.fields)}`);
  }

  #somePartitions(): Partition[] {
    const some = this.#partitions.filter(() => this.#oneIn(2));
    return some.length > 0 ? some : [this.#anyOf(this.#partitions)];
  }

  #say(what: string): void {
    this.trace.push(what);
  }

  #count(what: string): void {
    this.#happened.set(what, (this.#happened.get(what) ?? 0) + 1);
  }

  #anyOf<T>(values: readonly T[]): T {
    return values[this.#below(values.length)]!; // of one value at least
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #oneIn(count: number): boolean {
    return this.#below(count) === 0;
  }
}
