// Live delivery: which records reach which session, against a linear scan over all subscriptions.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QoS } from '../../../protocols/mqtt/packets/publish.ts';
import type { FakeClient } from './delivery-fixture.ts';
import { Delivering, settle } from './delivery-fixture.ts';
import { naiveMatches } from './naive-matcher.ts';

describe('a dispatcher', () => {
  it('sends what is published after a subscription, and nothing from before [FAULTS 56]', async () => {
    const on = new Delivering();
    const client = on.client('c');
    on.publish('t', 't/1', 'before');
    await settle();
    on.subscribe(client, 't/#');
    on.publish('t', 't/1', 'after');
    await settle();
    expect(client.payloads).toEqual(['after']);
  });

  it('keeps a new subscription from what others are still waiting for', async () => {
    const on = new Delivering();
    const [old, young] = [on.client('old'), on.client('young')];
    on.subscribe(old, 't/#');
    on.publish('t', 't/1', 'committed, not yet sent');
    // The record is committed in this turn; its range is read in a later one.
    on.partition('t').commit();
    on.subscribe(young, 't/#');
    on.publish('t', 't/1', 'for both');
    await settle();
    expect(old.payloads).toEqual(['committed, not yet sent', 'for both']);
    expect(young.payloads).toEqual(['for both']);
  });

  it('sends what was published before an UNSUBSCRIBE, and nothing after it', async () => {
    const on = new Delivering();
    on.hub.commits = 'when-told';
    const client = on.client('c');
    on.subscribe(client, 't/#');
    on.publish('t', 't/1', 'before');
    expect(on.unsubscribe(client, 't/#')).toBe(true);
    on.publish('t', 't/1', 'after');
    on.partition('t').commit();
    await settle();
    expect(client.payloads).toEqual(['before']);
  });

  it('replaces a subscription without losing or repeating a message [MQTT-3.8.4-3]', async () => {
    const on = new Delivering();
    on.hub.commits = 'when-told';
    const client = on.client('c');
    on.subscribe(client, 't/#');
    on.publish('t', 't/1', '1');
    on.subscribe(client, 't/#', { qos: 0 });
    on.publish('t', 't/1', '2');
    on.partition('t').commit();
    await settle();
    expect(client.payloads).toEqual(['1', '2']);
  });

  it('picks up topics that are made later, from their first record on [FAULTS 56]', async () => {
    const on = new Delivering();
    const client = on.client('c');
    on.subscribe(client, '#');
    await on.hub.produce('made-by-kafka', { value: 'first' });
    await settle();
    expect(client.payloads).toEqual(['first']);
  });

  it('sends nothing of internal topics', async () => {
    const on = new Delivering();
    on.hub.topics.make('__consumer_offsets', true);
    const client = on.client('c');
    on.subscribe(client, '#');
    await on.hub.produce('__consumer_offsets', { value: 'internal' });
    await settle();
    expect(client.payloads).toEqual([]);
  });

  it('reads nothing while nobody is subscribed', async () => {
    const on = new Delivering();
    const client = on.client('c');
    on.subscribe(client, '#');
    on.unsubscribe(client, '#');
    on.publish('t', 't/1', 'x');
    await settle();
    expect(on.partition('t').reads).toBe(0);
  });

  it('delivers one copy at the highest QoS with all identifiers [FAULTS 41]', async () => {
    const on = new Delivering();
    const client = on.client('c');
    on.subscribe(client, 't/#', { qos: 0, identifier: 1 });
    on.subscribe(client, 't/1', { qos: 1, identifier: 2 });
    on.publish('t', 't/1', 'x', { qos: 2 });
    await settle();
    expect(client.publishes).toMatchObject([{ qos: 1, properties: { subscriptionIdentifier: [1, 2] } }]);
  });

  it('keeps a client’s own messages from it where it asked for that', async () => {
    const on = new Delivering();
    const client = on.client('me');
    on.subscribe(client, 't/#', { noLocal: true });
    on.publish('t', 't/1', 'own', { clientId: 'me' });
    on.publish('t', 't/1', 'other', { clientId: 'mé' });
    await settle();
    expect(client.payloads).toEqual(['other']);
  });

  it('passes the retain flag on only where it was asked for [MQTT-3.3.1-12]', async () => {
    const on = new Delivering();
    const [plain, asPublished] = [on.client('a'), on.client('b')];
    on.subscribe(plain, '#');
    on.subscribe(asPublished, '#', { retainAsPublished: true });
    on.publish('t', 't', 'x', { retain: true });
    await settle();
    expect([plain.publishes[0]?.retain, asPublished.publishes[0]?.retain]).toEqual([false, true]);
  });

  it('skips a message that is larger than its client takes, and counts it [MQTT-3.1.2-24]', async () => {
    const on = new Delivering();
    const client = on.client('c', { packetBytesMax: 50 });
    on.subscribe(client, '#');
    on.publish('t', 't', 'x'.repeat(100));
    on.publish('t', 't', 'fits');
    await settle();
    expect(client.payloads).toEqual(['fits']);
    expect(on.counters.droppedTooLarge).toBe(1);
    expect(on.hub.log.events('warn')).toEqual(['mqtt-message-dropped']);
  });

  it('sends nothing to who may not read the topic', async () => {
    const on = new Delivering();
    on.hub.denied.add('read secret');
    const client = on.client('c');
    on.subscribe(client, '#');
    on.publish('secret', 'secret/1', 'x');
    on.publish('open', 'open/1', 'y');
    await settle();
    expect(client.payloads).toEqual(['y']);
  });

  it('goes on where retention has removed what it was to read, and counts it', async () => {
    const on = new Delivering();
    on.hub.commits = 'when-told';
    const client = on.client('c');
    on.subscribe(client, '#');
    for (const payload of ['1', '2', '3']) on.publish('t', 't', payload);
    const partition = on.partition('t');
    partition.logStartOffset = 2;
    partition.commit();
    await settle();
    expect(client.payloads).toEqual(['3']);
    expect(on.counters.droppedRetention).toBe(2);
  });

  it('lets others have their turn within a range whose topics take long to match', async () => {
    const on = new Delivering(1 << 20);
    on.hub.commits = 'when-told';
    const client = on.client('c');
    const levels = 12;
    for (let bits = 0; bits < 2 ** levels; bits++) {
      const filter = Array.from({ length: levels }, (_, level) => ((bits >> level) & 1 ? '+' : 't'));
      on.subscribe(client, filter.join('/'));
    }
    const all = 10;
    const start = 't/'.repeat(levels - 1);
    for (let index = 0; index < all; index++) on.publish('t', `${start}${index}`, String(index));
    on.partition('t').commit();
    const turns: number[] = [];
    while (on.counters.messagesDelivered < all) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      turns.push(on.counters.messagesDelivered);
    }
    expect(turns.filter((delivered) => delivered > 0 && delivered < all).length).toBeGreaterThan(0);
    await settle();
    expect(client.payloads).toEqual(Array.from({ length: all }, (_, index) => String(index)));
  });

  it('lets others have their turn within a range that goes to very many', async () => {
    const on = new Delivering(1 << 20);
    on.hub.commits = 'when-told';
    const clients = Array.from({ length: 300 }, (_, index) => on.client(`c${index}`));
    for (const client of clients) on.subscribe(client, '#', { qos: 1 });
    for (let index = 0; index < 100; index++) on.publish('t', 't', String(index));
    on.partition('t').commit();
    const turns: number[] = [];
    const all = 300 * 100;
    while (on.counters.messagesDelivered < all) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      turns.push(on.counters.messagesDelivered);
    }
    expect(turns.filter((delivered) => delivered > 0 && delivered < all).length).toBeGreaterThan(0);
    await settle();
    const expected = Array.from({ length: 100 }, (_, index) => String(index));
    for (const client of clients) expect(client.payloads).toEqual(expected);
  });

  it('forgets a topic that is deleted, and serves the one that is made again', async () => {
    const on = new Delivering();
    const client = on.client('c');
    on.subscribe(client, '#');
    on.publish('t', 't', 'old');
    await settle();
    await on.hub.topics.delete('t');
    on.publish('t', 't', 'new');
    await settle();
    expect(client.payloads).toEqual(['old', 'new']);
  });
});

