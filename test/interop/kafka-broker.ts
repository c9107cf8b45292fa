// Apache Kafka's own broker, one node on a temporary directory: what the hub's answers are compared with. The jars
// come from Maven, once; a directory that already holds them can be named by POLYLOG_KAFKA_BROKER_LIBS.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, run } from '../helpers/child.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { cacheDirectory, type JarSet, javaArguments, prepareJars } from './java.ts';
import { freePort } from './own-hub.ts';

const jars: JarSet = {
  pom: join(import.meta.dirname, 'kafka-broker', 'pom.xml'),
  directory: process.env['POLYLOG_KAFKA_BROKER_LIBS'] ?? join(cacheDirectory, 'kafka-broker'),
};

/** Undefined when it can be started, else why not. */
export const prepareKafkaBroker = (): Promise<string | undefined> => prepareJars(jars);

export interface KafkaBroker {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Listens when it resolves; whether it is ready is for the client to see.
 * @param virtualMachine options of Java, in place of those for a machine that lives for seconds
 */
export async function startKafkaBroker(
  settings: Readonly<Record<string, string | number>>,
  virtualMachine?: readonly string[],
): Promise<KafkaBroker> {
  const directory = temporaryDirectory();
  const [port, controllerPort] = [await freePort(), await freePort()];
  const logs = join(directory.path, 'data');
  mkdirSync(logs);
  const properties = join(directory.path, 'server.properties');
  const lines = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'log.dirs': logs,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    ...settings,
  };
  writeFileSync(
    properties,
    Object.entries(lines)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const program = (className: string, ...args: string[]): string[] =>
    javaArguments([join(jars.directory, '*')], className, args, virtualMachine);
  const format = ['format', '-t', 'cG9seWxvZy1kaWZmZXJlbg', '-c', properties];
  await run('java', program('kafka.tools.StorageTool', ...format));
  const child = new Child(
    'java',
    ['-Dorg.slf4j.simpleLogger.log.kafka.server=info', ...program('kafka.Kafka', properties)],
    { timeoutMs: 3_600_000 },
  );
  await child.waitFor(/Transition from STARTING to STARTED/, 120_000);
  return {
    port,
    pid: child.pid,
    async stop() {
      // Its data is thrown away: nothing is gained by a clean end.
      child.kill('SIGKILL');
      await child.finished;
      directory.remove();
    },
  };
}
