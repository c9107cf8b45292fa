// Java: jars that Maven fetches once into node_modules/.cache, the programs of clients/java and clients/java-mqtt, compiled
// there when their sources have changed, and virtual machines that run a class of either.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Child, type ChildOptions, isInstalled, run } from '../helpers/child.ts';

/** Jars as a pom names them. */
export interface JarSet {
  readonly pom: string;
  /** Where they lie, or will. */
  readonly directory: string;
}

export const cacheDirectory = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'polylog');

/** Programs of one folder and the jars of its pom. */
interface Programs {
  readonly sources: string;
  readonly jars: JarSet;
}

const programsOf = (folder: string, jarsDirectory: string): Programs => {
  const sources = join(import.meta.dirname, 'clients', folder);
  return { sources, jars: { pom: join(sources, 'pom.xml'), directory: jarsDirectory } };
};

/** Clients of Kafka, Streams and Connect. A directory that already holds the jars can be named by POLYLOG_JAVA_LIBS. */
const kafka = programsOf('java', process.env['POLYLOG_JAVA_LIBS'] ?? join(cacheDirectory, 'kafka-java'));
const mqtt = programsOf('java-mqtt', join(cacheDirectory, 'mqtt-java'));

/** Undefined when the jars are there, else why not. */
export async function prepareJars({ pom, directory }: JarSet): Promise<string | undefined> {
  if (!(await isInstalled('java'))) return 'java is not installed (a JDK 17 is needed)';
  if (existsSync(directory)) return undefined;
  if (!(await isInstalled('mvn'))) return `mvn is not installed, and ${directory} holds no jars`;
  const partial = `${directory}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const copy = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${partial}`];
  const { code, stdout, stderr } = await new Child('mvn', copy, { timeoutMs: 300_000 }).finished;
  if (code !== 0)
    return `Maven could not fetch the jars: ${`${stdout}${stderr}`.trim().split('\n')[0] ?? ''}`;
  renameSync(partial, directory);
  return undefined;
}

/** Undefined when the programs of clients/java are compiled, else why not. */
export const prepareJavaClients = (): Promise<string | undefined> => preparePrograms(kafka);
/** The same of clients/java-mqtt. */
export const prepareMqttJava = (): Promise<string | undefined> => preparePrograms(mqtt);

async function preparePrograms(programs: Programs): Promise<string | undefined> {
  const problem = await prepareJars(programs.jars);
  if (problem !== undefined) return problem;
  if (!(await isInstalled('javac'))) return 'javac is not installed (a JDK 17 is needed)';
  const directory = classDirectory(programs);
  if (existsSync(directory)) return undefined;
  const partial = `${directory}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const classPath = join(programs.jars.directory, '*');
  const files = javaFiles(programs).map((name) => join(programs.sources, name));
  const compile = ['-Xlint:all,-processing,-classfile', '-cp', classPath, '-d', partial, ...files];
  const { code, stdout, stderr } = await new Child('javac', compile, { timeoutMs: 120_000 }).finished;
  if (code !== 0) throw new Error(`javac failed:\n${stdout}${stderr}`);
  renameSync(partial, directory);
  return undefined;
}

function javaFiles({ sources }: Programs): string[] {
  return readdirSync(sources)
    .filter((name) => name.endsWith('.java'))
    .sort();
}

/** One for each state of the sources. */
function classDirectory(programs: Programs): string {
  const hash = createHash('sha256');
  for (const name of javaFiles(programs))
    hash.update(name).update(readFileSync(join(programs.sources, name)));
  return join(cacheDirectory, `java-${hash.digest('hex').slice(0, 16)}`);
}

/** The arguments of a virtual machine of its own for one command; what is logged goes to its standard error. */
export function javaArguments(
  classPath: readonly string[],
  className: string,
  args: readonly string[],
  // Compiling much costs more than it brings to a machine that lives for seconds.
  tuning: readonly string[] = ['-XX:TieredStopAtLevel=1', '-Xshare:auto', '-Xmx512m'],
): string[] {
  const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
  return [...tuning, logging, '-cp', classPath.join(delimiter), className, ...args];
}

const programArguments = (programs: Programs, className: string, args: readonly string[]): string[] =>
  javaArguments([classDirectory(programs), join(programs.jars.directory, '*')], className, args);

/** What a class of clients/java, or of its jars, prints. */
export const runJava = (
  className: string,
  args: readonly string[],
  options?: ChildOptions,
): Promise<Buffer> => run('java', programArguments(kafka, className, args), options);

export const startJava = (className: string, args: readonly string[], timeoutMs: number): Child =>
  new Child('java', programArguments(kafka, className, args), { timeoutMs });

/** A class of clients/java-mqtt. */
export const startMqttJava = (className: string, args: readonly string[], timeoutMs: number): Child =>
  new Child('java', programArguments(mqtt, className, args), { timeoutMs });
