// One log with producers, opened again and again over what a crash leaves.
import type { Append } from '../../storage/commit-group.ts';
import type { LogConfig } from '../../storage/log-config.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';
import { FaultyFileSystem, type Keep, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  record,
  type StoreFixture,
  TestClock,
} from '../helpers/store-fixture.ts';

export const PARTITION_DIRECTORY = '/data/topics/events/0';
export const SNAPSHOT = `${PARTITION_DIRECTORY}/producer-state.snapshot`;
export const CHECKPOINT = `${PARTITION_DIRECTORY}/recovery-checkpoint.json`;

export interface ProducerBatchOptions {
  readonly epoch?: number;
  readonly count?: number;
  readonly transactional?: boolean;
}

export class ProducerLog {
  readonly files = new FaultyFileSystem(['/']);
  readonly clock = new TestClock();
  readonly #index = new MemoryIndex();
  readonly #options: Partial<LogStoreOptions>;
  readonly #config: LogConfig;
  #epoch = 0;
  fixture!: StoreFixture;
  log!: PartitionLog;

  constructor(options: Partial<LogStoreOptions> = {}, config: Partial<LogConfig> = {}) {
    this.#options = options;
    this.#config = logConfig(config);
    this.files.now = () => this.clock.now();
  }

  static async open(...options: ConstructorParameters<typeof ProducerLog>): Promise<ProducerLog> {
    const opened = new ProducerLog(...options);
    await opened.open();
    return opened;
  }

  async open(): Promise<void> {
    this.fixture = await openStore({
      directory: '/data',
      fileSystem: this.files.process(),
      index: this.#index,
      clock: this.clock,
      ...this.#options,
    });
    await this.openPartition();
  }

  async openPartition(): Promise<void> {
    this.log = await this.fixture.store.openPartition({
      ...{ ...PARTITION, config: this.#config },
      leaderEpoch: ++this.#epoch,
    });
    const { log } = this;
    log.onCommitted = (offset) => log.setHighWatermark(offset);
  }

  async close(): Promise<void> {
    await this.fixture.store.close();
  }

  async reopen(): Promise<void> {
    await this.close();
    await this.open();
  }

  /** The machine stops: what was not flushed is gone. */
  async crash(keep: Keep = 'nothing'): Promise<void> {
    this.files.crash(keep, seededRandom(1));
    await this.open();
  }

  async ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
  }

  send(producerId: number, baseSequence: number, options: ProducerBatchOptions = {}): Append {
    const { epoch = 0, count = 1, transactional = false } = options;
    const records = Array.from({ length: count }, (_, index) =>
      record(`${producerId}/${baseSequence}+${index}`),
    );
    return append(this.log, records, {
      ...{ producerId, producerEpoch: epoch, baseSequence, recordCount: count, transactional },
    });
  }

  /** Sends and waits for the flush; the base offset, or the code of the refusal. */
  async tell(producerId: number, baseSequence: number, options: ProducerBatchOptions = {}): Promise<unknown> {
    try {
      const sent = this.send(producerId, baseSequence, options);
      const error = await sent.flushed;
      if (error !== undefined) return error.code;
      return sent.repeats === undefined ? sent.baseOffset : `again ${sent.baseOffset}`;
    } catch (error) {
      return (error as { code?: string }).code ?? error; // a StorageError, or it is shown whole
    }
  }

  /** Ends a transaction. */
  end(producerId: number, epoch = 0, outcome: 'commit' | 'abort' = 'commit'): Append {
    const aborts = outcome === 'abort';
    return this.log.endTransaction({ producerId, producerEpoch: epoch, aborts, coordinatorEpoch: 0 });
  }
}
