// The documents: every command in them runs, in their order, against one hub with the rules of config/mapping.md, and prints
// what stands under it; commands named in passing, and keys of the configuration, are ones that there are.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROKER_NAMES } from '../../../protocols/kafka/broker-configs.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { DEFINITIONS } from '../../../src/hub/topic-config-definitions.ts';
import { type AdminFixture, openAdmin } from '../admin/admin-fixture.ts';
import { MOSQUITTO_OPTIONS } from './mosquitto-options.ts';

const root = path.join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const listing = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'];
const documents = execFileSync('git', listing, { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '');
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

/** What a line of the shell is, with what must appear in its output, in order; `…` stands for anything. */
interface Command {
  readonly line: string;
  readonly prints: string[];
}

function commandsOf(file: string): Command[] {
  const commands: Command[] = [];
  for (const [, block] of read(file).matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)) {
    for (const each of block!.split('\n')) {
      const line = each.trim();
      const printed = /^# → (.*)$/.exec(line)?.[1];
      if (printed !== undefined) commands.at(-1)!.prints.push(printed);
      else if (line !== '') commands.push(...partsOf(line).map((part) => ({ line: part, prints: [] })));
    }
  }
  return commands;
}

/** Without a comment at the end; `a && b` and `a; b` are two commands. */
const partsOf = (line: string): string[] => line.replace(/\s{2,}# .*$/, '').split(/ && |; /);

let admin: AdminFixture;
let mqttUrl: string;
let boiler: MqttClient;

beforeAll(async () => {
  const rules = /```toml\n([\s\S]*?)```/.exec(read('config/mapping.md'))![1]!;
  const listener = '[[listener]]\nname = "mqtt"\nprotocol = "mqtt"\nbind = "127.0.0.1:0"\n';
  admin = await openAdmin({ toml: `${listener}${rules}` });
  const mqtt = admin.broker.listeners().find(({ protocol }) => protocol === 'mqtt')!;
  mqttUrl = `mqtt://127.0.0.1:${mqtt.port}`;
  // What troubleshooting.md finds: a record, a group that is behind it, a client.
  await admin.hub.topics.create({ name: 'plant', partitions: 1, replicationFactor: 1, config: {} });
  const record = { key: 'plant/7/temp', value: '21.5', timestampMs: Date.now() };
  await admin.append('plant', 0, [record]);
  await admin.commit('billing', 'plant', 0, 0);
  boiler = await connectAsync(mqttUrl, {
    ...{ clientId: 'boiler-7', protocolVersion: 5, reconnectPeriod: 0 },
    properties: { sessionExpiryInterval: 3600 },
  });
  await boiler.subscribeAsync('plant/+/state', { qos: 1 });
});
afterAll(async () => {
  await boiler.endAsync();
  await admin.close();
});

describe.each(documents.filter((file) => commandsOf(file).length > 0))('%s', (file) => {
  const commands = commandsOf(file).filter(({ line }) => !isElsewhere(file, line));

  it.each(commands.map((command) => [command.line, command] as const))('%s', async (_line, command) => {
    const printed = (await run(command.line)).split('\n').map(spaced);
    let from = 0;
    for (const expected of command.prints) {
      const at = printed.findIndex((line, index) => index >= from && patternOf(expected).test(line));
      expect([expected, at >= 0 ? 'is printed' : printed.slice(from)]).toEqual([expected, 'is printed']);
      from = at + 1;
    }
  });
});

/** `npm run test:interop` types what the README tries with programs that are not ours. */
function isElsewhere(file: string, line: string): boolean {
  return file === 'README.md' && /^(?:mosquitto_(?:sub|pub)|kcat|curl|echo '[^']*' \| kcat) /.test(line);
}

const spaced = (text: string): string => text.trim().replace(/ {2,}/g, ' ');

function patternOf(expected: string): RegExp {
  const text = spaced(expected).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  // A table's cell, and a stretch of a line.
  return new RegExp(text.replace(/^… ?/, '').replace(/\s*…\s*/g, '.*'));
}

async function run(line: string): Promise<string> {
  const [, echoed, after] = /^echo '([^']*)' \| (.*)$/.exec(line) ?? [undefined, '', line];
  const words = wordsOf(after!);
  const program = words[0] === 'npx' ? words[1] : words[0];
  switch (program) {
    case 'polylog':
      return polylog(words.slice(words.indexOf('polylog') + 1), `${echoed}\n`);
    case 'curl':
      return curl(words);
    case 'npm':
      return npm(words);
    case 'install':
    case 'systemctl':
    case 'useradd':
      return asRoot(words);
    default:
      throw new Error(`nothing here runs ${line}`);
  }
}

/** As a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => (single ?? double ?? bare)!,
  );
}

async function polylog(argv: readonly string[], input: string): Promise<string> {
  let out = '';
  let err = '';
  const exitCode = await runCommandLine(argv, {
    out: (text) => {
      out += text;
    },
    outMuch: async (text) => {
      out += text;
      return true;
    },
    err: (text) => {
      err += text;
    },
    input: (async function* () {
      yield Buffer.from(input);
    })(),
    environment: { POLYLOG_ADMIN: admin.url, POLYLOG_MQTT: mqttUrl },
    workingDirectory: root,
  });
  // `check` may say that a port is taken on this machine, which is no failure.
  expect([exitCode, argv[0] === 'check' ? '' : err]).toEqual([0, '']);
  return out;
}

async function curl(words: readonly string[]): Promise<string> {
  const after = (option: string): string | undefined => words[words.indexOf(option) + 1 || words.length];
  const url = words.find((word) => word.startsWith('127.0.0.1:9640/'))!;
  const body = after('-d');
  const answer = await admin.call({
    method: after('-X') ?? 'GET',
    path: url.slice(url.indexOf('/')),
    ...(body === undefined ? {} : { body: JSON.parse(body) }),
  });
  expect(answer.status).toBe(200);
  return answer.text;
}

/** It is a script that there is; what it does is run by others. */
function npm([, verb, name]: readonly string[]): string {
  const script = verb === 'run' ? name : verb;
  expect([...Object.keys(scripts), 'ci', 'install', 'pack']).toContain(script);
  return '';
}

