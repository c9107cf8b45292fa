// Answers to publishes: their order, sharing a flush, refusals, and the bounds of what waits.
import { describe, expect, it } from 'vitest';
import { newCounters } from '../../../protocols/mqtt/counters.ts';
import { PublishFlow, UnstoredBytes } from '../../../protocols/mqtt/publish-flow.ts';
import type { Session } from '../../../protocols/mqtt/session.ts';
import type { Published, Refused } from '../../../protocols/port.ts';

interface Deferred {
  readonly promise: Promise<Published | Refused>;
  settle(result: Published | Refused): void;
}

function deferred(): Deferred {
  let settle: Deferred['settle'] = () => undefined;
  const promise = new Promise<Published | Refused>((resolve) => {
    settle = resolve;
  });
  return { promise, settle: (result) => settle(result) };
}

function flowOf(
  version: 4 | 5,
  limits: { publishesMax?: number; bytesMax?: number; totalMax?: number } = {},
  onRefused: () => void = () => undefined,
) {
  const events: string[] = [];
  const received = new Map<number, 'storing' | 'stored'>();
  const acknowledge = (firstByte: number, packetId: number, reasonCode: number) =>
    events.push(`${firstByte === 0x40 ? 'PUBACK' : 'PUBREC'} ${packetId} ${reasonCode}`);
  const refusePublish = (qos: number, packetId: number, reasonCode: number) =>
    acknowledge(qos === 1 ? 0x40 : 0x50, packetId, reasonCode);
  // The flow needs no more of a session than this.
  const session = { version, received, acknowledge, refusePublish } as unknown as Session;
  const unstored = new UnstoredBytes(limits.totalMax ?? 1000);
  const counters = newCounters();
  const flow = new PublishFlow({
    session,
    counters,
    unstored,
    publishesMax: limits.publishesMax ?? 100,
    bytesMax: limits.bytesMax ?? 1000,
    onProgress: () => undefined,
    onUnanswerable: (reasonCode) => events.push(`close ${reasonCode}`),
    onRefused,
  });
  return { flow, events, received, unstored, counters };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const REFUSED: Refused = { refused: 'disk-full', message: 'full' };

describe('answers to publishes', () => {
  it('come when the log has the record, not before', async () => {
    const { flow, events } = flowOf(4);
    const stored = deferred();
    flow.add(stored.promise, 1, 7, 0);
    await turn();
    expect(events).toEqual([]);
    stored.settle({});
    await turn();
    expect(events).toEqual(['PUBACK 7 0']);
  });

  it('keep the order of the publishes, whichever flush is first', async () => {
    const { flow, events } = flowOf(4);
    const [first, second] = [deferred(), deferred()];
    flow.add(first.promise, 1, 1, 0);
    flow.add(second.promise, 2, 2, 0);
    flow.add(first.promise, 1, 3, 0);
    second.settle({});
    await turn();
    expect(events).toEqual([]);
    first.settle({});
    await turn();
    expect(events).toEqual(['PUBACK 1 0', 'PUBREC 2 0', 'PUBACK 3 0']);
  });

  it('of one flush come by one promise', async () => {
    const { flow, events } = flowOf(4);
    let subscriptions = 0;
    const stored = Promise.resolve<Published>({});
    const counting = new Proxy(stored, {
      get: (target, name) => {
        if (name === 'then') subscriptions++;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    for (let packetId = 1; packetId <= 100; packetId++) flow.add(counting, 1, packetId, 0);
    await turn();
    expect(subscriptions).toBe(1);
    expect(events).toHaveLength(100);
  });

  it('to a refused one say why in version 5, in their turn', async () => {
    const { flow, events, counters } = flowOf(5);
    const stored = deferred();
    flow.add(stored.promise, 1, 1, 0);
    flow.refuse(0x90, 'no', 1, 2);
    flow.add(Promise.resolve(REFUSED), 2, 3, 0);
    await turn();
    expect(events).toEqual([]);
    stored.settle({});
    await turn();
    expect(events).toEqual(['PUBACK 1 0', `PUBACK 2 ${0x90}`, `PUBREC 3 ${0x97}`]);
    expect(counters.publishesRefused).toBe(2);
  });

  it('to a refused one are the end of the connection below version 5', async () => {
    const { flow, events } = flowOf(4);
    flow.add(Promise.resolve({}), 1, 1, 0);
    flow.add(Promise.resolve(REFUSED), 1, 2, 0);
    await turn();
    expect(events).toEqual(['PUBACK 1 0', `close ${0x97}`]);
  });

  it('a refused QoS 0 has none, and is counted', async () => {
    const { flow, events, counters } = flowOf(4);
    flow.add(Promise.resolve(REFUSED), 0, 0, 10);
    await turn();
    expect(events).toEqual([]);
    expect(counters.publishesRefused).toBe(1);
  });

  it('go nowhere once the connection is closed, but what was taken stays counted until stored', async () => {
    const { flow, events, unstored } = flowOf(4, { totalMax: 10 });
    const stored = deferred();
    flow.add(stored.promise, 1, 1, 10);
    flow.close();
    expect(unstored.isFull).toBe(true);
    stored.settle({});
    await turn();
    expect(events).toEqual([]);
    expect(unstored.isFull).toBe(false);
  });
});

describe('a QoS 2 publish that comes again', () => {
  it('is answered again once it is stored, and not before', async () => {
    const { flow, events, received } = flowOf(4);
    const stored = deferred();
    flow.add(stored.promise, 2, 9, 0);
    flow.repeat(9);
    expect(events).toEqual([]);
    stored.settle({});
    await turn();
    expect(received.get(9)).toBe('stored');
    flow.repeat(9);
    expect(events).toEqual(['PUBREC 9 0', 'PUBREC 9 0']);
  });

  it('is a new one after a refusal', async () => {
    const { flow, received } = flowOf(5);
    flow.add(Promise.resolve(REFUSED), 2, 9, 0);
    await turn();
    expect(received.has(9)).toBe(false);
  });
});

describe('a client that floods', () => {
  it('waits when too many publishes are not stored', async () => {
    const { flow } = flowOf(4, { publishesMax: 2 });
    const stored = deferred();
    flow.add(stored.promise, 0, 0, 1);
    expect(flow.isFull).toBe(false);
    flow.add(stored.promise, 0, 0, 1);
    expect(flow.isFull).toBe(true);
    stored.settle({});
    await turn();
    expect(flow.isFull).toBe(false);
  });

  it('waits when too many bytes are not stored, its own or those of all', () => {
    const { flow } = flowOf(4, { bytesMax: 10 });
    flow.add(deferred().promise, 0, 0, 10);
    expect(flow.isFull).toBe(true);
    const { flow: other, unstored } = flowOf(4, { totalMax: 10 });
    unstored.add(10);
    expect(other.isFull).toBe(true);
  });

  it('that publishes as soon as it is told of room has each publish answered once, in order', async () => {
    const { flow, events, unstored } = flowOf(5, { totalMax: 10 });
    const [first, second] = [deferred(), deferred()];
    flow.add(first.promise, 1, 1, 10);
    flow.add(second.promise, 1, 2, 0);
    unstored.whenRoom(() => flow.refuse(0x90, 'no', 1, 3));
    second.settle({});
    first.settle({});
    await turn();
    expect(events).toEqual(['PUBACK 1 0', 'PUBACK 2 0', `PUBACK 3 ${0x90}`]);
    expect(flow.isEmpty).toBe(true);
    expect(unstored.isFull).toBe(false);
  });

  it('that publishes as soon as it hears of a refusal has each publish answered once, in order', async () => {
    const publishAgain = () => {
      if (events.length === 0) flow.refuse(0x87, 'never', 1, 3);
    };
    const { flow, events } = flowOf(5, {}, publishAgain);
    const stored = deferred();
    flow.add(stored.promise, 1, 1, 0);
    flow.add(stored.promise, 1, 2, 0);
    stored.settle(REFUSED);
    await turn();
    expect(events).toEqual([`PUBACK 1 ${0x97}`, `PUBACK 2 ${0x97}`, `PUBACK 3 ${0x87}`]);
    expect(flow.isEmpty).toBe(true);
  });

  it('is told when there is room again, once', () => {
    const unstored = new UnstoredBytes(10);
    let calls = 0;
    unstored.add(15);
    unstored.whenRoom(() => calls++);
    unstored.remove(3);
    expect(calls).toBe(0);
    unstored.remove(5);
    unstored.add(10);
    unstored.remove(10);
    expect(calls).toBe(1);
  });
});