// ------------------------------------------------------------------------------- against a linear scan

const TOPICS = ['a', 'b'] as const;
// Few, so that they meet.
const names = fc.constantFrom('a', 'b', 'a/b', 'b/b', '/', 'a/b/c');
const filters = fc.constantFrom('#', '+', 'a', 'a/#', '+/b', 'a/+', '/', 'a/b/c', '+/+/+');
const qos = fc.constantFrom<QoS>(0, 1, 2);
const clients = fc.nat(2);

const publishStep = fc.record({
  kind: fc.constant('publish' as const),
  kafkaTopic: fc.constantFrom(...TOPICS),
  mqttTopic: names,
  qos,
  from: clients,
});
const subscribeStep = fc.record({
  kind: fc.constant('subscribe' as const),
  client: clients,
  filter: filters,
  qos,
  identifier: fc.nat(3),
  noLocal: fc.boolean(),
});
/** Of one of those that there are. */
const unsubscribeStep = fc.record({ kind: fc.constant('unsubscribe' as const), pick: fc.nat(20) });
const commitStep = fc.record({
  kind: fc.constant('commit' as const),
  kafkaTopic: fc.constantFrom(...TOPICS),
});
const settleStep = fc.constant({ kind: 'settle' as const });

const liveSteps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: publishStep },
    { weight: 3, arbitrary: subscribeStep },
    { weight: 1, arbitrary: unsubscribeStep },
    { weight: 3, arbitrary: commitStep },
    { weight: 2, arbitrary: settleStep },
  ),
  { maxLength: 60 },
);

