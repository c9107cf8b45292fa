// A topic followed over HTTP: what comes, what is left out, and where a client goes on.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Hub, Partition, Visibility } from '../../../protocols/port.ts';
import { TailPace } from '../../../src/admin/tail-pace.ts';
import type { AdminTarget } from '../../../src/admin/target.ts';
import { type AdminFixture, openAdmin, overlaid } from './admin-fixture.ts';

let admin: AdminFixture;
/** While it stands still no row is added to what a tail may show. */
let standsStillAtMs: number | undefined;
let whilePlacesAreLookedFor: Record<'before' | 'behind', () => Promise<unknown>> | undefined;
beforeAll(async () => {
  const wrap = (target: AdminTarget): AdminTarget => {
    const { hub } = target;
    const monotonic = (): number => standsStillAtMs ?? hub.clock.monotonic();
    const clock = overlaid(hub.clock, { monotonic: () => monotonic });
    return overlaid(target, {
      hub: () => overlaid(hub, { clock: () => clock, topics: () => topicsOf(hub) }),
    });
  };
  admin = await openAdmin({ wrap });
});
afterAll(() => admin.close());

/** Something may happen before a time is found. */
function topicsOf({ topics }: Hub): Hub['topics'] {
  if (whilePlacesAreLookedFor === undefined) return topics;
  const { before, behind } = whilePlacesAreLookedFor;
  const slow = (partition: Partition): Partition =>
    overlaid(partition, {
      offsetForTime: () => async (timestampMs: number, upTo: Visibility) => {
        await before();
        const found = await partition.offsetForTime(timestampMs, upTo);
        await behind();
        return found;
      },
    });
  return overlaid(topics, {
    get: () => (name: string) => {
      const view = topics.get(name);
      return view && { ...view, partitions: view.partitions.map(slow) };
    },
  });
}

interface Event {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly value?: string; readonly partition?: number; readonly records?: number };
}

class Tailing {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  private constructor(reader: ReadableStreamDefaultReader<string>) {
    this.#reader = reader;
  }

  static async open(path: string, headers: Record<string, string> = {}, url = admin.url): Promise<Tailing> {
    const { body, status } = await fetch(`${url}/api/v1/topics/${path}`, { headers });
    expect(status).toBe(200);
    return new Tailing(body!.pipeThrough(new TextDecoderStream()).getReader());
  }

