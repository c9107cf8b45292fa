// The commands that talk to a running hub, before a real one: what they print for people and for programs, and how they end.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { temporaryDirectory } from '../../helpers/hub-process.ts';
import { type AdminFixture, openAdmin } from '../admin/admin-fixture.ts';

let admin: AdminFixture;
beforeAll(async () => {
  const mqtt = '[[listener]]\nname = "mqtt"\nprotocol = "mqtt"\nbind = "127.0.0.1:0"\n';
  const webSocket = '[[listener]]\nname = "ws"\nprotocol = "mqtt-ws"\nbind = "127.0.0.1:0"\n';
  const rule = '[[mapping]]\nmatch = "plant/{site}/#"\ntopic = "plant-{site}"\n';
  admin = await openAdmin({ toml: `${mqtt}${webSocket}${rule}` });
});
afterAll(() => admin.close());

interface Said {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

async function run(argv: readonly string[], input = '', readLines = Number.POSITIVE_INFINITY): Promise<Said> {
  const said = { out: '', err: '' };
  let lines = 0;
  const exitCode = await runCommandLine(argv, {
    out: (text) => {
      said.out += text;
    },
    outMuch: async (text) => {
      said.out += text;
      return ++lines < readLines;
    },
    err: (text) => {
      said.err += text;
    },
    input: (async function* () {
      yield Buffer.from(input);
    })(),
    environment: { POLYLOG_ADMIN: admin.url },
    workingDirectory: '/',
  });
  return { exitCode, ...said };
}

const done = async (argv: readonly string[], input = ''): Promise<string> => {
  const { exitCode, out, err } = await run(argv, input);
  expect([exitCode, err]).toEqual([0, '']);
  return out;
};

const json = async (argv: readonly string[]): Promise<unknown[]> =>
  (await done([...argv, '--output', 'json']))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('topics', () => {
  it('are made, listed, described, changed, extended and deleted', async () => {
    expect(
      await done(['topics', 'create', 'fresh', '--partitions', '2', '--config', 'retention.ms=86400000']),
    ).toMatch(/^TOPIC +PARTITIONS.*\nfresh +2 .*\n\nCONFIG +VALUE +FROM\nretention\.ms +86400000 +topic\n$/);
    expect(await json(['topics', 'list', '--search', 'fresh'])).toMatchObject([
      { topic: 'fresh', partitions: 2 },
    ]);
    const alter = [
      'topics',
      'alter',
      'fresh',
      '--unset',
      'retention.ms',
      '--config',
      'max.message.bytes=2000',
    ];
    expect((await done(alter)).split('\n')).toHaveLength(7);
    const [described] = (await json(['topics', 'describe', 'fresh'])) as [
      { config: { name: string; value: string }[] },
    ];
    const changed = described.config.filter(({ name }) =>
      ['retention.ms', 'max.message.bytes'].includes(name),
    );
    expect(changed.map(({ value }) => value).sort()).toEqual(['2000', '604800000']);
    expect(await json(['topics', 'add-partitions', 'fresh', '3'])).toMatchObject([{ partitions: 3 }]);
    expect((await done(['topics', 'add-partitions', 'fresh', '4'])).split('\n')).toHaveLength(3);
    expect(await done(['topics', 'delete', 'fresh'])).toBe('fresh is deleted\n');
    expect(await json(['topics', 'list', '--search', 'fresh'])).toEqual([]);
  });

  it.each([
    [['topics', 'describe', 'nothing'], 1, /there is no topic nothing/],
    [['topics', 'create', 'a/b'], 2, /a topic name consists of/],
    [['topics', 'alter', 'nothing'], 2, /nothing to change/],
    [['topics', 'create', 'b', '--partitions', 'two'], 2, /whole number/],
    [['topics', 'create', 'b', '--config', 'retention'], 2, /name=value/],
    [['topics', 'list', '--admin', 'http://127.0.0.1:1'], 3, /cannot be reached/],
  ] as const)('%j: exit %i, said on stderr', async (argv, expected, message) => {
    const { exitCode, out, err } = await run(argv);
    expect([exitCode, out]).toEqual([expected, '']);
    expect(err).toMatch(message);
  });
});

describe('produce and consume', () => {
  const lines = (text: string): { value: unknown; partition: number; offset: number }[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));

  beforeAll(async () => {
    await done(['topics', 'create', 'log', '--partitions', '2']);
    await done(['produce', 'log', '--partition', '0'], 'one\ntwo\nthree\n');
    await done(['produce', 'log', '--partition', '1', '--key', 'k', '--header', 'h=1'], 'four');
  });

  it('says how many, and where they went', async () => {
    const [said] = await json(['produce', 'other', '--output', 'json']);
    expect(said).toEqual({ topic: 'other', records: 0, partitions: [] });
    expect(await done(['produce', 'other'], 'a\nb\n')).toBe('2 records\n');
  });

  it('names the line that is wrong', async () => {
    const { exitCode, err } = await run(['produce', 'other', '--json'], '\n{"value":"a"}\n{"value":');
    expect([exitCode, err]).toEqual([1, expect.stringMatching(/^after 1 record: line 3: is not JSON/)]);
  });

  it.each([
    [['log'], ['one', 'two', 'three', 'four']],
    [
      ['log', 'start:end'],
      ['one', 'two', 'three', 'four'],
    ],
    [['log', 'end'], []],
    [
      ['log', '-1'],
      ['three', 'four'],
    ],
    [['log:0', '1:2'], ['two']],
    [
      ['log:0', '1'],
      ['two', 'three'],
    ],
    [
      ['log:0', 'start:+2'],
      ['one', 'two'],
    ],
    [
      ['log:0', '@2020-01-01T00:00:00Z:end'],
      ['one', 'two', 'three'],
    ],
    [['log', '@2020-01-01:@2020-01-02'], []],
    [['log', '--match', 'k'], ['four']],
    [['log', '--contains', 'hre'], ['three']],
    [['log:0', '--limit', '1'], ['one']],
  ] as const)('consume %j', async (argv, expected) => {
    const values = lines(await done(['consume', ...argv])).map(({ value }) => value);
    expect(values.sort()).toEqual([...expected].sort());
  });

  it('shows bytes as they are asked for', async () => {
    const [record] = lines(await done(['consume', 'log:1', '--key', 'hex', '--value', 'base64']));
    expect(record).toMatchObject({
      key: '6b',
      keyEncoding: 'hex',
      value: 'Zm91cg==',
      valueEncoding: 'base64',
    });
    expect(await done(['consume', 'log:1', '--format', '%t:%p:%o %k=%v %h%%'])).toBe('log:1:0 k=four h=1%\n');
  });

  it('keeps integers of 64 bits, and what it prints can be sent again', async () => {
    await done(['produce', 'numbers'], '{"n":9007199254740993}\n');
    const printed = await done(['consume', 'numbers', '--value', 'json']);
    expect(printed).toContain('"value":{"n":9007199254740993}');
    expect(await done(['produce', 'copy', '--json'], printed)).toBe('1 record\n');
    expect(await done(['consume', 'copy', '--format', '%v'])).toBe('{"n":9007199254740993}\n');
  });

  it('goes on where a group is, and commits what was printed', async () => {
    expect(lines(await done(['consume', 'log', '--group', 'readers', '--limit', '2']))).toHaveLength(2);
    expect(lines(await done(['consume', 'log', '--group', 'readers'])).map(({ value }) => value)).toEqual([
      'three',
      'four',
    ]);
    expect(await done(['consume', 'log', '--group', 'readers'])).toBe('');
    const [group] = (await json(['groups', 'describe', 'readers'])) as [{ partitions: { lag: number }[] }];
    expect(group.partitions.map(({ lag }) => lag)).toEqual([0, 0]);
  });

  it('follows what comes', async () => {
    const following = run(['consume', 'log:0', '2', '--follow', '--limit', '2']);
    await done(['produce', 'log', '--partition', '0'], 'later\n');
    expect(lines((await following).out).map(({ value }) => value)).toEqual(['three', 'later']);
  });

  it('ends quietly when nobody reads on', async () => {
    const { exitCode, out, err } = await run(['consume', 'log:0'], '', 1);
    expect([exitCode, lines(out).length, err]).toEqual([0, 1, '']);
  });

  it.each([
    [['consume', 'nothing'], 1, /there is no topic nothing/],
    [['consume', 'log:9'], 1, /no partition 9/],
    [['consume', 'log', 'a:b:c'], 2, /It must be from:to/],
    [
      ['consume', 'log', 'noon'],
      2,
      /^range: "noon" is no time \(one of start, end, [^;()]*\(an offset\)[^;]*\)$/m,
    ],
    [['consume', 'log', '--value', 'xml'], 2, /Allowed choices/],
    [['consume', 'log', '--follow', '--group', 'g'], 2, /leave out --follow/],
    [['produce', 'log', '--json'], 0, /^$/],
    [['offsets', 'log', '--at', '1764000000'], 2, /seconds/],
    [['offsets', 'log', '--at', 'noon'], 2, /^at: "noon" is no time \(one of earliest, [^;]*\)$/m],
  ] as const)('%j: exit %i', async (argv, expected, message) => {
    const { exitCode, err } = await run(argv);
    expect(exitCode).toBe(expected);
    expect(err).toMatch(message);
  });

  it('produce --json says which line is no record', async () => {
    const { exitCode, err } = await run(['produce', 'log', '--json'], '{"value":"a"}\n{"valeu":"b"}\n');
    expect(exitCode).toBe(1);
    expect(err).toMatch(/^line 2: .*valeu/);
  });

  it('offsets: ends and times of each partition', async () => {
    expect(
      await done(['offsets', 'log:'.slice(0, 3), '--at', 'earliest,max-timestamp', '--partition', '1']),
    ).toMatch(/^PARTITION +START +END .*EARLIEST +MAX-TIMESTAMP\n1 +0 +1 /);
  });
});

