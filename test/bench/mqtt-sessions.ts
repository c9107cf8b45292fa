// What an MQTT session costs in memory while its client is away: `tsx test/bench/mqtt-sessions.ts [sessions]`. Sessions of
// three subscriptions and twenty cursors are written to a hub's state table; it is then opened again, as after a restart.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deadlines } from '../../protocols/mqtt/sessions/deadlines.ts';
import { SessionStore } from '../../protocols/mqtt/sessions/session-store.ts';
import { SYSTEM_CLOCK, SYSTEM_RANDOM } from '../../src/hub/clock.ts';
import { openHub } from '../../src/hub/hub.ts';
import { openLogStore, openMetaStore } from '../../storage/index.ts';
import { TOPIC_DEFAULTS } from '../src/hub/hub-fixture.ts';

const SESSIONS = Number(process.argv[2] ?? 100_000);
const WRITES_AT_ONCE = 2000;

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const surroundings = { clock: SYSTEM_CLOCK, random: SYSTEM_RANDOM, log: silent };
const directory = mkdtempSync(join(tmpdir(), 'polylog-sessions-'));

async function open() {
  const store = await openLogStore({ directory, nodeId: 1, ...surroundings });
  const metaStore = await openMetaStore(join(directory, 'meta'));
  const hub = await openHub({
    store,
    metaStore,
    nodeId: 1,
    rack: undefined,
    topics: { ...TOPIC_DEFAULTS, statePartitions: 16 },
    declaredTopics: [],
    advertised: new Map(),
    ...surroundings,
  });
  const close = async () => {
    await hub.close();
    await store.close();
    await metaStore.close();
  };
  return { hub, close };
}

function heldBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function write(sessions: SessionStore, index: number): Promise<void> {
  const places = Array.from({ length: 20 }, (_, partition) => ({
    topicId: SYSTEM_RANDOM.uuid(),
    partition,
    offset: 1_000_000 + index,
  }));
  const refused = await sessions.write(`device-${String(index).padStart(12, '0')}`, {
    session: {
      sessionNumber: index,
      expirySeconds: 86_400,
      disconnectedAtMs: Date.now(),
      will: undefined,
    },
    subscriptions: new Map([
      [
        0,
        ['commands', 'config', 'firmware'].map((name) => ({
          filter: `plant/${index}/${name}/#`,
          qos: 1 as const,
          noLocal: false,
          retainAsPublished: false,
          identifier: 0,
          starts: [],
        })),
      ],
    ]),
    delivery: { cursors: places, lastPacketId: 7, exchanges: [] },
    received: { known: [], publishes: [] },
  });
  if (refused !== undefined) throw new Error(refused.message);
}

try {
  const first = await open();
  const sessions = await SessionStore.open(first.hub);
  for (let done = 0; done < SESSIONS; done += WRITES_AT_ONCE) {
    const count = Math.min(WRITES_AT_ONCE, SESSIONS - done);
    await Promise.all(Array.from({ length: count }, (_, index) => write(sessions, done + index)));
  }
  await first.close();
  const again = await open();
  const before = heldBytes();
  const startedMs = performance.now();
  const { index } = await SessionStore.open(again.hub);
  const deadlines = new Deadlines<string>(SYSTEM_CLOCK, () => undefined);
  for (const clientId of index.clientIds()) deadlines.set(clientId, index.deadlineMs(clientId));
  const openedMs = performance.now() - startedMs;
  const bytesPerSession = (heldBytes() - before) / index.size;
  console.log(
    `${index.size} sessions: ${bytesPerSession.toFixed(0)} bytes each, opened in ${openedMs.toFixed(0)} ms`,
  );
  if (globalThis.gc === undefined) console.log('(with garbage: run node with --expose-gc for what is held)');
  deadlines.close();
  await again.close();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
