// The example of the README, as it stands there but for its ports and its data.
import './aedes-fixture.ts';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Aedes } from 'aedes';
import { connectAsync } from 'mqtt';
import { expect, it } from 'vitest';
import type { Polylog } from '../../../src/polylog.ts';

interface Example {
  readonly polylog: Polylog;
  readonly aedes: Aedes;
  readonly server: Server;
}

const MODULES: Readonly<Record<string, () => Promise<unknown>>> = {
  'node:net': () => import('node:net'),
  aedes: () => import('aedes'),
  polylog: () => import('../../../src/polylog.ts'),
  'polylog/aedes': () => import('../../../src/aedes/aedes-store.ts'),
};

async function run(directory: string): Promise<Example> {
  const readme = await readFile('src/aedes/README.md', 'utf8');
  const code = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const body = code
    .replaceAll(/^import (\{.*?\}) from '(.*?)';$/gm, "const $1 = await load('$2');")
    .replace("'data'", JSON.stringify(directory))
    .replace('127.0.0.1:9092', '127.0.0.1:0')
    .replace('1883', '0');
  // An asynchronous function has no constructor of that name to call.
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
  const example = new AsyncFunction('load', `${body}\nreturn { polylog, aedes, server };`);
  return example((name: string) => MODULES[name]?.()) as Promise<Example>; // what the line above returns
}

it('the example runs: what a client publishes is where Kafka reads it', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'polylog-readme-'));
  const { polylog, aedes, server } = await run(directory);
  if (!server.listening) await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // TCP
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`);
  await client.publishAsync('plant/1/temp', '20', { qos: 2 });
  expect(polylog.hub.topics.partition('plant', 0)?.highWatermark).toBe(1);
  await client.endAsync();
  await new Promise<void>((resolve) => aedes.close(() => resolve()));
  server.close();
  await polylog.close();
  await rm(directory, { recursive: true });
});
