// `polylog check`: for people and for programs, what is in effect, the schema, and what this machine has against it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { LISTENER } from '../config/fixtures.ts';

const SOUND = LISTENER.replace(':9092', ':0');
let directory: string;
let taken: Server;
let port: number;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'polylog-check-'));
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(async () => {
  taken.close();
  await rm(directory, { recursive: true });
});

async function check(text: string, ...argv: string[]) {
  await writeFile(path.join(directory, 'polylog.toml'), text);
  const said = { out: '', err: '' };
  const exitCode = await runCommandLine(['check', ...argv], {
    out: (more) => {
      said.out += more;
    },
    outMuch: async () => true,
    err: (more) => {
      said.err += more;
    },
    environment: { POLYLOG__LOG__LEVEL: 'warn' },
    workingDirectory: directory,
  });
  return { exitCode, ...said, lines: said.out.trimEnd().split('\n') };
}

it('what this machine has against it is a warning', async () => {
  expect(await check(LISTENER.replace(':9092', `:${port}`))).toMatchObject({
    exitCode: 0,
    out: 'polylog.toml: nothing wrong, 1 warning\n',
    err: `polylog.toml:4: listener.kafka.bind: warning: 127.0.0.1:${port}: another program listens there\n`,
  });
});

it('--output json: one object for each problem, with its place', async () => {
  const wrong = await check(`${SOUND}[mqtt]\nrecieve_maximum = 7\n`, '--output', 'json');
  expect([wrong.exitCode, wrong.err]).toEqual([1, '']);
  expect(wrong.lines.map((line) => JSON.parse(line))).toEqual([
    {
      ...{ severity: 'error', source: 'polylog.toml:6', file: 'polylog.toml', line: 6 },
      ...{ key: 'mqtt.recieve_maximum', message: 'unknown key', hint: 'did you mean receive_maximum?' },
    },
  ]);
  const taken = await check(LISTENER.replace(':9092', `:${port}`), '--output', 'json');
  expect([taken.exitCode, JSON.parse(taken.lines[0]!)]).toMatchObject([0, { severity: 'warning', line: 4 }]);
  expect(await check(SOUND, '--output', 'json')).toMatchObject({ exitCode: 0, out: '', err: '' });
});

it('--print: what is in effect and who said so; for programs, one object for each key', async () => {
  const printed = await check(SOUND, '--print');
  expect(printed.exitCode).toBe(0);
  expect(printed.out).toMatch(/^level = "warn" +# POLYLOG__LOG__LEVEL$/m);
  const { lines } = await check(SOUND, '--print', '--output', 'json');
  const values = lines.map((line) => JSON.parse(line));
  expect(values).toContainEqual({ key: 'log.level', value: 'warn', source: 'POLYLOG__LOG__LEVEL' });
  expect(values).toContainEqual({
    key: 'listener.kafka.bind',
    value: '127.0.0.1:0',
    source: 'polylog.toml:4',
  });
  expect(values).toContainEqual({ key: 'mqtt.receive_maximum', value: 1024, source: 'default' });
});

it('--schema: JSON Schema, whatever the file says', async () => {
  const { exitCode, out, err } = await check('not TOML', '--schema');
  expect([exitCode, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({
    $schema: 'http://json-schema.org/draft-07/schema#',
    properties: { mqtt: { properties: { receive_maximum: { default: 1024 } } } },
  });
});

it('--schema and --print are two questions: wrong usage', async () => {
  expect(await check(SOUND, '--schema', '--print')).toMatchObject({ exitCode: 2, out: '' });
});
