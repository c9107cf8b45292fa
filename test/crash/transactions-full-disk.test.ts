// A disk that is full, or fails, between the decision about a transaction and its markers: what was decided is carried out when
// there is room again, or by the next process.
import { expect, it } from 'vitest';
import { errorName } from '../../protocols/kafka/error-codes.ts';
import { type Fault, seededRandom } from '../helpers/faulty-file-system.ts';
import { api, fetchOf } from '../protocols/kafka/kafka-requests.ts';
import { rawBatch, simpleRecord } from '../protocols/kafka/records/raw-batch.ts';
import { committedRecords, decodeBatches } from './record-batches.ts';
import { TransactionWorld } from './transaction-world.ts';

const ID = 'id';
const GROUP = 'group';

class Scene {
  readonly world = new TransactionWorld(seededRandom(1), 1);
  producerId = -1;
  producerEpoch = -1;

  /** A transaction with a record and an offset. */
  async begin(): Promise<void> {
    await this.world.open();
    const config = { 'retention.ms': '-1' };
    await this.world.now.hub.topics.create({ name: 'plain', partitions: 1, replicationFactor: -1, config });
    const request = { transactionalId: ID, transactionTimeoutMs: 60_000, producerId: -1, producerEpoch: -1 };
    const told = await this.world.ask(api.initProducerId, 5, request);
    Object.assign(this, { producerId: told.producerId, producerEpoch: told.producerEpoch });
    const records = rawBatch([simpleRecord(0, null, Buffer.from('kept'))], {
      ...{ attributes: 0x10, producerId: BigInt(this.producerId), baseSequence: 0 },
      producerEpoch: this.producerEpoch,
    });
    await this.world.ask(api.produce, 12, {
      ...{ transactionalId: ID, acks: -1, timeoutMs: 10_000 },
      topicData: [{ name: 'plain', partitionData: [{ index: 0, records }] }],
    });
    const { producerId, producerEpoch } = this;
    await this.world.ask(api.txnOffsetCommit, 5, {
      ...{ transactionalId: ID, groupId: GROUP, producerId, producerEpoch },
      ...{ generationIdOrMemberEpoch: -1, memberId: '' },
      topics: [
        { name: 'plain', partitions: [{ partitionIndex: 0, committedOffset: 7, committedMetadata: '' }] },
      ],
    });
  }

  async commit(): Promise<string> {
    const { producerId, producerEpoch } = this;
    const request = { transactionalId: ID, producerId, producerEpoch, committed: true };
    return errorName((await this.world.ask(api.endTxn, 5, request)).errorCode);
  }

  get state(): string | undefined {
    return this.world.now.kafka.transactions.store.get(ID)?.transaction?.state;
  }

  async seen() {
    const answer = await this.world.ask(api.fetch, 11, fetchOf('plain', 0, { isolationLevel: 1 }));
    const { records, lastStableOffset, highWatermark, abortedTransactions } =
      answer.responses[0]!.partitions[0]!;
    const batches = decodeBatches(records ?? Buffer.alloc(0));
    const offsets = await this.world.ask(api.offsetFetch, 8, {
      groups: [{ groupId: GROUP, topics: [{ name: 'plain', partitionIndexes: [0] }] }],
      requireStable: true,
    });
    const { errorCode, committedOffset } = offsets.groups[0]!.topics[0]!.partitions[0]!;
    return {
      texts: committedRecords(batches, abortedTransactions ?? [], 0).map(({ value }) => value),
      isStable: lastStableOffset === highWatermark,
      offset: errorCode === 0 ? committedOffset : errorName(errorCode),
    };
  }
}

const RECORDS = /topics\/plain\/.*\.log$/;
const OFFSETS = /topics\/__consumer_offsets\/.*\.log$/;
const DONE = { texts: ['kept'], isStable: true, offset: 7 };

it.each<[string, Fault]>([
  ['records', { kind: 'write-fails', code: 'ENOSPC', afterBytes: 10, files: RECORDS }],
  ['offsets', { kind: 'write-fails', code: 'ENOSPC', afterBytes: 10, files: OFFSETS }],
])('a disk full for the marker of %s: it is written when there is room', async (_title, fault) => {
  const own = new Scene();
  await own.begin();
  own.world.arm(fault);
  expect(await own.commit()).toBe('NONE');
  await own.world.turns(200);
  expect(own.state).toBe('prepare-commit');
  expect(own.world.now.kafka.transactions.markers.pending).toBe(1);
  await own.world.until(
    () => {
      // Time passes: the log is opened again, and the marker tried again.
      own.world.clock.advance(1_000);
      return own.state === 'complete-commit';
    },
    () => `it is ${own.state}`,
  );
  expect(await own.seen()).toEqual(DONE);
  await own.world.close();
});

it.each<[string, Fault]>([
  ['records', { kind: 'datasync-fails', files: RECORDS }],
  ['offsets', { kind: 'datasync-fails', files: OFFSETS }],
])('a disk that fails for the marker of %s: the next process writes it', async (_title, fault) => {
  const own = new Scene();
  await own.begin();
  own.world.arm(fault);
  expect(await own.commit()).toBe('NONE');
  await own.world.turns(200);
  own.world.clock.advance(60_000);
  await own.world.turns(200);
  expect(own.state).toBe('prepare-commit');
  own.world.end('nothing');
  await own.world.open();
  await own.world.until(
    () => own.state === 'complete-commit',
    () => `it is ${own.state}`,
  );
  expect(await own.seen()).toEqual(DONE);
  await own.world.close();
});
