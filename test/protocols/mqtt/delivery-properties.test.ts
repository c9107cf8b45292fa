// Deliveries are what a linear scan of the log through a naive matcher says, for any filters, options and QoS, while clients
// subscribe, unsubscribe, acknowledge late, go and come back.
import fc from 'fast-check';
import type { IPublishPacket } from 'mqtt-packet';
import { expect, it } from 'vitest';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import type { Expected, ModelRecord, ModelSubscription, QoS } from './delivery-model.ts';
import { ModelClient } from './delivery-model.ts';
import type { Serving } from './front-end-fixture.ts';
import { serve } from './front-end-fixture.ts';

const RUNS = 15;
const CLIENTS = 3;
const MEMBERS = 2;
const SHARED = '$share/group/jobs/#';

/** The first time that a client gets a record. */
type Got = Expected & { readonly topic: string; readonly payload: string };

/** A client that keeps its half of the promises, at a pace of its own. */
class Client {
  readonly model: ModelClient;
  readonly got: Got[] = [];
  readonly #seen = new Set<string>();
  /** QoS 2 messages that it has and that the hub has not released. */
  readonly #taken = new Set<number>();
  #connection: RawMqtt | undefined;
  #looked = 0;
  #unacknowledged: IPublishPacket[] = [];
  readonly twice: string[] = [];
  readonly #receiveMaximum: number;

  constructor(clientId: string, receiveMaximum: number) {
    this.model = new ModelClient(clientId);
    this.#receiveMaximum = receiveMaximum;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  async connect(serving: Serving, step: number): Promise<void> {
    this.#connection = await serving.client(5, {
      clientId: this.model.clientId,
      clean: false,
      properties: { sessionExpiryInterval: 3600, receiveMaximum: this.#receiveMaximum },
    });
    this.#looked = 1;
    const absence = this.model.absences.at(-1);
    if (absence !== undefined) absence.to = step;
  }

  /** Reads what has come up to now, then goes: with a word or without. */
  async leave(step: number, isAbrupt: boolean): Promise<void> {
    const connection = this.#connection as RawMqtt; // the caller has looked
    if (isAbrupt) connection.socket.end();
    else connection.send({ cmd: 'disconnect' });
    await connection.until(() => connection.ended);
    this.#look();
    this.#unacknowledged = [];
    this.#connection = undefined;
    this.model.absences.push({ from: step, to: Number.POSITIVE_INFINITY });
  }

  async subscribe(subscription: ModelSubscription): Promise<void> {
    const { filter, qos, noLocal, retainAsPublished, identifier } = subscription;
    const isShared = filter.startsWith('$share/');
    await this.#ask(
      {
        cmd: 'subscribe',
        messageId: 1,
        subscriptions: [
          { topic: filter, qos, nl: noLocal && !isShared, rap: retainAsPublished, rh: isShared ? 0 : 2 },
        ],
        ...(identifier > 0 ? { properties: { subscriptionIdentifier: identifier } } : {}),
      },
      'suback',
    );
    this.model.subscriptions.push(subscription);
  }

  async unsubscribe(subscription: ModelSubscription, step: number): Promise<void> {
    await this.#ask({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [subscription.filter] }, 'unsuback');
    subscription.to = step;
  }

  async publish({ topic, payload, qos, retain }: ModelRecord): Promise<void> {
    const packet = { cmd: 'publish', topic, payload, qos, retain, dup: false } as const;
    if (qos === 0) await this.#ask(packet, undefined);
    else await this.#ask({ ...packet, messageId: 1 }, qos === 1 ? 'puback' : 'pubcomp');
  }

  /** Acknowledges so many of what it has not. */
  acknowledge(count: number): void {
    this.#look();
    for (const { qos, messageId } of this.#unacknowledged.splice(0, count)) {
      this.#connection?.send({ cmd: qos === 1 ? 'puback' : 'pubrec', messageId: messageId! });
    }
  }

  /** Acknowledges all that comes until nothing has come for a while of the hub's own turns. */
  async drain(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      this.acknowledge(Number.POSITIVE_INFINITY);
      const before = this.#connection?.received.length ?? 0;
      await this.#ask({ cmd: 'pingreq' }, 'pingresp');
      for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      const after = this.#connection?.received.length ?? 0;
      quiet = after - before <= 1 ? quiet + 1 : 0;
    }
  }

  async #ask(packet: Parameters<RawMqtt['encode']>[0], answer: string | undefined): Promise<void> {
    const connection = this.#connection as RawMqtt; // the caller has looked
    const from = connection.received.length;
    connection.send(packet);
    if (answer === undefined) {
      connection.send({ cmd: 'pingreq' });
      await this.#answered(connection, from, 'pingresp');
      return;
    }
    if (answer === 'pubcomp') {
      await this.#answered(connection, from, 'pubrec');
      connection.send({ cmd: 'pubrel', messageId: 1 });
    }
    await this.#answered(connection, from, answer);
    this.#look();
  }

  async #answered(connection: RawMqtt, from: number, answer: string): Promise<void> {
    await connection.until(
      () => connection.ended || connection.received.slice(from).some(({ cmd }) => cmd === answer),
    );
    if (connection.ended) throw new Error(`the hub has ended the connection, not ${answer}`);
  }

  #look(): void {
    const connection = this.#connection as RawMqtt; // the caller has looked
    while (this.#looked < connection.received.length) {
      const packet = connection.received[this.#looked++]!;
      if (packet.cmd === 'pubrel') {
        this.#taken.delete(packet.messageId!);
        connection.send({ cmd: 'pubcomp', messageId: packet.messageId! });
      }
      if (packet.cmd === 'publish') this.#take(packet);
    }
  }

  #take(packet: IPublishPacket): void {
    const { topic, qos, retain, messageId, dup } = packet;
    const payload = packet.payload.toString();
    if (qos > 0) this.#unacknowledged.push(packet);
    if (qos === 2) {
      if (this.#taken.has(messageId!)) return;
      this.#taken.add(messageId!);
    }
    if (this.#seen.has(payload)) {
      if (!(qos === 1 && dup)) this.twice.push(payload);
      return;
    }
    this.#seen.add(payload);
    const given = packet.properties?.subscriptionIdentifier ?? [];
    const identifiers = [given].flat().sort((left, right) => left - right);
    this.got.push({ topic, payload, qos, retain, identifiers });
  }
}