/** Not run, but the files of ours that it takes are there; `npm run test:interop` asks systemd about the unit. */
function asRoot(words: readonly string[]): string {
  for (const word of words.filter((each) => each.startsWith('config/')))
    expect([word, existsSync(path.join(root, word))]).toEqual([word, true]);
  return '';
}

describe('a command that is named in passing', () => {
  const named = new Map<string, string>();
  for (const file of documents) {
    for (const [, span] of read(file).matchAll(/`(?:npx )?(polylog [a-z-][^`]*)`/g)) named.set(span!, file);
  }

  it.each([...named])('%s (%s)', async (span) => {
    const argv = wordsOf(span).slice(1);
    const noun = argv[0]!.split(/[·.,|]/)[0]!;
    if (noun.startsWith('--')) return;
    const help = await polylog([noun, '--help'], '');
    const verb = argv[1]?.split(/[·,]/)[0] ?? '';
    const hasVerb = new RegExp(`^  ${verb.replace(/[^\w-]/g, '') || '-'}\\b`, 'm').test(help);
    const own = hasVerb ? await polylog([noun, verb, '--help'], '') : help;
    if (/^Commands:$/m.test(help) && /^[a-z-]+$/.test(verb)) expect([verb, hasVerb]).toEqual([verb, true]);
    for (const option of argv.filter((word) => /^--[a-z]/.test(word)))
      expect(own).toContain(option.replace(/[=\]].*$/, ''));
  });
});

it("README.md's hub in another process starts, tells its address, and ends", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-readme-'));
  const code = /```js\n([\s\S]*?)```/.exec(read('README.md'))![1]!;
  const body = code
    .replace(/^import (\{.*?\}) from 'polylog';$/m, 'const $1 = polylogModule;')
    .replace("'data'", JSON.stringify(directory));
  const told: string[] = [];
  // An asynchronous function has no constructor of that name to call.
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
  const example = new AsyncFunction('polylogModule', 'console', body);
  await example(await import('../../../src/polylog.ts'), { log: (line: string) => told.push(String(line)) });
  expect(told).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/)]);
  rmSync(directory, { recursive: true });
});

it('README.md names every command', async () => {
  const help = await polylog(['--help'], '');
  const commands = [...help.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name]) => name!);
  const named = /^Commands, `polylog --help`: ([\s\S]*?)\.$/m.exec(read('README.md'))![1]!;
  expect([...named.matchAll(/`([a-z]+)`/g)].map(([, name]) => name!).sort()).toEqual(
    commands.filter((name) => name !== 'help' && name !== 'polylog').sort(),
  );
});

describe('config/coming-from.md', () => {
  const keys = [...read('config/README.md').matchAll(/^\| `([^`]+)`/gm)].map(([, key]) => key!);
  const rows = [...read('config/coming-from.md').matchAll(/^\| (`.*?) +\| +(.*?) *\|/gm)];
  const spansOf = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, span]) => span!);
  const theirs = rows.flatMap(([, cell]) => spansOf(cell!).map((span) => span.split(' ')[0]!));

  it('names keys that there are', () => {
    const named = rows.flatMap(([, , cell]) => spansOf(cell!));
    expect(named.length).toBeGreaterThan(80);
    expect(named.filter((key) => !keys.includes(key))).toEqual([]);
  });

  it('names every key of [mqtt] and of [kafka]', () => {
    const text = read('config/coming-from.md');
    const ours = keys.filter((key) => /^(?:mqtt|kafka)\./.test(key) && !text.includes(`\`${key}\``));
    expect(ours).toEqual([]);
  });

  it('has every option of mosquitto.conf', () => {
    expect(MOSQUITTO_OPTIONS.filter((option) => !theirs.includes(option))).toEqual([]);
  });

  it('has every config of a broker that the hub tells Kafka clients of', () => {
    const told = [
      ...read('protocols/kafka/broker-configs.ts').matchAll(/\b(?:int|long|boolean|list)\('([a-z.]+)'/g),
    ];
    const names = [...BROKER_NAMES.values(), ...told.map(([, name]) => name!)];
    expect(names.length).toBeGreaterThan(50);
    const families = theirs.filter((name) => name.endsWith('…')).map((name) => name.slice(0, -1));
    const isThere = (name: string) => theirs.includes(name) || families.some((each) => name.startsWith(each));
    // Of a group, and told as such.
    expect(names.filter((name) => !name.startsWith('consumer.') && !isThere(name))).toEqual([]);
  });

  it('tells which topic configs have no effect', () => {
    const listed = /<!-- ignored topic configs -->\s+([\s\S]*?)\s+<!--/.exec(
      read('config/coming-from.md'),
    )?.[1];
    const ignored = DEFINITIONS.filter(({ honoured }) => !honoured).map(({ name }) => `\`${name}\``);
    expect(listed?.replace(/\s+/g, ' ')).toBe(`${ignored.join(', ')}.`);
    const honoured = DEFINITIONS.filter((each) => each.honoured).map(({ name }) => `topics.config."${name}"`);
    expect(honoured.filter((key) => !keys.includes(key))).toEqual([]);
  });
});
