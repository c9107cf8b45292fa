// Retained messages, for the admin API: found by a walk that gives others their turn, and read from the log page by page.
import { setImmediate } from 'node:timers/promises';
import type { Refused, RetainedDirectory, RetainedMessageView, RetainedPage } from '../../port.ts';
import type { Context } from '../client.ts';
import type { RetainedTopic } from '../retained/topic-index.ts';
import { isShared, isTopicFilter } from '../topic-filter.ts';
import { namesWanted, Smallest } from './name-page.ts';

/** Nodes of the index that are looked at in one turn of the event loop. */
const STEPS_PER_TURN = 2000;
/** Messages that are forgotten at a time. */
const FORGET_MAX = 1000;

export function retainedDirectory({ hub, options, retained }: Context): RetainedDirectory {
  async function* topicsOf(filter: string): AsyncGenerator<string> {
    const walk = retained.walk(filter);
    for (let turnEnd = STEPS_PER_TURN; !walk.ended; ) {
      const topic = walk.next(turnEnd - walk.steps);
      if (topic !== undefined) yield retained.nameOf(topic);
      if (walk.steps < turnEnd) continue;
      await setImmediate();
      turnEnd = walk.steps + STEPS_PER_TURN;
    }
  }

  async function read(name: string, topic: RetainedTopic): Promise<RetainedMessageView | undefined> {
    const { entry } = topic;
    const stored = await retained.read(topic);
    if (stored === undefined || entry === undefined || entry.expiresAtMs <= hub.clock.now()) return undefined;
    const { bytes, clientIdStart, clientIdEnd, payloadStart, qos } = stored.message;
    return {
      topic: name,
      qos,
      payload: bytes.subarray(payloadStart),
      timestampMs: entry.timestampMs,
      expiresAtMs: entry.expiresAtMs,
      clientId: clientIdStart < 0 ? undefined : bytes.toString('utf8', clientIdStart, clientIdEnd),
    };
  }

  async function find(query: Parameters<RetainedDirectory['find']>[0]): Promise<RetainedPage> {
    const { filter, limit, bytesMax } = query;
    const page = new Smallest(limit + 1);
    const isWanted = namesWanted(query);
    for await (const name of topicsOf(filter)) if (isWanted(name)) page.add(name);
    const names = page.sorted();
    const items: RetainedMessageView[] = [];
    let bytes = 0;
    for (const [index, name] of names.slice(0, limit).entries()) {
      const topic = retained.find(name);
      const item = topic === undefined ? undefined : await read(name, topic);
      if (item === undefined) continue;
      items.push(item);
      bytes += item.payload.length;
      if (bytes >= bytesMax) return { items, hasMore: index + 1 < names.length };
    }
    return { items, hasMore: names.length > limit };
  }

  async function clear(filter: string): Promise<number | Refused> {
    await retained.settled();
    let cleared = 0;
    let some: string[] = [];
    const forget = async (): Promise<Refused | undefined> => {
      const forgotten = await retained.forget(some);
      if (typeof forgotten !== 'number') return forgotten;
      cleared += forgotten;
      some = [];
      return undefined;
    };
    for await (const name of topicsOf(filter)) {
      some.push(name);
      const refused = some.length < FORGET_MAX ? undefined : await forget();
      if (refused !== undefined) return refused;
    }
    return (await forget()) ?? cleared;
  }

  return {
    get count() {
      return retained.count;
    },
    get byteLength() {
      return retained.byteLength;
    },
    find,
    clear,
    illegalFilter: (filter) => illegalFilter(filter, options.topicBytesMax),
  };
}

function illegalFilter(filter: string, bytesMax: number): string | undefined {
  if (isShared(filter)) return 'a shared subscription has no retained messages';
  if (Buffer.byteLength(filter) > bytesMax) return `is longer than the ${bytesMax} bytes of a filter`;
  return isTopicFilter(filter) ? undefined : '+ and # fill a level, and # is the last';
}