const level = fc.constantFrom('a', 'b', 'c');
const topic = fc.array(level, { minLength: 1, maxLength: 3 }).map((levels) => levels.join('/'));
const filter = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', '+'), { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([levels, isOpen]) => (isOpen ? [...levels.slice(0, 2), '#'] : levels).join('/'));
const qos = fc.constantFrom<QoS>(0, 1, 2);
const client = fc.nat(CLIENTS - 1);
const member = fc.nat(MEMBERS - 1);
const options = fc.record({
  qos,
  noLocal: fc.boolean(),
  retainAsPublished: fc.boolean(),
  identifier: fc.constantFrom(0, 1, 2, 3),
});

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('publish' as const), client, topic, qos, retain: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('job' as const), qos }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('subscribe' as const), client, filter, options }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), client, which: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('acknowledge' as const), client, count: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const), client, isAbrupt: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('turnMember' as const), member, isAbrupt: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('acknowledgeMember' as const), member, count: fc.nat(4) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

class World {
  readonly serving: Serving;
  readonly clients: readonly Client[];
  readonly members: readonly Client[];
  readonly publisher = new Client('publisher', 100);
  readonly records: ModelRecord[] = [];
  #step = 0;

  constructor(serving: Serving, receiveMaximums: readonly number[]) {
    this.serving = serving;
    this.clients = Array.from(
      { length: CLIENTS },
      (_, index) => new Client(`c${index}`, receiveMaximums[index]!),
    );
    this.members = Array.from(
      { length: MEMBERS },
      (_, index) => new Client(`m${index}`, receiveMaximums[index]!),
    );
  }

