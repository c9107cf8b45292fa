// Offsets over a state table whose writes end when the test says so: what may happen between deciding and writing.

import { expect, test } from 'vitest';
import { GroupCoordinator } from '../../../../protocols/kafka/groups/coordinator.ts';
import { GroupOffsets } from '../../../../protocols/kafka/groups/offsets.ts';
import { kafkaSettings } from '../../../../protocols/kafka/settings.ts';
import type { Hub, StateRecord, StateTable, StateTableOptions } from '../../../../protocols/port.ts';
import { SkippingClock } from '../kafka-fixture.ts';

const TOPIC_ID = '00000000-0000-0000-0000-000000000001';
const DAY_MS = 86_400_000;
const NOBODY = { memberId: '', groupInstanceId: null, generation: -1, version: 8, clientHost: '' };
const FIRST_JOIN = {
  ...{
    memberId: '',
    newMemberId: 'm1',
    groupInstanceId: null,
    clientId: '',
    clientHost: '',
    protocolType: 'consumer',
  },
  protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
  ...{ sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000 },
  ...{ requiresKnownMemberId: true, supportsSkippingAssignment: false },
};

class HeldTable implements StateTable {
  readonly topic = '__consumer_offsets';
  readonly partitions = 1;
  readonly held: (() => void)[] = [];
  holds = false;
  readonly #options: StateTableOptions;

  constructor(options: StateTableOptions) {
    this.#options = options;
  }

  partitionOf(): number {
    return 0;
  }

  stateOf(): 'serving' {
    return 'serving';
  }

  read(): never {
    throw new Error('not of this fake');
  }

  scan(): never {
    throw new Error('not of this fake');
  }

  write(partition: number, records: readonly StateRecord[]): Promise<undefined> {
    return new Promise((resolve) => {
      const apply = (): void => {
        for (const { key, value } of records) this.#options.apply(partition, key, value, 0, 0);
        resolve(undefined);
      };
      if (this.holds) this.held.push(apply);
      else apply();
    });
  }
}

async function openOffsets() {
  const clock = new SkippingClock();
  let table: HeldTable | undefined;
  const hub = {
    clock,
    random: { uuid: () => 'uuid', below: () => 0 },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    topics: {
      list: () => [],
      get: () => ({ topicId: TOPIC_ID }),
      partition: () => ({}),
      onChange: () => () => {},
    },
    stateTable: async (options: StateTableOptions) => {
      table = new HeldTable(options);
      return table;
    },
    // What groups and offsets ask of a hub is above.
  } as unknown as Hub;
  const settings = kafkaSettings({ offsetsRetentionMs: DAY_MS });
  const groups = await GroupCoordinator.open(hub, settings.groups);
  const offsets = new GroupOffsets(hub, groups, settings.offsets);
  return { clock, groups, offsets, table: table! };
}

test('offsets stay when somebody joins their group while others are erased', async () => {
  const { clock, groups, offsets, table } = await openOffsets();
  const items = ['a', 'b'].map((topic) => ({ topic, partition: 0, offset: 1, leaderEpoch: 0, metadata: '' }));
  expect(await offsets.commit('g', NOBODY, items)).toEqual([0, 0]);
  table.holds = true;
  clock.skip(2 * DAY_MS);
  expect(table.held).toHaveLength(1);
  await groups.join('g', FIRST_JOIN);
  table.holds = false;
  table.held.pop()?.();
  // A write comes after whatever the check still has to write.
  await offsets.commit('other', NOBODY, items);
  const kept = [...(groups.store.get('g')?.offsets.keys() ?? [])];
  expect(kept).toEqual(['b']);
  groups.close();
  offsets.close();
});
