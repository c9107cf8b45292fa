// `npm run test:shipped`: starts what is shipped as the README says, with `npm start` and the default configuration on
// its default ports and without dist/, as in a fresh clone; asks it over HTTP, stops it with SIGTERM, and starts it
// again. Only the data directory is another, by the environment. Last line: `N passed, N failed`.
import { deepEqual, equal, ok } from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../helpers/child.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { npmMqttClients } from '../helpers/mqtt-clients.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';

const repository = join(import.meta.dirname, '..', '..');
const admin = 'http://127.0.0.1:9640';
const STOP_MS = 5_000;
/** With the compiler's run before it, on a slow machine. */
const START_MS = 180_000;

const data = temporaryDirectory();
let passed = 0;
let failed = 0;

try {
  rmSync(join(repository, 'dist'), { recursive: true, force: true });
  const first = await started('npm start builds, and serves on the default ports');
  if (first !== undefined) {
    await questions();
    await stops(first, 'SIGTERM');
    await warmStart();
  }
} finally {
  data.remove();
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
}
process.exit(failed === 0 && passed > 0 ? 0 : 1);

async function check(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    passed += 1;
    process.stdout.write(`ok: ${name}\n`);
  } catch (error) {
    failed += 1;
    process.stdout.write(`FAILED: ${name}\n${error instanceof Error ? error.message : error}\n`);
  }
}

/** Undefined when it does not start; then the reason has been told. */
async function started(name: string): Promise<Child | undefined> {
  const child = new Child('npm', ['start'], {
    workingDirectory: repository,
    environment: { POLYLOG__SERVER__DATA_DIR: join(data.path, 'data') },
    timeoutMs: START_MS,
  });
  await check(name, async () => {
    try {
      const [, took] = await child.waitFor(/is ready after (\d+) ms/, START_MS);
      process.stdout.write(`ready after ${took} ms\n`);
    } catch (error) {
      const taken = /^polylog: .*(EADDRINUSE|in use|taken).*$/m.exec(child.output)?.[0];
      throw taken === undefined ? error : new Error(`a default port is taken on this machine:\n${taken}`);
    }
  });
  return child.ended ? undefined : child;
}

async function questions(): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    version: string;
  };
  await check('it is live and ready', async () => {
    equal((await fetch(`${admin}/health/live`)).status, 200);
    equal((await fetch(`${admin}/health/ready`)).status, 200);
  });
  await check('it tells its version and its listeners', async () => {
    equal((await get('/api/v1/info'))['version'], version);
    const listeners = (await get('/api/v1/listeners'))['items'] as { protocol: string; port: number }[];
    deepEqual(
      listeners.map(({ protocol, port }) => `${protocol}:${port}`),
      ['kafka:9092', 'mqtt:1883', 'mqtt-ws:8083', 'http:9640'],
    );
  });
  await check('it describes its API', async () => {
    ok(Object.keys((await get('/api/v1/openapi.json'))['paths'] ?? {}).length > 5);
  });
  await check('it takes a record from Kafka and one from MQTT, and tells their offsets', async () => {
    const raw = await RawKafka.connect(9092);
    await raw.ensureTopic('shipped');
    const answer = await raw.produce(
      'shipped',
      0,
      recordBatch([{ key: null, value: Buffer.from('a'), headers: [] }]),
    );
    deepEqual(answer, { error: 0, baseOffset: 0 });
    raw.close();
    const message = { topic: 'shipped/b', payload: Buffer.from('b'), userProperties: [] };
    await npmMqttClients[0]?.publish(1883, message, 1);
    const topics = (await get('/api/v1/topics'))['items'] as { topic: string }[];
    ok(topics.some(({ topic }) => topic === 'shipped'));
    await offsetsAreThere();
  });
}

async function offsetsAreThere(): Promise<void> {
  const offsets = await get('/api/v1/topics/shipped/offsets?at=earliest,latest');
  const [partition] = offsets['partitions'] as {
    logStart: number;
    logEnd: number;
    at: { offset: number }[];
  }[];
  deepEqual(
    [partition?.logStart, partition?.logEnd, partition?.at.map(({ offset }) => offset)],
    [0, 2, [0, 2]],
  );
}

async function get(path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${admin}${path}`);
  equal(answer.status, 200);
  return (await answer.json()) as Record<string, unknown>;
}

async function stops(child: Child, signal: NodeJS.Signals): Promise<void> {
  await check(`${signal} stops it with exit code 0 within ${STOP_MS / 1_000} s`, async () => {
    const sentMs = performance.now();
    child.kill(signal);
    const { code } = await child.finished;
    const tookMs = performance.now() - sentMs;
    process.stdout.write(`stopped after ${Math.round(tookMs)} ms\n`);
    deepEqual([code, tookMs < STOP_MS], [0, true]);
  });
}

async function warmStart(): Promise<void> {
  const before = builtFiles();
  const second = await started('npm start again serves');
  if (second === undefined) return;
  await check('it built nothing', async () => deepEqual(builtFiles(), before));
  await check('everything is still there', offsetsAreThere);
  await stops(second, 'SIGINT');
}

/** Every file of dist/ with the time it was written. */
function builtFiles(): string[] {
  const dist = join(repository, 'dist');
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => `${path} ${statSync(join(dist, path)).mtimeMs}`);
}