  async start(): Promise<void> {
    for (const each of [...this.clients, ...this.members, this.publisher])
      await each.connect(this.serving, 0);
    for (const each of this.members) await each.subscribe(this.#subscription(SHARED, MEMBER_OPTIONS));
  }

  async run(step: Step): Promise<void> {
    this.#step++;
    switch (step.do) {
      case 'publish':
        await this.#publish(this.clients[step.client]!, step.topic, step.qos, step.retain);
        return;
      case 'job':
        await this.#publish(this.publisher, 'jobs/x', step.qos, false);
        return;
      case 'subscribe':
        await this.#subscribe(this.clients[step.client]!, step.filter, step.options);
        return;
      case 'unsubscribe': {
        const each = this.clients[step.client]!;
        const there = each.model.subscriptions.filter(({ to }) => to === Number.POSITIVE_INFINITY);
        const chosen = there[step.which];
        if (each.isConnected && chosen !== undefined) await each.unsubscribe(chosen, this.#step);
        return;
      }
      case 'acknowledge':
        this.#acknowledge(this.clients[step.client]!, step.count);
        return;
      case 'acknowledgeMember':
        this.#acknowledge(this.members[step.member]!, step.count);
        return;
      case 'turn':
        await this.#turn(this.clients[step.client]!, step.isAbrupt);
        return;
      case 'turnMember':
        await this.#turn(this.members[step.member]!, step.isAbrupt);
        return;
      default:
        step satisfies never;
    }
  }

  async end(): Promise<void> {
    const everybody = [...this.clients, ...this.members];
    for (const each of everybody) if (!each.isConnected) await each.connect(this.serving, ++this.#step);
    // What one member frees may be another's.
    for (let round = 0; round < 2; round++) for (const each of everybody) await each.drain();
  }

  async #publish(from: Client, topic: string, qos: QoS, retain: boolean): Promise<void> {
    const publisher = from.isConnected ? from : this.publisher;
    const { clientId } = publisher.model;
    const record = { step: this.#step, topic, payload: String(this.records.length), qos, retain, clientId };
    await publisher.publish(record);
    this.records.push(record);
  }

  async #subscribe(to: Client, filter: string, options: SubscriptionOptions): Promise<void> {
    const has = to.model.subscriptions.some((each) => each.filter === filter && each.to > this.#step);
    if (to.isConnected && !has) await to.subscribe(this.#subscription(filter, options));
  }

  #subscription(filter: string, options: SubscriptionOptions): ModelSubscription {
    return { filter, ...options, from: this.#step, to: Number.POSITIVE_INFINITY };
  }

  #acknowledge(by: Client, count: number): void {
    if (by.isConnected) by.acknowledge(count);
  }

  async #turn(each: Client, isAbrupt: boolean): Promise<void> {
    if (each.isConnected) await each.leave(this.#step, isAbrupt);
    else await each.connect(this.serving, this.#step);
  }
}

type SubscriptionOptions = Omit<ModelSubscription, 'filter' | 'from' | 'to'>;
const MEMBER_OPTIONS: SubscriptionOptions = {
  qos: 2,
  noLocal: false,
  retainAsPublished: false,
  identifier: 0,
};

function check({ clients, members, records }: World): void {
  for (const { model, got, twice } of clients) {
    expect(twice, `${model.clientId} twice`).toEqual([]);
    const byPayload = new Map(got.map((each) => [each.payload, each]));
    for (const record of records) {
      const ways = model.expected(record);
      const each = byPayload.get(record.payload);
      const seen = each && { qos: each.qos, retain: each.retain, identifiers: each.identifiers };
      expect(ways, `${model.clientId} ${JSON.stringify({ record, seen })}`).toContainEqual(seen);
    }
    expectInOrder(got);
  }
  const shared = members.map(({ got }) => new Set(got.map(({ payload }) => payload)));
  for (const { topic, payload, qos } of records) {
    if (!topic.startsWith('jobs/')) continue;
    const count = shared.filter((got) => got.has(payload)).length;
    if (qos > 0) expect(count, `job ${payload}`).toBeGreaterThan(0);
    if (qos === 2) expect(count, `job ${payload}`).toBe(1);
  }
}

/** Of each partition: the fake hub has one a topic, which is the first level. */
function expectInOrder(got: readonly Got[]): void {
  const last = new Map<string, number>();
  for (const { topic, payload } of got) {
    const [kafkaTopic] = topic.split('/') as [string];
    expect(Number(payload), `${topic} in order`).toBeGreaterThan(last.get(kafkaTopic) ?? -1);
    last.set(kafkaTopic, Number(payload));
  }
}

it('everybody gets what a linear scan of the log says, in order', { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(1, 2, 5, 100), { minLength: CLIENTS, maxLength: CLIENTS }),
      fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }),
      async (receiveMaximums, steps) => {
        const serving = await serve();
        const world = new World(serving, receiveMaximums);
        try {
          await world.start();
          for (const each of steps) await world.run(each);
          await world.end();
          check(world);
        } finally {
          await serving.frontEnd.close();
        }
      },
    ),
    { numRuns: Number(process.env['POLYLOG_PROPERTY_RUNS'] ?? RUNS) },
  );
});
