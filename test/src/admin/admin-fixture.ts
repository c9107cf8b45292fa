// The admin API before a real hub on a real store, with real groups; what a hub cannot be brought to quickly (transactions
// that hang, names that nobody may see) is put in front of it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openKafkaContext } from '../../../protocols/kafka/front-end.ts';
import type { GroupCoordinator } from '../../../protocols/kafka/groups/coordinator.ts';
import { groupDirectory } from '../../../protocols/kafka/groups/directory.ts';
import type { GroupDirectory, Hub, Log, TransactionView } from '../../../protocols/port.ts';
import { startAdmin } from '../../../src/admin/start-admin.ts';
import type { AdminTarget } from '../../../src/admin/target.ts';
import { startBroker } from '../../../src/broker.ts';
import type { Broker } from '../../../src/running-broker.ts';
import { sound } from '../config/fixtures.ts';
import { openOperations } from './operations-fixture.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed, when it is JSON. */
  readonly body: unknown;
}

export interface Call {
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON, unless it is text or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of an answer that does not end by itself: it is left after so many events. */
  readonly events?: number;
}

export interface AdminFixture {
  readonly url: string;
  readonly broker: Broker;
  readonly hub: Hub;
  readonly groups: GroupDirectory;
  call(call: Call | string): Promise<Answer>;
  /** Appends records to a partition, and waits until they are on disk. */
  append(topic: string, partition: number, records: readonly FixtureRecord[]): Promise<void>;
  /** Commits offsets of a group as a client without members does: so the group is there. */
  commit(groupId: string, topic: string, partition: number, offset: number): Promise<void>;
  /** Lets a member join the group and be subscribed to the topic. */
  join(groupId: string, topic: string): Promise<void>;
  close(): Promise<void>;
}

export interface FixtureRecord {
  readonly timestampMs?: number;
  readonly key?: string | Buffer | null;
  readonly value?: string | Buffer | null;
  readonly headers?: readonly (readonly [name: string, value: string | null])[];
  readonly attributes?: Buffer;
}

export interface AdminFixtureOptions {
  /** More of the configuration file. */
  readonly toml?: string;
  /** Names that nobody may do anything with. */
  readonly hidden?: readonly string[];
  readonly transactions?: readonly TransactionView[];
  /** Changes what is shown before it is. */
  wrap?(target: AdminTarget): AdminTarget;
}