/** A subscription as an interval of offsets in each partition. */
interface Interval {
  readonly client: number;
  readonly filter: string;
  readonly starts: readonly number[];
  ends: readonly number[] | undefined;
  readonly noLocal: boolean;
}

/** What the standard says, by looking at every record and every subscription there ever was. */
class LinearScan {
  readonly #intervals: Interval[] = [];
  readonly #records: {
    readonly topic: string;
    readonly qos: QoS;
    readonly from: number;
    readonly payload: string;
  }[][] = [[], []];

  /** One that is replaced goes on. */
  subscribe(client: number, filter: string, noLocal: boolean, committed: readonly number[]): void {
    const open = this.#intervals.some(
      (interval) => interval.client === client && interval.filter === filter && interval.ends === undefined,
    );
    if (!open) this.#intervals.push({ client, filter, starts: committed, ends: undefined, noLocal });
  }

  unsubscribe(pick: number): Interval | undefined {
    const open = this.#intervals.filter(({ ends }) => ends === undefined);
    const ended = open[pick % open.length];
    if (ended) ended.ends = this.#records.map((list) => list.length);
    return ended;
  }

  publish(partition: number, record: { topic: string; qos: QoS; from: number; payload: string }): void {
    this.#records[partition]!.push(record);
  }

  /** Payloads of one partition that a client gets, in order. */
  payloadsFor(client: number, partition: number): string[] {
    return this.#records[partition]!.flatMap((record, offset) => {
      const heard = this.#intervals.some(
        (interval) =>
          interval.client === client &&
          interval.starts[partition]! <= offset &&
          (interval.ends === undefined || offset < interval.ends[partition]!) &&
          naiveMatches(interval.filter, record.topic) &&
          !(interval.noLocal && record.from === client),
      );
      return heard ? [record.payload] : [];
    });
  }
}

