// The order of start and stop, with front ends that only write down what is asked of them.
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { FrontEnd, ListenerOptions, ListenerView } from '../../protocols/port.ts';
import type { AdminServer, FrontEndFactory } from '../../src/front-ends.ts';
import { type Broker, type BrokerOptions, runBroker } from '../../src/running-broker.ts';
import { configOf, listener } from './broker-fixture.ts';
import { temporaryDirectory } from './hub/hub-fixture.ts';
import { TestLog } from './hub/test-log.ts';

afterEach(() => void vi.useRealTimers());

/** A front end that only writes down what is asked of it; `changes` replace what it does. */
function recorded(protocol: string, steps: string[], changes: Partial<FrontEnd> = {}): FrontEndFactory {
  const views: ListenerView[] = [];
  const note = (step: string) => void steps.push(`${protocol}: ${step}`);
  const frontEnd: FrontEnd = {
    protocol,
    listen: async ({ name, host }: ListenerOptions) => {
      note(`listen ${name}`);
      const view = { name, protocol, host, port: 4000 + views.length, connections: 0 };
      views.push(view);
      return view;
    },
    listeners: () => views,
    drain: async () => note('drain'),
    close: async () => note('close'),
    ...changes,
  };
  return {
    protocol,
    create: () => {
      note('create');
      return { frontEnd };
    },
  };
}

interface Signal {
  readonly given: Promise<void>;
  give(): void;
}

function signal(): Signal {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give() };
}

const adminServer = (own: Partial<AdminServer>): AdminServer => ({
  listeners: () => [],
  listen: async () => undefined,
  changeListener: () => undefined,
  closeListener: async () => undefined,
  close: async () => undefined,
  ...own,
});

test('starts the hub, one front end for each protocol and the admin server; stops them in reverse', async () => {
  const steps: string[] = [];
  const listeners = [
    listener('admin', 'http'),
    listener('a1', 'a'),
    listener('b1', 'b'),
    listener('a2', 'a'),
  ];
  const startAdmin: BrokerOptions['startAdmin'] = async (broker, wanted) => {
    steps.push(`admin: ${wanted.map(({ name }) => name)}, ready: ${broker.ready()}`);
    const close = async () => void steps.push(`admin: close, ready: ${broker.ready()}`);
    return adminServer({ listeners: () => [{ ...listeners[0]!, port: 5000, connections: 0 }], close });
  };
  const factories = [recorded('a', steps), recorded('b', steps), recorded('unused', steps)];
  const config = configOf(path.join(temporaryDirectory(), 'data'), listeners);
  const broker = await runBroker(config, new TestLog(), factories, { startAdmin });
  expect(broker.ready()).toEqual([]);
  expect(broker.listeners().map(({ name, port }) => [name, port])).toEqual([
    ['admin', 5000],
    ['a1', 4000],
    ['b1', 4000],
    ['a2', 4001],
  ]);
  expect(broker.hub.topics.get('declared')?.partitions).toHaveLength(2);
  expect(broker.recovery).toMatchObject({ partitions: 2, recoveredBytes: 0, previousStopWasClean: true });
  await Promise.all([broker.stop(), broker.stop()]);
  expect(steps).toEqual([
    'a: create',
    'a: listen a1',
    'b: create',
    'b: listen b1',
    'a: listen a2',
    'admin: admin, ready: the hub is starting',
    'a: drain',
    'b: drain',
    'a: close',
    'b: close',
    'admin: close, ready: the hub is stopping',
  ]);
});

test('a restart after a stop finds everything, and that the stop was clean', async () => {
  const config = configOf(temporaryDirectory(), []);
  const first = await runBroker(config, new TestLog(), []);
  const topicId = first.hub.topics.get('declared')?.topicId;
  await first.stop();
  const second = await runBroker(config, new TestLog(), []);
  expect(second.hub.topics.get('declared')?.topicId).toBe(topicId);
  expect(second.clusterId).toBe(first.clusterId);
  expect(second.recovery).toMatchObject({ previousStopWasClean: true, recoveredBytes: 0, cutBytes: 0 });
  await second.stop();
});

