// `polylog start` as a process: what it prints, what it answers, how it stops, and the one line when it cannot start.

import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { Child } from '../../helpers/child.ts';

// Processes that start on a busy machine take their time; nothing here depends on how much.
vi.setConfig({ testTimeout: 60_000 });

const REPOSITORY = path.join(import.meta.dirname, '../../..');
const PROGRAM = path.join(REPOSITORY, 'dist/command/main.cjs');
const EPHEMERAL = path.join(REPOSITORY, 'config/examples/ephemeral.toml');

let directory: string;
let data: string;
let children: Child[];

beforeEach(async () => {
  expect(inject('buildError')).toBe('');
  directory = await mkdtemp(path.join(tmpdir(), 'polylog-start-'));
  data = path.join(directory, 'data');
  children = [];
});

afterEach(async () => {
  for (const child of children) if (!child.ended) child.kill('SIGKILL');
  await Promise.all(children.map(({ finished }) => finished));
  await rm(directory, { recursive: true });
});

function start(...argv: string[]): Child {
  return run([], argv);
}

function run(nodeArgv: readonly string[], argv: readonly string[]): Child {
  const child = new Child(process.execPath, [...nodeArgv, PROGRAM, 'start', '--config', EPHEMERAL, ...argv], {
    workingDirectory: directory,
    environment: { POLYLOG_DATA: data },
  });
  children.push(child);
  return child;
}

/** Resolves with the admin API's address, which the banner tells. */
async function ready(child: Child): Promise<string> {
  const [, url] = await child.waitFor(/curl -s (http:\/\/[^/]+)[\s\S]*Ctrl-C stops it/);
  return url!;
}

async function json(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

/** What is said on stderr by a start that fails with exit code 1, nothing being said on stdout. */
async function failure(child: Child): Promise<string> {
  const { code, stdout, stderr } = await child.finished;
  expect([code, stdout.toString()]).toEqual([1, '']);
  return stderr.toString();
}

/** Connections that say nothing, one to each listener. */
function silentConnections(listeners: readonly { readonly port: number }[]): Promise<Socket[]> {
  return Promise.all(
    listeners.map(async ({ port }) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      return socket;
    }),
  );
}

describe('a hub', () => {
  it('says where it listens and how to try it, answers, stops on SIGTERM whoever is connected, and starts again on its data', async () => {
    const first = start();
    const url = await ready(first);
    expect(first.output).toMatch(/^Polylog 0\.1\.0 is ready after \d+ ms\.$/m);
    for (const line of [
      /^ {2}kafka +127\.0\.0\.1:\d+ +Kafka clients$/m,
      /^ {2}mqtt +127\.0\.0\.1:\d+ +MQTT 3\.1, 3\.1\.1 and 5 clients$/m,
      /^ {2}admin +127\.0\.0\.1:\d+ +admin HTTP$/m,
      /^ {2}echo 'hello from Kafka' \| kcat -P -b 127\.0\.0\.1:[1-9]\d* -t hello$/m,
      /^ {2}mosquitto_sub -h 127\.0\.0\.1 -p [1-9]\d* -t '#' -v$/m,
    ]) {
      expect(first.output).toMatch(line);
    }
    expect(first.output).toContain(`Data is in ${data}; recovery took `);
    expect(await json(`${url}/health/ready`)).toEqual({ ready: true });
    const before = (await json(`${url}/api/v1/info`)) as { clusterId: string };
    const { items } = (await json(`${url}/api/v1/listeners`)) as { items: { host: string; port: number }[] };
    expect(items).toHaveLength(3);
    for (const { host, port } of items) expect(first.output).toContain(`${host}:${port}`);
    const silent = await silentConnections(items);
    first.kill('SIGTERM');
    expect((await first.finished).code).toBe(0);
    for (const socket of silent) socket.destroy();

    const second = start();
    const after = (await json(`${await ready(second)}/api/v1/info`)) as { clusterId: string };
    expect(after.clusterId).toBe(before.clusterId);
    expect(second.output).toContain('nothing to read again');
    second.kill('SIGINT');
    expect((await second.finished).code).toBe(0);
  });

  it('logs JSON and nothing else on request, reads its file again on SIGHUP, and keeps its data directory to itself', async () => {
    const child = start('--set', 'log.format=json');
    await child.waitFor(/"event":"ready"/);
    child.kill('SIGHUP');
    await child.waitFor(/"applied":\[\],"needsRestart":\[\],"unchanged":\d+,"event":"config-reloaded"/);
    expect(await failure(start('--set', 'log.level=error'))).toMatch(
      /^polylog: cannot start: another process has the data directory open \(.*\)\n$/,
    );
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await child.finished;
    expect([code, stdout.toString()]).toEqual([0, '']);
    const events = stderr
      .toString()
      .trimEnd()
      .split('\n')
      .map((line): { event: string; listeners?: { name: string }[] } => JSON.parse(line));
    const { listeners } = events.find(({ event }) => event === 'ready')!;
    expect(listeners?.map(({ name }) => name)).toEqual(['kafka', 'mqtt', 'admin']);
    expect(events.map(({ event }) => event).slice(-2)).toEqual(['stopping', 'stopped']);
  });
});