describe('what is delivered live', () => {
  it('is what a linear scan over all subscriptions finds, in order, once', async () => {
    await fc.assert(
      fc.asyncProperty(liveSteps, async (steps) => {
        const on = new Delivering();
        on.hub.commits = 'when-told';
        const scan = new LinearScan();
        const fleet = [0, 1, 2].map((index) =>
          on.client(`client-${index}`, { version: index === 0 ? 4 : 5 }),
        );
        const partitions = TOPICS.map((topic) => on.partition(topic));
        let count = 0;
        for (const step of steps) {
          if (step.kind === 'publish') {
            const partition = TOPICS.indexOf(step.kafkaTopic);
            const payload = `${step.kafkaTopic}${count++}`;
            scan.publish(partition, { topic: step.mqttTopic, qos: step.qos, from: step.from, payload });
            on.publish(step.kafkaTopic, step.mqttTopic, payload, {
              qos: step.qos,
              clientId: `client-${step.from}`,
            });
          } else if (step.kind === 'subscribe') {
            const committed = partitions.map(({ highWatermark }) => highWatermark);
            const { client, filter, qos: subscribed, identifier } = step;
            // Of the filter, so that a replacement does not change what was sent before it.
            const noLocal = filter.length % 2 === 0;
            scan.subscribe(client, filter, noLocal, committed);
            on.subscribe(fleet[client]!, filter, { qos: subscribed, identifier, noLocal });
          } else if (step.kind === 'unsubscribe') {
            const ended = scan.unsubscribe(step.pick);
            if (ended) on.unsubscribe(fleet[ended.client]!, ended.filter);
          } else if (step.kind === 'commit') {
            on.partition(step.kafkaTopic).commit();
          } else {
            await settle();
          }
        }
        for (const partition of partitions) partition.commit();
        await settle();
        fleet.forEach((client, index) => {
          TOPICS.forEach((topic, partition) => {
            const seen = client.payloads.filter((payload) => payload.startsWith(topic));
            expect(seen).toEqual(scan.payloadsFor(index, partition));
          });
        });
      }),
      { numRuns: 150 },
    );
  });

  it('has the QoS and the identifiers that the subscriptions in force say', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(subscribeStep, { minLength: 1, maxLength: 12 }),
        fc.array(publishStep, { minLength: 1, maxLength: 12 }),
        async (subscriptions, publishes) => {
          const on = new Delivering();
          const client = on.client('client-0');
          const inForce = new Map<string, (typeof subscriptions)[number]>();
          for (const step of subscriptions) {
            inForce.set(step.filter, step);
            on.subscribe(client, step.filter, step);
          }
          const expected = publishes.flatMap((step, index) => {
            on.publish('a', step.mqttTopic, String(index), {
              qos: step.qos,
              clientId: `client-${step.from}`,
            });
            const matching = [...inForce.values()].filter(
              ({ filter, noLocal }) => naiveMatches(filter, step.mqttTopic) && !(noLocal && step.from === 0),
            );
            if (matching.length === 0) return [];
            const identifiers = matching
              .map(({ identifier }) => identifier)
              .filter((identifier) => identifier > 0);
            return [
              {
                payload: String(index),
                topic: step.mqttTopic,
                qos: Math.min(step.qos, Math.max(...matching.map(({ qos: granted }) => granted))),
                identifiers: identifiers.sort(),
              },
            ];
          });
          await settle();
          expect(client.publishes.map(seenOf)).toEqual(expected);
        },
      ),
      { numRuns: 100 },
    );
  });
});

function seenOf(packet: FakeClient['publishes'][number]) {
  const identifiers = packet.properties?.subscriptionIdentifier ?? [];
  return {
    payload: packet.payload.toString(),
    topic: packet.topic,
    qos: packet.qos,
    identifiers: [identifiers].flat().sort(),
  };
}
