// Go's clients: franz-go, sarama and kafka-go, a program each under clients/go. They are built once into
// node_modules/.cache, and again when their sources have changed.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Child, isInstalled, run } from '../helpers/child.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { COMMON_STEPS, checkClientProgram } from './client-program.ts';

const sources = join(import.meta.dirname, 'clients', 'go');
const cache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'polylog');

const CONFIG_STEPS = ['described configs', 'altered configs'] as const;

const programs: readonly { client: string; does: readonly string[] }[] = [
  { client: 'franz-go', does: [...CONFIG_STEPS, 'produced idempotently', 'produced without idempotence'] },
  { client: 'sarama', does: [...CONFIG_STEPS, 'produced idempotently'] },
  // It has no idempotent producer.
  { client: 'kafka-go', does: CONFIG_STEPS },
];

/** Undefined when the programs are built, else why not. */
export async function prepareGo(): Promise<string | undefined> {
  if (!(await isInstalled('go'))) return 'go is not installed';
  const directory = builtDirectory();
  if (existsSync(directory)) return undefined;
  const partial = `${directory}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const build = ['build', '-o', partial, './...'];
  const built = new Child('go', build, { workingDirectory: sources, timeoutMs: 600_000 });
  const { code, stdout, stderr } = await built.finished;
  if (code !== 0) return `go build failed: ${`${stdout}${stderr}`.trim().split('\n').at(-1) ?? ''}`;
  renameSync(partial, directory);
  return undefined;
}

/** A program of clients/go, once it is built. */
export const goProgram = (name: string): string => join(builtDirectory(), name);

/** One for each state of the sources. */
function builtDirectory(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort()) {
    if (/\.(go|mod|sum)$/.test(name)) hash.update(name).update(readFileSync(join(sources, name)));
  }
  return join(cache, `go-${hash.digest('hex').slice(0, 16)}`);
}

export const goClients: readonly InteropCase[] = programs.map(({ client, does }) => ({
  name: `${client}: topics and their configs, records of each codec, a group and its rebalance, offsets by time`,
  needs: ['go'],
  async run({ kafkaPort }) {
    const topic = freshTopic(client);
    const output = (await run(goProgram(client), [`${kafkaPort}`, topic])).toString();
    await checkClientProgram(kafkaPort, topic, output, [...COMMON_STEPS, ...does]);
  },
}));
