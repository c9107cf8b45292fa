// A scan of the table's log comes to its end, whatever becomes of the log meanwhile.
import { expect, it } from 'vitest';
import { encodeRetained } from '../../../../protocols/mqtt/retained/retained-record.ts';
import { RETAINED_TABLE, RetainedTable } from '../../../../protocols/mqtt/retained/retained-table.ts';
import { TableScan } from '../../../../protocols/mqtt/retained/table-scan.ts';
import type { StateTableOptions } from '../../../../protocols/port.ts';
import { FakeHub } from '../../../helpers/fake-mqtt-hub.ts';

const TOPICS = Array.from({ length: 200 }, (_, number) => `t/${number}`);

function retainedValue(payload: string): Buffer {
  return encodeRetained({
    qos: 1,
    expiryAt: -1,
    timestampMs: 0,
    source: { topicId: 'id', partition: 0 },
    sourceOffset: 0,
    clientId: Buffer.alloc(0),
    properties: Buffer.alloc(0),
    payload: Buffer.from(payload),
  });
}

async function openFilled() {
  const hub = new FakeHub();
  let options: StateTableOptions | undefined;
  const open = hub.stateTable.bind(hub);
  hub.stateTable = (asked) => {
    options = asked;
    return open(asked);
  };
  const table = await RetainedTable.open(hub, 0);
  await table.write(TOPICS.map((topic) => ({ topic, value: retainedValue('x') })));
  const become = (partition: number, state: 'gone' | 'loading') => options?.onState?.(partition, state);
  return { table, log: hub.stateLog(RETAINED_TABLE), become };
}

/** Topics that it finds, in no more stretches than there are messages. */
async function readAll(table: RetainedTable, scan: TableScan): Promise<string[]> {
  const found: string[] = [];
  for (let left = TOPICS.length; left > 0 && !scan.ended; left--) {
    for (const { topic } of await table.readOn(scan, () => true)) found.push(table.index.nameOf(topic));
  }
  expect(scan.ended).toBe(true);
  return found.sort();
}

it('finds every topic once', async () => {
  const { table } = await openFilled();
  expect(await readAll(table, table.scan())).toEqual(TOPICS.toSorted());
});

it('passes over a partition whose log has lost its end', async () => {
  const { table, log } = await openFilled();
  const scan = table.scan();
  await table.readOn(scan, () => true);
  log.partitions[0]!.length = 2; // one of the four
  expect(await readAll(table, scan)).not.toEqual([]);
});

it('does not look at what a partition had before it went', async () => {
  const { table, become } = await openFilled();
  const before = table.logRatio;
  for (let partition = 0; partition < 4; partition++) become(partition, 'gone');
  expect(table.scan().ended).toBe(true);
  await table.write(TOPICS.map((topic) => ({ topic, value: retainedValue('x') })));
  expect(table.logRatio).toBeCloseTo(before);
});

it('is not kept where it stands', () => {
  const scan = new TableScan([5, 0, 3]);
  scan.moveTo(2);
  scan.moveTo(2);
  expect(scan).toMatchObject({ partition: 2, offset: 0 });
  scan.moveTo(0);
  expect(scan.ended).toBe(true);
});