describe('groups', () => {
  it('are listed, reset and deleted', async () => {
    await done(['topics', 'create', 'read', '--partitions', '1']);
    await done(['produce', 'read'], 'a\nb\nc\n');
    await admin.commit('g', 'read', 0, 2);
    expect(await done(['groups', 'list'])).toMatch(/^GROUP +STATE[\s\S]*\ng +empty +0/);
    expect(await done(['groups', 'reset', 'g', '--to', 'shift:-1', '--dry-run'])).toMatch(
      /WOULD BE\nread +0 +2 +1\n$/,
    );
    expect(await done(['groups', 'reset', 'g', '--to', 'earliest', '--topic', 'read'])).toMatch(
      /AFTER\nread +0 +2 +0\n$/,
    );
    expect(await done(['groups', 'describe', 'g'])).toMatch(/\nread +0 +0 +3 +3 +/);
    expect(await done(['groups', 'delete', 'g'])).toBe('g is deleted\n');
    expect((await run(['groups', 'describe', 'g'])).err).toMatch(/there is no group g/);
    expect((await run(['groups', 'reset', 'g', '--to', 'noon'])).exitCode).toBe(2);
    expect((await run(['groups', 'reset', 'g'])).exitCode).toBe(2);
  });
});

describe('MQTT', () => {
  it('lists are empty without clients', async () => {
    for (const noun of ['clients', 'sessions', 'retained']) {
      expect(await json([noun, 'list'])).toEqual([]);
      expect((await done([noun, 'list'])).split('\n')).toHaveLength(2);
    }
  });

  it.each([
    [['clients', 'show', 'nobody'], /nobody/],
    [['clients', 'kick', 'nobody'], /nobody/],
    [['sessions', 'show', 'nobody'], /nobody/],
    [['sessions', 'delete', 'nobody'], /nobody/],
    [['retained', 'clear', 'a/#/b'], /filter/],
  ] as const)('%j: said on stderr', async (argv, message) => {
    const { exitCode, err } = await run(argv);
    // What is not there is a failure; what is no filter is wrong usage.
    expect(exitCode).toBe(argv[2] === 'nobody' ? 1 : 2);
    expect(err).toMatch(message);
  });

  it('retained messages are listed and cleared', async () => {
    const body = { topic: 'plant/7/temp', payload: '21', retain: true, qos: 1 };
    await admin.call({ method: 'POST', path: '/api/v1/mqtt/publish', body });
    expect(await json(['retained', 'list', 'plant/#'])).toMatchObject([
      { topic: 'plant/7/temp', value: '21' },
    ]);
    expect(await done(['retained', 'clear', 'plant/#'])).toBe('1 cleared\n');
  });

  it('rules: which, and what they make of a name', async () => {
    expect(await done(['mapping', 'list'])).toMatch(/plant\/\{site\}\/# +plant-\{site\}/);
    expect(await json(['mapping', 'resolve', 'plant/7/temp'])).toMatchObject([
      { topic: 'plant-7', key: 'plant/7/temp' },
    ]);
    expect(await json(['mapping', 'resolve', 'plant/+/#'])).toMatchObject([{ asked: 'filter' }]);
    expect(await json(['mapping', 'resolve', 'x', '--record', '--key', 'x/y'])).toMatchObject([
      { mqttTopic: 'x/y' },
    ]);
  });
});

describe('sub and pub', () => {
  const url = (): string => {
    const listener = admin.broker.listeners().find(({ protocol }) => protocol === 'mqtt');
    return `mqtt://127.0.0.1:${listener?.port}`;
  };

  it('what one publishes the other prints, history first', async () => {
    const pub = (...argv: string[]) => done(['pub', '--url', url(), '--qos', '1', ...argv]);
    await pub('rooms/1', '-m', 'cold');
    await pub('rooms/1', '-m', 'warm', '--retain', '--property', 'unit=none');
    const subscribed = ['sub', '--url', url(), 'rooms/#', '--from', 'earliest', '--count', '2', '--new-only'];
    expect(await done(subscribed)).toBe('rooms/1 cold\nrooms/1 warm\n');
    const retained = await done(['sub', '--url', url(), 'rooms/#', '--count', '1', '--output', 'json']);
    expect(JSON.parse(retained)).toEqual({
      ...{ topic: 'rooms/1', payload: 'warm', payloadEncoding: 'utf8', qos: 0, retain: true },
      userProperties: { unit: 'none' },
    });
  });

  it('goes over WebSocket too, and is counted as that', async () => {
    const listener = admin.broker.listeners().find(({ protocol }) => protocol === 'mqtt-ws');
    await done(['pub', '--url', `ws://127.0.0.1:${listener?.port}/mqtt`, '--qos', '1', 'web/1', '-m', 'x']);
    const { text } = await admin.call('/metrics');
    const counted = (protocol: string) =>
      Number(
        new RegExp(
          `^polylog_connections_total\\{protocol="${protocol}",result="accepted"\\} (\\d+)$`,
          'm',
        ).exec(text)?.[1],
      );
    expect(counted('mqtt-ws')).toBe(1);
    expect(counted('http')).toBeGreaterThan(0);
  });

  it('takes a message a line, or all of the input', async () => {
    const pub = ['pub', '--url', url(), '--qos', '2', 'lines/in'];
    await done([...pub, '--lines'], 'a\nb');
    await done(pub, 'c\nd');
    const printed = await done([
      'sub',
      '--url',
      url(),
      'lines/#',
      '--qos',
      '2',
      '--from',
      'earliest',
      '--count',
      '3',
    ]);
    expect(printed).toBe('lines/in a\nlines/in b\nlines/in c\nd\n');
  });

  it.each([
    [['sub', 'a/#/b'], 2, /a\/#\/b is no topic filter/],
    [['sub', '#', '--qos', '3'], 2, /0, 1 or 2/],
    [['sub', '#', '--count', '0'], 2, /1 or more/],
    [['sub', '#', '--from', 'somewhere'], 2, /the hub refuses: The history .*--from takes earliest/],
    [['pub', 'a/#', '-m', 'x'], 2, /no topic to publish to/],
    [['pub', 'a', '-m', 'x', '--url', 'ftp://x'], 2, /no URL/],
    [['pub', 'a', '-m', 'x', '--url', 'mqtt://127.0.0.1:1'], 3, /cannot be reached/],
    [['pub', 'a', '-m', 'x', '--property', 'nothing'], 2, /name=value/],
  ] as const)('%j: exit %i, said on stderr', async (argv, expected, message) => {
    const { exitCode, out, err } = await run(
      argv.includes('--url' as never) ? argv : [...argv, '--url', url()],
    );
    expect([exitCode, out]).toEqual([expected, '']);
    expect(err).toMatch(message);
  });
});

it('health: exit code 0 when it serves', async () => {
  expect(await done(['health'])).toBe('ready\n');
  expect((await run(['health', '--admin', 'http://127.0.0.1:1'])).exitCode).toBe(3);
});

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('%s: has the commands and their options', async (shell) => {
    const script = await done(['completion', shell]);
    for (const word of ['topics', 'add-partitions', 'consume', shell === 'fish' ? '-l follow' : '--follow'])
      expect(script).toContain(word);
  });

  it('zsh: leaves its array of programs alone, of which it could make no text', async () => {
    const script = await done(['completion', 'zsh']);
    expect(script).not.toMatch(/\blocal\b[^\n]*\b(?:path|words)=/);
    // A pattern of nothing is a function to it.
    expect(script).not.toMatch(/^ *\(\) /m);
  });

  const isThere = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

  async function withScript<Result>(shell: string, use: (file: string) => Result): Promise<Result> {
    const directory = temporaryDirectory();
    const file = path.join(directory.path, `polylog.${shell}`);
    writeFileSync(file, await done(['completion', shell]));
    try {
      return use(file);
    } finally {
      directory.remove();
    }
  }

  it.skipIf(!isThere('zsh'))('zsh can read it (needs zsh)', async () => {
    const read = (file: string) => spawnSync('zsh', ['-f', '-n', file], { encoding: 'utf8' });
    const { status, stderr } = await withScript('zsh', read);
    expect([status, stderr]).toEqual([0, '']);
  });

  it.skipIf(!isThere('fish'))('fish completes verbs and values with it (needs fish)', async () => {
    const asked = "complete -C 'polylog sessions '; complete -C 'polylog topics list --output '";
    const { stdout } = await withScript('fish', (file) =>
      spawnSync('fish', ['--no-config', '-c', `source ${file}; ${asked}`], { encoding: 'utf8' }),
    );
    expect(stdout.split('\n')).toEqual(['delete', 'list', 'show', 'json', 'table', '']);
  });

  it('bash completes with it', async () => {
    const said = await withScript('bash', (file) => {
      const asked = `source ${file}; COMP_WORDS=(polylog topics a); COMP_CWORD=2; _polylog; echo "\${COMPREPLY[*]}"`;
      return execFileSync('bash', ['-c', asked], { encoding: 'utf8' });
    });
    expect(said.trim().split(' ').sort()).toEqual(['add-partitions', 'alter']);
  });
});