export async function openAdmin(options: AdminFixtureOptions = {}): Promise<AdminFixture> {
  const directory = await mkdtemp(path.join(tmpdir(), 'polylog-admin-'));
  const listener = '[[listener]]\nname = "admin"\nprotocol = "http"\nbind = "127.0.0.1:0"\n';
  const text = `${listener}[server]\ndata_dir = "${directory}"\n${options.toml ?? ''}`;
  const config = sound(text);
  const operations = await openOperations(directory, text);
  let kafka: Awaited<ReturnType<typeof openKafkaContext>> | undefined;
  const directoryOf = (): GroupDirectory => {
    if (kafka === undefined) throw new Error('groups are not open yet');
    const { groups, offsets, groupAdministration: administration, hub } = kafka;
    return groupDirectory({ store: groups.store, offsets, administration, topics: hub.topics });
  };
  const broker = await startBroker(config.broker, SILENT, {
    startAdmin: async (target, listeners) => {
      const shown = overlaid<AdminTarget>(target, {
        hub: () => hiding(target.hub, options.hidden ?? []),
        groups: directoryOf,
        ...(options.transactions === undefined
          ? {}
          : { transactions: () => transactionsOf(options.transactions ?? []) }),
      });
      const wrapped = options.wrap?.(shown) ?? shown;
      return startAdmin({ target: wrapped, listeners, version: '1.2.3', log: SILENT, operations });
    },
  });
  kafka = await openKafkaContext(broker.hub, { groupInitialRebalanceDelayMs: 0 });
  const opened = kafka;
  const url = `http://127.0.0.1:${broker.listeners()[0]!.port}`;
  return {
    url,
    broker,
    hub: broker.hub,
    groups: directoryOf(),
    call: (call) => request(url, typeof call === 'string' ? { path: call } : call),
    append: (topic, partition, records) => appendTo(broker.hub, topic, partition, records),
    commit: async (groupId, topic, partition, offset) => {
      const claim = { memberId: '', generation: -1, groupInstanceId: null, version: 8, clientHost: '' };
      const item = { topic, partition, offset, leaderEpoch: -1, metadata: 'a note' };
      const codes = await opened.offsets.commit(groupId, claim, [item]);
      if (codes.some((code) => code !== 0)) throw new Error(`committing for ${groupId}: ${codes}`);
    },
    join: (groupId, topic) => joinGroup(opened.groups, groupId, topic),
    close: async () => {
      opened.offsets.close();
      opened.groups.close();
      opened.transactions.close();
      await broker.stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function request(url: string, call: Call): Promise<Answer> {
  const { method = 'GET', path, body, headers, events } = call;
  const isPlain = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const answer = await fetch(url + path, {
    method,
    ...(body === undefined
      ? {}
      : { body: isPlain ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    headers: { ...(isPlain ? {} : { 'content-type': 'application/json' }), ...headers },
  });
  const text =
    events === undefined || answer.status !== 200 ? await answer.text() : await firstEvents(answer, events);
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

async function firstEvents({ body }: Response, count: number): Promise<string> {
  let text = '';
  if (body === null) return text;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  while (text.split('\n\n').length <= count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return text;
}

async function appendTo(
  hub: Hub,
  topic: string,
  partition: number,
  records: readonly FixtureRecord[],
): Promise<void> {
  const handle = hub.topics.partition(topic, partition);
  if (handle === undefined) throw new Error(`there is no ${topic}-${partition}`);
  const appended = handle.append({ acks: 'flushed' }, (writer) => {
    for (const record of records) {
      const { key = null, value = null, headers = [], attributes = null } = record;
      const keyBytes = key === null ? EMPTY : Buffer.from(key);
      writer.startRecord(
        record.timestampMs ?? 1000,
        keyBytes,
        key === null ? -1 : 0,
        key === null ? -1 : keyBytes.length,
        headers.length,
      );
      for (const [name, item] of headers) {
        const bytes = Buffer.from(name + (item ?? ''));
        const nameEnd = Buffer.byteLength(name);
        writer.header(bytes, 0, nameEnd, item === null ? -1 : nameEnd, item === null ? -1 : bytes.length);
      }
      const valueBytes = value === null ? EMPTY : Buffer.from(value);
      writer.endRecord(
        valueBytes,
        value === null ? -1 : 0,
        value === null ? -1 : valueBytes.length,
        attributes,
      );
    }
  });
  const refused = appended.refused ?? (await appended.acknowledged).refused;
  if (refused !== undefined) throw new Error(`appending to ${topic}-${partition}: ${refused}`);
}

async function joinGroup(groups: GroupCoordinator, groupId: string, topic: string): Promise<void> {
  const name = Buffer.from(topic);
  const subscription = Buffer.concat([
    Buffer.from([0, 0, 0, 0, 0, 1, 0, name.length]),
    name,
    Buffer.from([0xff, 0xff, 0xff, 0xff]),
  ]);
  const answer = await groups.join(groupId, {
    ...{ memberId: '', newMemberId: `${groupId}-member`, groupInstanceId: null, clientId: 'a client' },
    ...{ clientHost: '/127.0.0.1', protocolType: 'consumer' },
    protocols: [{ name: 'range', metadata: subscription }],
    ...{ sessionTimeoutMs: 30_000, rebalanceTimeoutMs: 30_000 },
    ...{ requiresKnownMemberId: false, supportsSkippingAssignment: false },
  });
  if (answer.errorCode !== 0) throw new Error(`joining ${groupId}: ${answer.errorCode}`);
}

/** The hub, but for what its access rules say. */
function hiding(hub: Hub, hidden: readonly string[]): Hub {
  const access: Hub['access'] = {
    allows: (principal, operation, kind, name) =>
      !hidden.includes(name) && hub.access.allows(principal, operation, kind, name),
  };
  return overlaid(hub, { access: () => access });
}

/** An object with some properties of its own in front of it. */
export function overlaid<Shown extends object>(
  behind: Shown,
  inFront: Readonly<Partial<Record<keyof Shown, () => unknown>>>,
): Shown {
  return new Proxy(behind, {
    get: (target, name) => {
      const own = inFront[name as keyof Shown]; // any name may be asked for
      if (own !== undefined) return own();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function transactionsOf(transactions: readonly TransactionView[]): AdminTarget['transactions'] {
  const get = (id: string) => transactions.find(({ transactionalId }) => transactionalId === id);
  return {
    list: () => transactions,
    get,
    abort: async (id) => {
      const found = get(id);
      if (found === undefined) return { error: 'unknown-transaction', message: `no ${id}` };
      if (found.state === 'ongoing') return undefined;
      return found.state === 'empty'
        ? { error: 'not-open', message: 'nothing is open' }
        : { error: 'unavailable', message: 'not now' };
    },
  };
}

const EMPTY = Buffer.alloc(0);
