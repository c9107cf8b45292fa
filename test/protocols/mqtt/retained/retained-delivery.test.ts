// What one client is sent because it has subscribed, and what is kept of it when its connection ends.
import { expect, it } from 'vitest';
import {
  RetainedDelivery,
  type RetainedDeliveryOptions,
} from '../../../../protocols/mqtt/retained/retained-delivery.ts';
import type { FoundMessage, StoredMessage } from '../../../../protocols/mqtt/retained/retained-table.ts';
import { Slices } from '../../../../protocols/mqtt/retained/slices.ts';
import { TableScan } from '../../../../protocols/mqtt/retained/table-scan.ts';
import { TopicIndex } from '../../../../protocols/mqtt/retained/topic-index.ts';
import { FakeClock } from '../../../helpers/fake-mqtt-hub.ts';
import { eventually } from '../front-end-fixture.ts';

const TOPICS = Array.from({ length: 100 }, (_, number) => `a/${number}`);
const SOURCE = { topicId: 'id', partition: 0 };
const entryAt = (stateOffset: number) => ({
  statePartition: 0,
  stateOffset,
  source: SOURCE,
  sourceOffset: stateOffset,
  timestampMs: 0,
  expiresAtMs: Number.POSITIVE_INFINITY,
  byteLength: 10,
});

/** A table of {@link TOPICS}; its scan finds all of them in one stretch. */
function retainedOf({ isCached }: { isCached: boolean }) {
  const index = new TopicIndex();
  for (const [number, topic] of TOPICS.entries()) index.set(topic, entryAt(number));
  const reads: { readonly underWay: number; readonly inSlice: boolean }[] = [];
  let underWay = 0;
  let slice = 0;
  const slices = new Slices(new FakeClock());
  const storedOf = (topic: string): StoredMessage => ({
    topic: Buffer.from(topic),
    message: {
      qos: 1,
      expiryAt: -1,
      timestampMs: 0,
      source: SOURCE,
      sourceOffset: 0,
      bytes: Buffer.from('x'),
      clientIdStart: -1,
      clientIdEnd: -1,
      propertiesStart: 0,
      propertiesEnd: 0,
      payloadStart: 0,
    },
  });
  const retained = {
    count: index.size,
    version: index.version,
    logRatio: 1,
    isCached,
    slices: {
      get isOver() {
        return slices.isOver;
      },
      begin: () => slices.begin().then(() => void slice++),
      end: () => {
        slice--;
        slices.end();
      },
    },
    settled: () => undefined,
    behind: () => undefined,
    walk: (filter: string) => index.walk(filter),
    find: (topic: string) => index.find(topic),
    scan: () => new TableScan([TOPICS.length]),
    readOn: async (scan: TableScan): Promise<FoundMessage[]> => {
      scan.moveTo(TOPICS.length);
      return TOPICS.map((name) => {
        const topic = index.find(name)!; // of the table
        return { topic, version: topic.version, stored: storedOf(name) };
      });
    },
    read: async (topic: Parameters<TopicIndex['nameOf']>[0]) => {
      reads.push({ underWay: ++underWay, inSlice: slice > 0 });
      await Promise.resolve();
      underWay--;
      return storedOf(index.nameOf(topic));
    },
  };
  return { retained, reads, index };
}

/** A client that takes so many messages and then leaves, or stays. */
function deliveryTo(retained: object, { takes }: { takes: number }) {
  const sent: string[] = [];
  const session = {
    closed: false,
    clientId: 'one',
    clientIdBytes: Buffer.from('one'),
    subscriptions: new Map([['#', {}]]),
    durable: { retainedSent: () => undefined },
    hasRoom: true,
    whenRoom: async () => {
      session.closed = true;
    },
    mayRead: () => true,
    deliver: (message: { topic: Buffer }) => {
      if (sent.length === takes) return false;
      sent.push(message.topic.toString('utf8', 2));
      return true;
    },
  };
  const delivery = new RetainedDelivery({
    session,
    retained,
    routes: {},
    topics: { getById: () => ({ name: 't' }) },
    clock: new FakeClock(),
    log: { error: (_event: string, fields: { error: unknown }) => expect.fail(String(fields.error)) },
    counters: {},
    // A delivery needs no more of them than this.
  } as unknown as RetainedDeliveryOptions);
  return { delivery, sent, session };
}

const REQUEST = { filter: '#', qos: 1, noLocal: false, identifier: 0 } as const;

async function leftBehind(retained: object) {
  const { delivery, sent } = deliveryTo(retained, { takes: 10 });
  delivery.add([REQUEST]);
  const left = await delivery.leave();
  expect(sent).toEqual(TOPICS.slice(0, 10));
  return left;
}

it.each([true, false])(
  'keeps of what was found and not sent no more than its topics; cached: %s',
  async (isCached) => {
    const { retained } = retainedOf({ isCached });
    const [work] = await leftBehind(retained);
    expect(work!.unsent.length).toBeGreaterThan(0);
    for (const unsent of work!.unsent) expect(Object.keys(unsent)).toEqual(['topic', 'version']);
  },
);

it('goes on in parts, each read in a slice of its own', async () => {
  const { retained, reads } = retainedOf({ isCached: false });
  const left = await leftBehind(retained);
  expect(reads).toEqual([]);
  const { delivery, sent } = deliveryTo(retained, { takes: TOPICS.length });
  delivery.resume(Promise.resolve(left));
  await eventually(() => sent.length === TOPICS.length - 10);
  expect(sent).toEqual(TOPICS.slice(10));
  expect(Math.max(...reads.map(({ underWay }) => underWay))).toBe(16);
  expect(reads.every(({ inSlice }) => inSlice)).toBe(true);
});

it('does not send what has changed since it was left', async () => {
  const { retained, index } = retainedOf({ isCached: false });
  const left = await leftBehind(retained);
  index.set(TOPICS[50]!, entryAt(500));
  const { delivery, sent } = deliveryTo(retained, { takes: TOPICS.length });
  delivery.resume(Promise.resolve(left));
  await eventually(() => sent.length === TOPICS.length - 11);
  expect(sent).not.toContain(TOPICS[50]);
});

it('asks, in the turn in which it sends a message, whether subscribers have a newer one', async () => {
  const { retained } = retainedOf({ isCached: false });
  const changing = new Set<string>();
  let hasLooked = false;
  const follower = {
    isNewer: (topic: string) => changing.has(topic) || (hasLooked ? false : undefined),
    // By then it is known that one of them is being written.
    looked: async () => {
      hasLooked = true;
      changing.add(TOPICS[3]!);
    },
  };
  const { delivery, sent } = deliveryTo({ ...retained, behind: () => follower }, { takes: TOPICS.length });
  delivery.add([REQUEST]);
  await eventually(() => sent.length === TOPICS.length - 1);
  expect(sent).not.toContain(TOPICS[3]);
});