test('a listener that cannot be opened stops the start with one sentence and leaves nothing open', async () => {
  const steps: string[] = [];
  const listen = () => Promise.reject(new Error('address already in use'));
  const factories = [recorded('a', steps), recorded('b', steps, { listen })];
  const config = configOf(temporaryDirectory(), [listener('a1', 'a'), listener('b1', 'b')]);
  await expect(runBroker(config, new TestLog(), factories)).rejects.toMatchObject({
    code: 'listen',
    message: 'listener "b1" cannot listen on 127.0.0.1:0: address already in use',
  });
  expect(steps.slice(-4)).toEqual(['a: drain', 'b: drain', 'a: close', 'b: close']);
  await (await runBroker(configOf(config.dataDirectory, []), new TestLog(), [])).stop();
});

test('a protocol that nobody speaks stops the start', async () => {
  const config = configOf(temporaryDirectory(), [listener('x', 'amqp')]);
  await expect(runBroker(config, new TestLog(), [])).rejects.toMatchObject({ code: 'protocol' });
});

test('a second broker on the same data directory is refused, the first goes on', async () => {
  const config = configOf(temporaryDirectory(), []);
  const first = await runBroker(config, new TestLog(), []);
  await expect(runBroker(config, new TestLog(), [])).rejects.toMatchObject({ code: 'locked' });
  expect(first.ready()).toEqual([]);
  await first.stop();
});

test('a front end that hangs or fails while it stops keeps nothing else from being closed', async () => {
  const log = new TestLog();
  const hang = () => new Promise<void>(() => undefined);
  const fail = () => Promise.reject(new Error('mine'));
  const factories = [recorded('a', [], { drain: hang, close: hang }), recorded('b', [], { drain: fail })];
  const config = configOf(temporaryDirectory(), [listener('a1', 'a'), listener('b1', 'b')]);
  const broker: Broker = await runBroker(config, log, factories);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const stopped = broker.stop();
  await vi.advanceTimersByTimeAsync(2000);
  await vi.advanceTimersByTimeAsync(500);
  vi.useRealTimers();
  await stopped;
  const incomplete = log.entries.filter(({ event }) => event === 'stop-incomplete');
  expect(incomplete.map(({ fields }) => fields)).toEqual([
    { what: 'drain b', error: new Error('mine') },
    { what: 'drain a', limitMs: 2000 },
    { what: 'a', limitMs: 500 },
  ]);
  await (await runBroker(configOf(config.dataDirectory, []), new TestLog(), [])).stop();
});

test.each(['create', 'listen'] as const)(
  'a stop while a reload waits for %s leaves nothing open, and nothing is opened after it',
  async (waitsFor) => {
    const steps: string[] = [];
    const [begun, over] = [signal(), signal()];
    const slowly = async (step: string): Promise<void> => {
      if (step !== waitsFor) return;
      begun.give();
      await over.given;
    };
    const listen = async ({ name, host, port }: ListenerOptions): Promise<ListenerView> => {
      await slowly('listen');
      steps.push(`b: listen ${name}`);
      return { name, protocol: 'b', host, port, connections: 0 };
    };
    const quick = recorded('b', steps, { listen });
    const slow: FrontEndFactory = {
      protocol: 'b',
      create: async (hub, config) => {
        await slowly('create');
        return quick.create(hub, config);
      },
    };
    const config = configOf(temporaryDirectory(), [listener('a1', 'a')]);
    const broker = await runBroker(config, new TestLog(), [recorded('a', steps), slow]);
    const next = { ...config, listeners: [...config.listeners, listener('b1', 'b'), listener('b2', 'b')] };
    const reconfigured = broker.reconfigure(next).catch((error: { code?: string }) => error.code);
    await begun.given;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const stopped = broker.stop();
    await vi.advanceTimersByTimeAsync(500);
    vi.useRealTimers();
    await stopped;
    over.give();
    expect(await reconfigured).toBe('stopping');
    const ofB = steps.filter((step) => step.startsWith('b:'));
    expect(ofB).not.toContain('b: listen b2');
    expect(ofB).toEqual(
      waitsFor === 'create'
        ? ['b: create', 'b: close']
        : ['b: create', 'b: drain', 'b: close', 'b: listen b1', 'b: close'],
    );
  },
);
