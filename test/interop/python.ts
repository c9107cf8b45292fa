// Python with packages of PyPI, each set in a virtual environment of its own under node_modules/.cache.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Child, isInstalled, run } from '../helpers/child.ts';

interface Environment {
  readonly directory: string;
  readonly packages: readonly string[];
}

const cache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'polylog');

const msgpack: Environment = { directory: join(cache, 'python'), packages: ['msgpack==1.2.4'] };
const kafka: Environment = {
  directory: join(cache, 'python-kafka'),
  packages: [
    'kafka-python==3.0.12',
    'confluent-kafka==2.16.1',
    'aiokafka==0.14.0',
    // The codecs that kafka-python and aiokafka do not bring.
    'cramjam==2.14.0',
    'python-snappy==0.7.3',
    'lz4==4.4.5',
    'zstandard==0.25.0',
  ],
};

const mqtt: Environment = { directory: join(cache, 'python-mqtt'), packages: ['paho-mqtt==2.2.0'] };

/** Undefined when it can be used, else why not. */
export const preparePython = (): Promise<string | undefined> => prepare(msgpack);
export const preparePythonWithKafka = (): Promise<string | undefined> => prepare(kafka);
export const preparePythonWithMqtt = (): Promise<string | undefined> => prepare(mqtt);

/** What a script prints. Only the interpreter of an environment is used, which may be moved; its scripts may not. */
export const python = (script: string, args: readonly string[]): Promise<Buffer> =>
  run(interpreterOf(msgpack.directory), [script, ...args]);
export const pythonWithKafka = (script: string, args: readonly string[]): Promise<Buffer> =>
  run(interpreterOf(kafka.directory), [script, ...args]);

export const startPythonWithMqtt = (script: string, args: readonly string[], timeoutMs: number): Child =>
  new Child(interpreterOf(mqtt.directory), [script, ...args], { timeoutMs });

async function prepare({ directory, packages }: Environment): Promise<string | undefined> {
  if (!(await isInstalled('python3'))) return 'python3 is not installed';
  if (existsSync(directory)) return undefined;
  const partial = `${directory}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const made = await new Child('python3', ['-m', 'venv', partial]).finished;
  if (made.code !== 0) return `python3 -m venv failed: ${lastLine(made.stdout, made.stderr)}`;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  const installed = await new Child(interpreterOf(partial), pip, { timeoutMs: 300_000 }).finished;
  if (installed.code !== 0)
    return `pip could not install ${packages.join(', ')}: ${lastLine(installed.stdout, installed.stderr)}`;
  renameSync(partial, directory);
  return undefined;
}

function interpreterOf(directory: string): string {
  return join(directory, 'bin', 'python3');
}

function lastLine(stdout: Buffer, stderr: Buffer): string {
  return `${stdout}${stderr}`.trim().split('\n').at(-1) ?? '';
}
