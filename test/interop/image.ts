// The Dockerfile without a container: each stage is a folder, its COPY and RUN lines are carried out there in order, and what
// comes out is started, asked and stopped as an image would be, by a user who may write to its volume alone.
import { deepEqual, equal } from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { Child, run } from '../helpers/child.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import type { InteropCase } from './case.ts';
import { freePort } from './own-hub.ts';

const repository = join(import.meta.dirname, '..', '..');
const STEP_MS = 300_000;
/** Whoever owns nothing. */
const NOBODY = 65_534;
const LISTENERS = ['kafka-outside', 'kafka-inside', 'mqtt', 'mqtt-ws', 'admin'];

interface Stage {
  readonly name: string | undefined;
  /** What stands for `/`. */
  readonly root: string;
  workdir: string;
  readonly environment: Record<string, string>;
}

/** Instructions with their arguments, in order; lines that go on are one. */
function instructions(): [instruction: string, given: string][] {
  return readFileSync(join(repository, 'config/deploy/Dockerfile'), 'utf8')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => {
      const [, instruction, given] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return instruction === undefined || given === undefined ? [] : [[instruction, given]];
    });
}

const isRoot = process.getuid?.() === 0;

/** As the image's own user, where we can be another than ourselves. */
function asNobody(argv: readonly string[]): readonly string[] {
  const ids = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  return isRoot ? ['setpriv', ...ids, ...argv] : argv;
}

const image: InteropCase = {
  name: 'the Dockerfile: its lines in order, and what they make serves, is healthy and stops',
  needs: [],
  timeoutMs: 2 * STEP_MS,
  async run() {
    const directory = temporaryDirectory();
    chmodSync(directory.path, 0o755);
    try {
      const made = await build(directory.path);
      await serves(made.root, made.lines);
    } finally {
      directory.remove();
    }
  },
};

async function build(directory: string): Promise<{ root: string; lines: [string, string][] }> {
  const stages: Stage[] = [];
  const lines = instructions();
  for (const [instruction, given] of lines) {
    const stage = stages.at(-1);
    if (instruction === 'FROM') stages.push(stageOf(directory, given, stages.length));
    else if (stage === undefined) throw new Error(`${instruction} before FROM`);
    else await carryOut(instruction, given, stage, stages);
  }
  return { root: stages.at(-1)!.root, lines };
}

function stageOf(directory: string, given: string, index: number): Stage {
  const [, base, name] = /^(\S+)(?: AS (\S+))?$/.exec(given) ?? [];
  equal(base, 'node:20-bookworm-slim');
  const root = join(directory, `stage-${index}`);
  // What the base image has of what is written to.
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  return { name, root, workdir: '/', environment: {} };
}

async function carryOut(instruction: string, given: string, stage: Stage, stages: Stage[]): Promise<void> {
  const inside = (place: string, root = stage.root): string =>
    isAbsolute(place) ? join(root, place) : join(root, stage.workdir, place);
  switch (instruction) {
    case 'WORKDIR':
      stage.workdir = given;
      mkdirSync(inside('.'), { recursive: true });
      return;
    case 'ENV': {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(given) ?? [];
      stage.environment[name] = value;
      return;
    }
    case 'COPY': {
      const [, from, names = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(given) ?? [];
      const sources = names.split(' ');
      const target = sources.pop() ?? '';
      const other = stages.find(({ name }) => name !== undefined && name === from);
      for (const source of sources) {
        const place = other === undefined ? join(repository, source) : join(other.root, source);
        const to = target.endsWith('/') ? join(inside(target), source.split('/').at(-1)!) : inside(target);
        cpSync(place, to, { recursive: true, verbatimSymlinks: true });
      }
      return;
    }
    case 'RUN': {
      const owner = isRoot ? `${NOBODY}` : `${process.getuid?.()}`;
      const group = isRoot ? `${NOBODY}` : `${process.getgid?.()}`;
      const command = given
        .replace('-o node -g node', `-o ${owner} -g ${group}`)
        .replace(/(?<=\s)\/(?=(?:opt|usr|var)\/)/g, `${stage.root}/`);
      await run('/bin/sh', ['-c', command], {
        workingDirectory: inside('.'),
        environment: stage.environment,
        timeoutMs: STEP_MS,
      });
      return;
    }
    default:
  }
}

/** By the words of the image: entry point, command and health check. */
async function serves(root: string, lines: [string, string][]): Promise<void> {
  const given = (instruction: string): string => lines.find(([name]) => name === instruction)?.[1] ?? '';
  const entry = JSON.parse(given('ENTRYPOINT')) as string[];
  const command = (JSON.parse(given('CMD')) as string[]).map((word) =>
    isAbsolute(word) ? join(root, word) : word,
  );
  const health = JSON.parse(/CMD (\[.*\])$/.exec(given('HEALTHCHECK'))?.[1] ?? '[]') as string[];
  const volume = join(root, given('VOLUME'));
  const environment: Record<string, string> = {
    PATH: `${join(root, 'usr/local/bin')}:${process.env['PATH']}`,
    POLYLOG__SERVER__DATA_DIR: volume,
  };
  for (const name of LISTENERS) {
    const port = await freePort();
    environment[`POLYLOG__LISTENER__${name}__BIND`] = `127.0.0.1:${port}`;
    if (name === 'admin') environment['POLYLOG_ADMIN'] = `http://127.0.0.1:${port}`;
  }
  const [program = '', ...argv] = asNobody([...entry, ...command]);
  const hub = new Child(program, argv, { environment, workingDirectory: join(root, 'opt/polylog') });
  try {
    await hub.waitFor(/"event":"ready"/);
    const [check = '', ...checkArguments] = asNobody(health);
    equal((await run(check, checkArguments, { environment })).toString(), 'ready\n');
    if (isRoot) equal(statSync(join(volume, 'node.json')).uid, NOBODY);
    hub.kill(given('STOPSIGNAL') as NodeJS.Signals);
    equal((await hub.finished).code, 0);
    const shipped = [
      'dist',
      'node_modules',
      'config',
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
    ];
    deepEqual(
      shipped.filter((each) => !existsSync(join(root, 'opt/polylog', each))),
      [],
    );
  } finally {
    hub.kill('SIGKILL');
    await hub.finished;
  }
}

export const imageCases: readonly InteropCase[] = [image];
