// Sessions that are slow: bounded memory, nobody else delayed, every message once and in order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QoS } from '../../../protocols/mqtt/packets/publish.ts';
import { Delivering, OUTPUT_BYTES_MAX, settle } from './delivery-fixture.ts';

const numbers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => String(from + index));

describe('a client that does not acknowledge', () => {
  it('gets what its window allows, and the rest from the log, once and in order [FAULTS 44]', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 4, qos: 1 });
    for (const payload of numbers(50)) on.publish('t', 't/1', payload);
    await settle();
    expect(client.payloads).toEqual(numbers(4));
    client.resumeAcknowledging();
    for (let round = 0; client.payloads.length < 50 && round < 100; round++) await settle();
    expect(client.payloads).toEqual(numbers(50));
  });

  it('is sent one soon for each that it acknowledges alone: its system may hold back the others until then', async () => {
    const on = new Delivering();
    const client = on.holdingClient('collecting', '#', { inflightMax: 20, qos: 1 });
    for (const payload of numbers(50)) on.publish('t', 't/1', payload);
    await settle();
    for (let sent = 20; sent < 25; sent++) {
      expect(client.payloads).toEqual(numbers(sent));
      client.acknowledge(1);
      on.hub.clock.advance(10);
      await settle();
    }
  });

  it('is sent many at once where half of its window is free before that, however they are acknowledged', async () => {
    const on = new Delivering();
    const client = on.holdingClient('prompt', '#', { inflightMax: 20, qos: 1 });
    for (const payload of numbers(50)) on.publish('t', 't/1', payload);
    await settle();
    const { reads } = on.partition('t');
    for (let acknowledged = 0; acknowledged < 10; acknowledged++) client.acknowledge(1);
    await settle();
    expect(client.payloads).toEqual(numbers(30));
    expect(on.partition('t').reads).toBe(reads + 1);
  });

  it('is not read for at each acknowledgement of many that come together', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 20, qos: 1 });
    for (const payload of numbers(50)) on.publish('t', 't/1', payload);
    await settle();
    const { reads } = on.partition('t');
    client.acknowledge(20);
    await settle();
    expect(client.payloads).toEqual(numbers(40));
    expect(on.partition('t').reads).toBe(reads + 1);
  });

  it('goes live again: what comes later is not read twice', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 2, qos: 1 });
    for (const payload of numbers(10)) on.publish('t', 't/1', payload);
    await settle();
    client.resumeAcknowledging();
    for (let round = 0; client.payloads.length < 10 && round < 100; round++) await settle();
    const reads = on.partition('t').reads;
    on.publish('t', 't/1', '10');
    await settle();
    expect(client.payloads).toEqual(numbers(11));
    // The dispatcher's read alone.
    expect(on.partition('t').reads).toBe(reads + 1);
  });

  it('delays nobody else', async () => {
    const on = new Delivering();
    const [slow, quick] = [on.client('slow', { inflightMax: 1 }), on.client('quick')];
    slow.acknowledges = false;
    on.subscribe(slow, '#', { qos: 1 });
    on.subscribe(quick, '#', { qos: 1 });
    for (const payload of numbers(100)) on.publish('t', 't/1', payload);
    await settle();
    expect(slow.payloads).toEqual(['0']);
    expect(quick.payloads).toEqual(numbers(100));
  });

  it('reads the log no more while it waits', async () => {
    const on = new Delivering();
    on.holdingClient('slow', '#', { inflightMax: 1, qos: 1 });
    for (const payload of numbers(20)) on.publish('t', 't/1', payload);
    await settle();
    const reads = on.partition('t').reads;
    await settle();
    expect(on.partition('t').reads).toBe(reads);
  });
});

