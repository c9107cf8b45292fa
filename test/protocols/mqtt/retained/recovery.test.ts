// What is retained after a hub has ended without a word, between the log and the table of retained messages.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MqttFrontEnd } from '../../../../protocols/mqtt/front-end.ts';
import { createMqttFrontEnd } from '../../../../protocols/mqtt/front-end.ts';
import { RecordFill } from '../../../../protocols/mqtt/record-fill.ts';
import { encodeAttributes } from '../../../../protocols/mqtt/record-mapping.ts';
import type { Partition } from '../../../../protocols/port.ts';
import type { FakePartition } from '../../../helpers/fake-mqtt-hub.ts';
import { FakeHub } from '../../../helpers/fake-mqtt-hub.ts';
import type { FakeStateLog } from '../../../helpers/fake-state-table.ts';
import { eventually } from '../front-end-fixture.ts';

const FULL = { refused: 'disk-full', message: 'no room' } as const;

async function start(hub: FakeHub): Promise<MqttFrontEnd> {
  const frontEnd = createMqttFrontEnd(hub);
  await frontEnd.listen({ name: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 10 });
  onTestFinished(() => frontEnd.close());
  return frontEnd;
}

/** As a client's publish with RETAIN leaves it in the log. */
function publish(hub: FakeHub, partition: Partition, topic: string, payload: string): Promise<unknown> {
  const record = new RecordFill();
  record.key = Buffer.from(topic);
  record.timestampMs = hub.clock.now();
  record.payload = Buffer.from(payload);
  record.payloadEnd = record.payload.length;
  record.attributes = encodeAttributes({
    topic: record.key,
    clientId: Buffer.from('device'),
    qos: 1,
    retain: true,
    packetId: 0,
  });
  return hub.publish(partition, (writer) => {
    writer.isMarked = true;
    record.fill(writer);
  });
}

interface Made {
  readonly hub: FakeHub;
  readonly partition: FakePartition;
  readonly table: FakeStateLog;
}

function make(): Made {
  const hub = new FakeHub();
  const partition = hub.topics.make('plant').partitions[0] as FakePartition; // the fake's own
  return { hub, partition, table: hub.stateLog('__mqtt_retained') };
}

/** What the table holds of a topic: the end of its value is the payload. */
const payloadIn = ({ table }: Made, topic: string, length: number) =>
  table.live.get(topic)?.subarray(-length).toString();

describe('after a crash', () => {
  it('what the log has and the table has not is retained before the first client comes', async () => {
    const made = make();
    const { hub, partition, table } = made;
    await start(hub);
    table.refusal = FULL;
    await publish(hub, partition, 'plant/1', 'first');
    await publish(hub, partition, 'plant/1', 'last!');
    await publish(hub, partition, 'plant/2', 'other');
    await eventually(() => hub.log.events('error').includes('mqtt-retained-not-written'));
    table.refusal = undefined;
    const second = await start(hub);
    expect(second.retained.count).toBe(2);
    expect(payloadIn(made, 'plant/1', 5)).toBe('last!');
    expect(payloadIn(made, 'plant/2', 5)).toBe('other');
  });

  it('what the table has already is neither written again nor set back', async () => {
    const made = make();
    const { hub, partition, table } = made;
    const first = await start(hub);
    await publish(hub, partition, 'plant/1', 'old');
    await publish(hub, partition, 'plant/1', 'new');
    await eventually(() => payloadIn(made, 'plant/1', 3) === 'new' && first.retained.count === 1);
    const written = table.partitions.flat().length;
    const second = await start(hub);
    expect(payloadIn(made, 'plant/1', 3)).toBe('new');
    expect(second.retained.count).toBe(1);
    expect(table.partitions.flat()).toHaveLength(written);
  });

  it('what an operator has forgotten stays so, as soon as he is told', async () => {
    const { hub, partition, table } = make();
    const first = await start(hub);
    await publish(hub, partition, 'plant/1', 'x');
    await publish(hub, partition, 'other/1', 'y');
    await eventually(() => first.retained.count === 2);
    expect(await first.messaging?.retained.clear('plant/#')).toBe(1);
    const second = await start(hub);
    expect(second.retained.count).toBe(1);
    expect([...table.live.keys()].filter((key) => key.endsWith('/1'))).toEqual(['other/1']);
  });

  it('what an operator could not forget is there, and he is told', async () => {
    const { hub, partition, table } = make();
    const first = await start(hub);
    await publish(hub, partition, 'plant/1', 'x');
    await eventually(() => first.retained.count === 1);
    table.refusal = FULL;
    expect(await first.messaging?.retained.clear('#')).toEqual(FULL);
    table.refusal = undefined;
    expect((await start(hub)).retained.count).toBe(1);
  });

  it('what was cleared stays so', async () => {
    const { hub, partition, table } = make();
    const first = await start(hub);
    await publish(hub, partition, 'plant/1', 'x');
    await eventually(() => first.retained.count === 1);
    await publish(hub, partition, 'plant/1', '');
    await eventually(() => first.retained.count === 0);
    const second = await start(hub);
    expect(second.retained.count).toBe(0);
    expect(table.live.has('plant/1')).toBe(false);
  });

  it('a message that came by another partition is not set back by an older one', async () => {
    const made = make();
    const { hub, partition } = made;
    const other = hub.topics.make('elsewhere').partitions[0]!;
    const first = await start(hub);
    await publish(hub, partition, 'plant/1', 'older');
    await eventually(() => first.retained.count === 1);
    hub.clock.advance(5);
    await publish(hub, other, 'plant/1', 'newer');
    await eventually(() => payloadIn(made, 'plant/1', 5) === 'newer');
    await start(hub);
    expect(payloadIn(made, 'plant/1', 5)).toBe('newer');
  });
});

