// A hub in an application's own process.
//
// What it imports when it starts comes before the first test, not within its time.
import '../../protocols/kafka/front-end.ts';
import '../../protocols/mqtt/front-end.ts';
import '../../src/admin/server.ts';
import '../../src/broker.ts';
import '../../src/config/load.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Polylog, type PolylogConfig, startPolylog } from '../../src/polylog.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'polylog-embedded-'));
});

afterAll(() => rm(directory, { recursive: true }));

async function start(config: PolylogConfig = {}): Promise<Polylog> {
  const polylog = await startPolylog({
    config: { ...config, server: { data_dir: 'data' } },
    workingDirectory: directory,
  });
  onTestFinished(() => polylog.close());
  return polylog;
}

it('opens no port that it was not told to, and has all of MQTT but its listeners', async () => {
  const polylog = await start({ mapping: [{ match: 'a/#', topic: 'letters' }] });
  expect([polylog.listeners(), polylog.ready()]).toEqual([[], []]);
  const who = { name: 'ANONYMOUS', listener: 'own', remoteAddress: '' };
  const message = {
    topic: 'a/b',
    payload: Buffer.from('x'),
    qos: 1,
    retain: true,
    userProperties: [],
  } as const;
  const places: unknown[] = [];
  const published = await polylog.messaging.publisher.publish(who, message, (place) => places.push(place));
  expect([published, places]).toEqual([{ topic: 'letters', partition: 0, offset: 0 }, [published]]);
  const { items } = await polylog.messaging.retained.find({ filter: '#', limit: 10, bytesMax: 1000 });
  expect(items).toMatchObject([{ topic: 'a/b', clientId: '$admin' }]);
});

it('tells where it listens', async () => {
  const bind = '127.0.0.1:0';
  const polylog = await start({
    listener: [
      { name: 'k', protocol: 'kafka', bind },
      { name: 'h', protocol: 'http', bind },
    ],
  });
  expect(polylog.address('k')).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  expect((await fetch(`http://${polylog.address('h')}/health/ready`)).status).toBe(200);
  expect(() => polylog.address('none')).toThrow('there is no listener "none"');
});

it('shows its options as the configuration that it has; reading a file again is not for it', async () => {
  const polylog = await start({ listener: [{ name: 'h', protocol: 'http', bind: '127.0.0.1:0' }] });
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://${polylog.address('h')}/api/v1/${path}`, { method });
    // As the document promises it.
    const body = (await answer.json()) as { readonly values?: unknown };
    return { status: answer.status, body };
  };
  const shown = await ask('config');
  expect(shown).toMatchObject({ status: 200, body: { file: 'options' } });
  expect(shown.body.values).toContainEqual({
    ...{ key: 'listener.h.bind', value: '127.0.0.1:0', source: 'options', restart: true },
  });
  expect(await ask('config:reload', 'POST')).toMatchObject({
    status: 409,
    body: { error: { code: 'conflict' } },
  });
  expect(await ask('loggers')).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
});

it('refuses what a file would be refused for, in the same words, all at once', async () => {
  // A key that the types do not know either.
  const config = { topics: { partitons: 3 }, storage: { flush_messages: -1 } } as unknown as PolylogConfig;
  await expect(startPolylog({ config, workingDirectory: directory })).rejects.toMatchObject({
    code: 'config',
    message: expect.stringMatching(
      /topics\.partitons: .*\n?[\s\S]*storage\.flush_messages: |storage\.flush_messages: [\s\S]*topics\.partitons: /,
    ),
    issues: [{}, {}],
  });
});

it('two of them do not share their data', async () => {
  await start();
  await expect(start()).rejects.toMatchObject({ name: 'StorageError' });
});