describe('a client that does not read', () => {
  it('costs a bounded amount of memory, and gets everything when it reads again [FAULTS 44]', async () => {
    const on = new Delivering();
    const client = on.client('stalled');
    on.subscribe(client, '#', { qos: 1 });
    client.stalled = true;
    const payload = (index: string) => index.padEnd(1000, '.');
    for (const index of numbers(500)) on.publish('t', 't/1', payload(index));
    await settle();
    // What was allowed, and at most one buffer that was on its way when the bound was reached.
    expect(client.waitingMax).toBeLessThan(OUTPUT_BYTES_MAX + 65_536);
    client.stalled = false;
    for (let round = 0; client.payloads.length < 500 && round < 100; round++) await settle();
    expect(client.payloads).toEqual(numbers(500).map(payload));
  });

  it('loses QoS 0 messages; each is counted, and the log says once whose [FAULTS 54]', async () => {
    const on = new Delivering();
    const [stalled, quick] = [on.client('stalled'), on.client('quick')];
    on.subscribe(stalled, '#', { qos: 0 });
    on.subscribe(quick, '#', { qos: 0 });
    stalled.stalled = true;
    for (const index of numbers(500)) on.publish('t', 't/1', index.padEnd(1000, '.'));
    await settle();
    stalled.stalled = false;
    await settle();
    expect(quick.payloads).toHaveLength(500);
    expect(stalled.payloads.length + on.counters.droppedSlow).toBe(500);
    expect(on.counters.droppedSlow).toBeGreaterThan(100);
    expect(on.hub.log.entries.filter(({ level }) => level === 'warn')).toMatchObject([
      { event: 'mqtt-message-dropped', fields: { clientId: 'stalled' } },
    ]);
  });
});