it('a clean stop writes down where each partition stands: the next start reads nothing', async () => {
  const { hub, partition } = make();
  const first = await start(hub);
  await publish(hub, partition, 'plant/1', 'x');
  await eventually(() => first.retained.count === 1);
  await first.close();
  const reads = partition.reads;
  const second = await start(hub);
  expect(second.retained.count).toBe(1);
  expect(partition.reads).toBe(reads);
});

it('positions are written now and then, so that a start after a crash reads little', async () => {
  const { hub, partition, table } = make();
  const first = await start(hub);
  await publish(hub, partition, 'plant/1', 'x');
  await eventually(() => first.retained.count === 1);
  const before = table.live.size;
  hub.clock.advance(10_000);
  await eventually(() => table.live.size === before + 1);
});

it('what is stored already when the table is made is not retained', async () => {
  const { hub, partition } = make();
  await publish(hub, partition, 'plant/1', 'x');
  const first = await start(hub);
  expect(first.retained.count).toBe(0);
  await publish(hub, partition, 'plant/2', 'y');
  await eventually(() => first.retained.count === 1);
  expect((await start(hub)).retained.count).toBe(1);
});

it('a table that cannot be written refuses the publish, and has it when it can', async () => {
  const made = make();
  const { hub, partition, table } = made;
  const frontEnd = await start(hub);
  table.refusal = FULL;
  await publish(hub, partition, 'plant/1', 'x');
  await eventually(() => hub.log.events('error').includes('mqtt-retained-not-written'));
  expect(frontEnd.retained.count).toBe(0);
  table.refusal = undefined;
  hub.clock.advance(100);
  await eventually(() => frontEnd.retained.count === 1);
});

it('a topic that is deleted takes its position with it, and leaves its retained messages', async () => {
  const { hub, partition, table } = make();
  const first = await start(hub);
  await publish(hub, partition, 'plant/1', 'x');
  await eventually(() => first.retained.count === 1);
  await first.close();
  expect([...table.live.keys()].filter((key) => key.startsWith('\0p'))).toHaveLength(1);
  const second = await start(hub);
  await hub.topics.delete('plant');
  await eventually(() => [...table.live.keys()].every((key) => !key.startsWith('\0p')));
  expect(second.retained.count).toBe(1);
});

it('records that cannot be retained are not read, whatever comes between them', async () => {
  const { hub, partition } = make();
  const frontEnd = await start(hub);
  for (let index = 0; index < 3; index++) await hub.produce('plant', { key: 'plant/1', value: 'plain' });
  expect(partition.reads).toBe(0);
  await hub.produce('plant', { key: 'plant/1', value: 'kept', headers: [['mqtt.retain', '1']] });
  await eventually(() => frontEnd.retained.count === 1);
  const { reads } = partition;
  for (let index = 0; index < 3; index++) await hub.produce('plant', { key: 'plant/2', value: 'plain' });
  expect(partition.reads).toBe(reads);
  await publish(hub, partition, 'plant/3', 'kept');
  await eventually(() => frontEnd.retained.count === 2);
  // How far it came is written down as if it had read all of it.
  await frontEnd.close();
  await start(hub);
  expect(partition.reads).toBe(reads + 1);
});
