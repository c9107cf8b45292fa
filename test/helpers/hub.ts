// The whole hub in the test's own process: every front end and the admin API, on free ports.
import { join } from 'node:path';
import type { Log } from '../../protocols/port.ts';
import { startAdmin } from '../../src/admin/start-admin.ts';
import { startBroker } from '../../src/broker.ts';
import { readConfig } from '../../src/config/load.ts';
import type { Broker } from '../../src/running-broker.ts';
import { hubConfigText } from './hub-process.ts';

export interface TestHub {
  readonly broker: Broker;
  readonly kafkaPort: number;
  readonly mqttPort: number;
  readonly adminPort: number;
  readonly adminUrl: string;
  /** What it logged, newest last: `level event {fields}`. */
  readonly logged: readonly string[];
  stop(): Promise<void>;
}

/** `directory` is there already; the data lies in its `data/`. `more` is further TOML. */
export async function startHub(directory: string, more = ''): Promise<TestHub> {
  const { config, issues } = readConfig(hubConfigText(join(directory, 'data'), more), {
    file: 'test.toml',
    environment: {},
    settings: [],
    workingDirectory: directory,
  });
  if (config === undefined)
    throw new Error(issues.map(({ key, message }) => `${key}: ${message}`).join('\n'));
  const logged: string[] = [];
  const log = keepingLog(logged);
  const broker = await startBroker(config.broker, log, {
    startAdmin: (target, listeners) => startAdmin({ target, listeners, version: 'test', log }),
  });
  const portOf = (name: string): number => broker.listeners().find((each) => each.name === name)?.port ?? -1;
  const adminPort = portOf('http');
  return {
    broker,
    kafkaPort: portOf('kafka'),
    mqttPort: portOf('mqtt'),
    adminPort,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    logged,
    stop: () => broker.stop(),
  };
}

function keepingLog(logged: string[]): Log {
  const at =
    (level: string) =>
    (event: string, fields: object = {}): void =>
      void logged.push(`${level} ${event} ${JSON.stringify(fields)}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