describe('a fault of ours', () => {
  it('is logged as fatal with its stack, and ends the process with exit 1', async () => {
    const preload = `process.on('SIGUSR2', () => Promise.reject(new Error('boom')))`;
    const child = run(['--import', `data:text/javascript,${preload}`], ['--set', 'log.format=json']);
    await child.waitFor(/"event":"ready"/);
    child.kill('SIGUSR2');
    const { code, stderr } = await child.finished;
    expect(code).toBe(1);
    const last: unknown = JSON.parse(stderr.toString().trimEnd().split('\n').at(-1)!);
    expect(last).toMatchObject({
      level: 'fatal',
      event: 'crashed',
      origin: 'unhandledRejection',
      error: { message: 'boom', stack: expect.stringContaining('at ') },
    });
  });
});

describe('one clear line, exit 1, no stack:', () => {
  it.each(['kafka', 'admin'])('a port in use (%s)', async (listener) => {
    const rival = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => rival.once('listening', resolve));
    const address = rival.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const said = await failure(
      start('--set', `listener.${listener}.bind=127.0.0.1:${port}`, '--set', 'log.level=error'),
    );
    rival.close();
    expect(said).toBe(
      `polylog: cannot start: listener "${listener}" cannot listen on 127.0.0.1:${port}: another program listens there already (stop it, or choose another port)\n`,
    );
  });

  it('a data directory that is a file', async () => {
    await writeFile(data, '');
    expect(await failure(start())).toBe(`${EPHEMERAL}:6: server.data_dir: ${data} is not a directory\n`);
  });

  it('a data directory that cannot be written', async () => {
    // Even root may make nothing here.
    const said = await failure(start('--set', 'server.data_dir=/proc/polylog'));
    expect(said).toMatch(/^(?:polylog: cannot start|--set server\.data_dir): .*\/proc\/polylog.*\n$/);
  });

  it('a directory of something else in its place', async () => {
    await mkdir(data);
    await writeFile(path.join(data, 'node.json'), 'not ours');
    const said = await failure(start('--set', 'log.level=error'));
    expect(said).toMatch(/^polylog: cannot start: .*node\.json.*\n$/);
    expect(await readdir(data)).toContain('node.json');
  });

  it('an unknown key', async () => {
    const child = new Child(process.execPath, [PROGRAM, 'start', '--config', EPHEMERAL], {
      environment: { POLYLOG_DATA: data, POLYLOG__MQTT__KEEPALIVE: '5s' },
    });
    children.push(child);
    expect(await failure(child)).toMatch(/^POLYLOG__MQTT__KEEPALIVE: unknown key \(.+\)\n$/);
  });
});
