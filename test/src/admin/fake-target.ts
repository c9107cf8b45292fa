// A hub of plain values behind the port's types, and an admin server on a free port in front of it.
import type {
  GroupError,
  GroupOffset,
  GroupView,
  Hub,
  ListenerView,
  Log,
  Partition,
  TimestampedOffset,
  TopicView,
  TransactionView,
} from '../../../protocols/port.ts';
import type { Authorize } from '../../../src/admin/access.ts';
import { startAdmin } from '../../../src/admin/start-admin.ts';
import type { AdminTarget } from '../../../src/admin/target.ts';
import type { ListenerConfig } from '../../../src/config/broker-config.ts';
import { Histogram } from '../../../storage/histogram.ts';
import { newCounters } from '../../../storage/store-counters.ts';

export const NOW_MS = 1_764_000_000_000;

interface FakePartition {
  readonly logStart?: number;
  readonly highWatermark?: number;
  readonly logEnd?: number;
  /** Record timestamps by offset from the log start on. */
  readonly timesMs?: readonly number[];
  readonly broken?: boolean;
}

export function fakePartition(topic: string, partition: number, shape: FakePartition = {}): Partition {
  const logStart = shape.logStart ?? 0;
  const timesMs = shape.timesMs ?? [];
  const highWatermark = shape.highWatermark ?? logStart + timesMs.length;
  const at = (index: number): TimestampedOffset | undefined => {
    if (shape.broken) throw new Error('a disk fault with /secret/paths in it');
    return index < 0 || index >= timesMs.length
      ? undefined
      : { offset: logStart + index, timestampMs: timesMs[index]!, leaderEpoch: 1 };
  };
  // A cast: what the admin API never calls is left out.
  return {
    topic,
    topicId: `id-of-${topic}`,
    partition,
    leaderEpoch: 1,
    logStartOffset: logStart,
    logEndOffset: shape.logEnd ?? highWatermark,
    highWatermark,
    lastStableOffset: highWatermark,
    deleted: false,
    byteSize: 100,
    segmentCount: 2,
    offsetForTime: async (timestampMs: number) => at(timesMs.findIndex((time) => time >= timestampMs)),
    offsetOfMaxTimestamp: async () => at(timesMs.indexOf(Math.max(...timesMs))),
  } as Partial<Partition> as Partition;
}

export function fakeTopic(name: string, partitions: readonly Partition[], internal = false): TopicView {
  const config = {
    cleanupPolicy: 'delete',
    maxMessageBytes: 1,
    messageTimestampType: 'CreateTime',
    messageTimestampBeforeMaxMs: Number.POSITIVE_INFINITY,
    messageTimestampAfterMaxMs: Number.POSITIVE_INFINITY,
    minInsyncReplicas: 1,
  } as const;
  return { name, topicId: `id-of-${name}`, internal, partitions, config };
}

export interface FakeHub {
  topics?: TopicView[];
  groups?: GroupView[];
  offsets?: Record<string, GroupOffset[]>;
  transactions?: TransactionView[];
  failing?: string[];
  /** Names that nobody may see. */
  hidden?: string[];
}

export interface FakeAdmin {
  readonly url: string;
  readonly port: number;
  readonly logged: { readonly event: string; readonly fields: object | undefined }[];
  /** Status and parsed body. */
  get(path: string, init?: RequestInit): Promise<{ status: number; body: unknown; headers: Headers }>;
  /** The configuration of its listener is another one. */
  change(changes: Partial<ListenerConfig>): void;
  close(): Promise<void>;
}

export async function openFakeAdmin(fake: FakeHub, authorize?: Authorize): Promise<FakeAdmin> {
  const logged: { event: string; fields: object | undefined }[] = [];
  const note = (event: string, fields?: object) => void logged.push({ event, fields });
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const listeners: ListenerView[] = [];
  const target: AdminTarget = {
    hub: fakeHub(fake, log),
    startedAtMs: NOW_MS - 5_000,
    groups: {
      list: () => fake.groups ?? [],
      get: (groupId) => fake.groups?.find((group) => group.groupId === groupId),
      offsets: (groupId) => fake.offsets?.[groupId],
      delete: noGroup,
      deleteOffsets: noGroup,
      commitOffsets: noGroup,
    },
    transactions: {
      list: () => fake.transactions ?? [],
      get: (id) => fake.transactions?.find(({ transactionalId }) => transactionalId === id),
      abort: async (id) => {
        const found = fake.transactions?.find(({ transactionalId }) => transactionalId === id);
        if (found === undefined) return { error: 'unknown-transaction', message: `no ${id}` };
        if (found.state === 'ongoing') return undefined;
        return found.state === 'empty'
          ? { error: 'not-open', message: 'nothing is open' }
          : { error: 'unavailable', message: 'not now' };
      },
    },
    config: { detailedTopics: [] },
    recovery: { durationMs: 12, recoveredBytes: 0 },
    storeCounters: newCounters(),
    collect: () => undefined,
    listeners: () => listeners,
    ready: () => fake.failing ?? [],
  };
  const listener = { name: 'admin', protocol: 'http', host: '127.0.0.1', port: 0, connectionsMax: 100 };
  const admin = await startAdmin({
    target,
    listeners: [listener],
    version: '1.2.3',
    log,
    ...(authorize === undefined ? {} : { authorize }),
  });
  listeners.push(...admin.listeners());
  const { port } = listeners[0]!;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    logged,
    get: async (path, init) => {
      const answer = await fetch(url + path, init);
      const text = await answer.text();
      return {
        status: answer.status,
        body: text === '' ? undefined : JSON.parse(text),
        headers: answer.headers,
      };
    },
    change: (changes) => admin.changeListener({ ...listener, ...changes }),
    close: () => admin.close(),
  };
}

async function noGroup(id: string): Promise<GroupError> {
  return { error: 'unknown-group', message: `no ${id}` };
}

function fakeHub(fake: FakeHub, log: Log): Hub {
  const topics = () => [...(fake.topics ?? [])].sort((left, right) => (left.name < right.name ? -1 : 1));
  // A cast: what the admin API never calls is left out.
  return {
    topics: {
      get: (name: string) => topics().find((topic) => topic.name === name),
      list: topics,
      declaredAt: () => undefined,
      describeConfig: () => [],
      partition: (name: string, number: number) =>
        topics().find((topic) => topic.name === name)?.partitions[number],
    },
    cluster: { clusterId: 'cluster', nodeId: 7 },
    access: {
      allows: (...[, , , name]: Parameters<Hub['access']['allows']>) => !fake.hidden?.includes(name),
    },
    clock: { now: () => NOW_MS, monotonic: () => 0, setTimer: () => ({ cancel() {} }) },
    log,
    histogram: () => new Histogram(),
    diskSpace: async () => undefined,
  } as Partial<{ [key in keyof Hub]: Partial<Hub[key]> }> as Hub;
}