  /** The next event; undefined at the end. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const fields = Object.fromEntries(
          block
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
        );
        return { id: fields['id']!, event: fields['event']!, data: JSON.parse(fields['data']!) };
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

async function topic(name: string, partitions = 1): Promise<void> {
  await admin.hub.topics.create({ name, partitions, replicationFactor: 1, config: {} });
}

it('shows what is written from now on, with the position in all partitions', async () => {
  await topic('live', 2);
  await admin.append('live', 0, [{ value: 'before' }]);
  const tailing = await Tailing.open('live/tail');
  expect(await tailing.next()).toMatchObject({ id: '0:1,1:0', event: 'start' });
  await admin.append('live', 1, [{ value: 'a' }]);
  expect(await tailing.next()).toMatchObject({ id: '0:1,1:1', event: 'record', data: { value: 'a' } });
  await admin.append('live', 0, [{ value: 'b' }]);
  expect(await tailing.next()).toMatchObject({ id: '0:2,1:1', event: 'record', data: { value: 'b' } });
  await tailing.close();
});

it('goes on at the position that it is given, without gap or repetition', async () => {
  await topic('resumed', 2);
  await admin.append('resumed', 0, [{ value: 'a' }, { value: 'b' }]);
  const first = await Tailing.open('resumed/tail?from=start');
  await first.next();
  const { id } = (await first.next())!;
  await first.close();
  await admin.append('resumed', 0, [{ value: 'c' }]);
  const second = await Tailing.open('resumed/tail', { 'last-event-id': id });
  expect(await second.next()).toMatchObject({ event: 'start', id: '0:1,1:0' });
  expect(await second.next()).toMatchObject({ data: { value: 'b' } });
  expect(await second.next()).toMatchObject({ data: { value: 'c' } });
  await second.close();
});

it('shows what matches alone', async () => {
  await topic('matched');
  const tailing = await Tailing.open('matched/tail?contains=yes&key=k');
  await tailing.next();
  await admin.append('matched', 0, [
    { key: 'k', value: 'no' },
    { key: 'l', value: 'yes' },
    { key: 'k', value: 'oh yes' },
  ]);
  expect(await tailing.next()).toMatchObject({ id: '0:3', data: { value: 'oh yes' } });
  await tailing.close();
});

it('leaves out what is more than a second may show, and says how much; or shows it later', async () => {
  await topic('much');
  standsStillAtMs = admin.hub.clock.monotonic();
  const dropping = await Tailing.open('much/tail');
  await dropping.next();
  const values = Array.from({ length: 6000 }, (_, index) => ({ value: `${index}` }));
  await admin.append('much', 0, values);
  let shown = 0;
  let event = await dropping.next();
  for (; event?.event === 'record'; event = await dropping.next()) shown++;
  expect(event).toMatchObject({ event: 'dropped', id: '0:6000', data: { records: 1000 } });
  expect(shown).toBe(5000);
  standsStillAtMs = undefined;
  await dropping.close();

  const waiting = await Tailing.open('much/tail?from=start&overflow=wait');
  await waiting.next();
  for (const { value } of values) expect((await waiting.next())?.data.value).toBe(value);
  await waiting.close();
});

it('follows partitions that the topic is given meanwhile, and ends with the topic', async () => {
  await topic('changing');
  const tailing = await Tailing.open('changing/tail');
  await tailing.next();
  await admin.hub.topics.addPartitions('changing', 2);
  await admin.append('changing', 1, [{ value: 'new' }]);
  expect(await tailing.next()).toMatchObject({ id: '0:0,1:1', data: { partition: 1, value: 'new' } });
  await admin.hub.topics.delete('changing');
  expect(await tailing.next()).toMatchObject({ event: 'end' });
  expect(await tailing.next()).toBeUndefined();
});

it('refuses more tails than there may be, until one has gone', async () => {
  await topic('popular');
  const tailings: Tailing[] = [];
  for (let index = 0; index < 32; index++) tailings.push(await Tailing.open('popular/tail'));
  const { status, body, headers } = await admin.call('/api/v1/topics/popular/tail');
  expect([status, body]).toMatchObject([429, { error: { code: 'too_many_requests' } }]);
  expect(headers.get('retry-after')).toBe('1');
  await Promise.all(tailings.map((tailing) => tailing.close()));
  await expect
    .poll(async () => (await admin.call({ path: '/api/v1/topics/popular/tail', events: 1 })).status, {
      timeout: 15_000,
    })
    .toBe(200);
});

it('is as many at most over all listeners', async () => {
  await topic('shared');
  const { config } = admin.broker;
  const second = { ...config.listeners[0]!, name: 'second' };
  await admin.broker.reconfigure({ ...config, listeners: [...config.listeners, second] });
  const url = `http://127.0.0.1:${admin.broker.listeners().find(({ name }) => name === 'second')?.port}`;
  const tailings: Tailing[] = [];
  for (let index = 0; index < 32; index++) {
    tailings.push(await Tailing.open('shared/tail', {}, index % 2 === 0 ? url : admin.url));
  }
  for (const each of [url, admin.url]) {
    expect((await fetch(`${each}/api/v1/topics/shared/tail`)).status).toBe(429);
  }
  await Promise.all(tailings.map((tailing) => tailing.close()));
  await admin.broker.reconfigure(config);
});

it.each(['before', 'behind'] as const)(
  'of a topic that is deleted %s its beginning is found is told so',
  async (when) => {
    await topic('going');
    await admin.append('going', 0, [{ value: 'a' }]);
    const nothing = async () => undefined;
    whilePlacesAreLookedFor = {
      ...{ before: nothing, behind: nothing },
      [when]: () => admin.hub.topics.delete('going'),
    };
    const { status, body } = await admin.call('/api/v1/topics/going/tail?from=@2020-01-01');
    whilePlacesAreLookedFor = undefined;
    expect([status, body]).toMatchObject([
      404,
      { error: { code: 'not_found', message: 'topic going was deleted' } },
    ]);
  },
);

it('ends when the hub stops, without keeping it', async () => {
  const stopped = await openAdmin();
  await stopped.hub.topics.create({ name: 't', partitions: 1, replicationFactor: 1, config: {} });
  const tailing = await Tailing.open('t/tail', {}, stopped.url);
  await tailing.next();
  const [, event] = await Promise.all([stopped.close(), tailing.next()]);
  expect(event).toMatchObject({ event: 'end', data: { reason: 'the hub stops' } });
});

it('the pace is a second of rows and bytes in hand, and what flows in after', () => {
  let nowMs = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs, setTimer: () => ({ cancel() {} }) };
  const pace = new TailPace({ rowsPerSecond: 2, bytesPerSecond: 100 }, clock);
  expect(pace.isOpen).toBe(true);
  pace.spend(150);
  expect([pace.isOpen, pace.waitMs]).toEqual([false, 510]);
  nowMs = 510;
  expect(pace.isOpen).toBe(true);
  pace.spend(0);
  pace.spend(0);
  expect([pace.isOpen, pace.waitMs]).toEqual([false, 500]);
});