describe('catching up', () => {
  it('does not bring a subscription what is older than it', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', 't/a', { inflightMax: 2, qos: 1 });
    for (const payload of numbers(6)) on.publish('t', 't/a', `a${payload}`);
    on.publish('t', 't/b', 'b too early');
    await settle();
    on.subscribe(client, 't/b', { qos: 1 });
    on.publish('t', 't/b', 'b in time');
    client.resumeAcknowledging();
    for (let round = 0; round < 20; round++) await settle();
    expect(client.payloads).toEqual([...numbers(6).map((payload) => `a${payload}`), 'b in time']);
  });

  it('goes on with the other partitions where one cannot be read [FAULTS 7]', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 2, qos: 1 });
    for (const payload of numbers(6))
      for (const topic of ['a', 'b', 'c']) on.publish(topic, topic, topic + payload);
    await settle();
    for (const topic of ['a', 'c']) on.partition(topic).unreadable = true;
    client.resumeAcknowledging();
    for (let round = 0; round < 20; round++) await settle();
    const ofB = client.payloads.filter((payload) => payload.startsWith('b'));
    expect(ofB).toEqual(numbers(6).map((payload) => `b${payload}`));
    const reads = on.partition('a').reads + on.partition('c').reads;
    await settle();
    // Not in a circle.
    expect(on.partition('a').reads + on.partition('c').reads).toBe(reads);
  });

  it('that overtakes the dispatcher leaves to it what it has not sent', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 4, qos: 1 });
    for (const payload of numbers(6)) on.publish('t', 't', payload);
    await settle();
    const partition = on.partition('t');
    let release: () => void = () => undefined;
    // The dispatcher's read, for it is the one that the commit wakes.
    partition.nextReadWaitsFor = new Promise((resolve) => {
      release = resolve;
    });
    for (const payload of numbers(4, 6)) on.publish('t', 't', payload);
    partition.commit();
    client.resumeAcknowledging();
    for (let round = 0; round < 5; round++) await settle();
    expect(client.payloads).toEqual(numbers(6));
    release();
    for (let round = 0; round < 5; round++) await settle();
    expect(client.payloads).toEqual(numbers(10));
  });

  it('goes on where retention left something, and counts what is gone', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 1, qos: 1 });
    for (const payload of numbers(10)) on.publish('t', 't', payload);
    await settle();
    on.partition('t').logStartOffset = 7;
    client.resumeAcknowledging();
    for (let round = 0; round < 20; round++) await settle();
    expect(client.payloads).toEqual(['0', '7', '8', '9']);
    expect(on.counters.droppedRetention).toBe(6);
    expect(on.hub.log.events('warn')).toContain('mqtt-client-overtaken');
  });

  it('where retention left nothing, it does not keep the other partitions waiting', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 1, qos: 1 });
    for (const payload of numbers(3)) on.publish('a', 'a', payload);
    for (const payload of ['x', 'y', 'z']) on.publish('c', 'c', payload);
    await settle();
    on.partition('a').logStartOffset = 3;
    client.resumeAcknowledging();
    for (let round = 0; round < 20; round++) await settle();
    expect(client.payloads).toEqual(['0', 'x', 'y', 'z']);
  });

  it('ends with the topic', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 1, qos: 1 });
    for (const payload of numbers(5)) on.publish('t', 't', payload);
    await settle();
    await on.hub.topics.delete('t');
    on.publish('u', 'u', 'of another topic');
    client.resumeAcknowledging();
    for (let round = 0; round < 10; round++) await settle();
    expect(client.payloads).toEqual(['0', 'of another topic']);
  });

  it('ends with the session', async () => {
    const on = new Delivering();
    const client = on.holdingClient('slow', '#', { inflightMax: 1, qos: 1 });
    for (const payload of numbers(5)) on.publish('t', 't', payload);
    await settle();
    client.session.close();
    on.dispatchers.forget(client.session);
    const reads = on.partition('t').reads;
    client.acknowledge();
    on.publish('t', 't', 'x');
    await settle();
    expect(client.payloads).toEqual(['0']);
    expect(on.partition('t').reads).toBe(reads);
  });

  const steps = fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('publish' as const),
          partition: fc.nat(2),
          qos: fc.constantFrom<QoS>(1, 2),
          size: fc.constantFrom(1, 1, 1, 2000),
          count: fc.integer({ min: 1, max: 20 }),
        }),
      },
      { weight: 2, arbitrary: fc.constant({ kind: 'commit' as const }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('acknowledge' as const), count: fc.nat(12) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('stalled' as const), stalled: fc.boolean() }) },
      { weight: 2, arbitrary: fc.constant({ kind: 'settle' as const }) },
    ),
    { maxLength: 50 },
  );

  it('brings every message once and in the order of its partition, however its client behaves', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 9 }), async (sequence, inflightMax) => {
        // Small ranges, so that a partition takes several and others get their turn in between.
        const on = new Delivering(600);
        on.hub.commits = 'when-told';
        on.hub.topics.partitions = 3;
        const client = on.holdingClient('slow', '#', { inflightMax, qos: 2 });
        const expected: string[][] = [[], [], []];
        const commit = () => [0, 1, 2].forEach((index) => void on.partition('t', index).commit());
        for (const step of sequence) {
          if (step.kind === 'publish') {
            for (let index = 0; index < step.count; index++) {
              const own = expected[step.partition]!;
              const payload = `${step.partition}:${own.length}`.padEnd(step.size, '.');
              own.push(payload);
              on.publish('t', 't/x', payload, { qos: step.qos, partition: step.partition });
            }
          } else if (step.kind === 'commit') commit();
          else if (step.kind === 'acknowledge') client.acknowledge(step.count);
          else if (step.kind === 'stalled') client.stalled = step.stalled;
          else await settle();
        }
        commit();
        client.stalled = false;
        client.acknowledges = true;
        const total = expected.flat().length;
        for (let round = 0; client.payloads.length < total && round < 500; round++) {
          client.acknowledge();
          await settle();
        }
        await settle();
        for (const [partition, payloads] of expected.entries()) {
          expect(client.payloads.filter((payload) => payload.startsWith(`${partition}:`))).toEqual(payloads);
        }
      }),
      { numRuns: 60 },
    );
  });
});
