// A hub in this process that reads its file again, put together as `polylog start` does it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { startAdmin } from '../../src/admin/start-admin.ts';
import { startBroker } from '../../src/broker.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { loadConfig } from '../../src/config/load.ts';
import { formatIssue } from '../../src/config/sources.ts';
import { openLog } from '../../src/log/hub-log.ts';
import type { Broker } from '../../src/running-broker.ts';

export interface ReloadableHub {
  readonly broker: Broker;
  readonly adminUrl: string;
  readonly directory: string;
  /** Names of the events that the log has written. */
  readonly events: readonly string[];
  portOf(listener: string): number;
  write(text: string): void;
  /** Writes the file and reads it again: what is applied, or what is wrong. */
  reload(text: string): Promise<readonly string[]>;
}

/** The text is put behind a data directory and an admin listener. Closed when the test is over. */
export async function startReloadable(text: string): Promise<ReloadableHub> {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-reload-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const head = `[server]\ndata_dir = "data"\n[[listener]]\nname = "admin"\nprotocol = "http"\nbind = "127.0.0.1:0"\n`;
  const write = (next: string) => writeFileSync(path.join(directory, 'polylog.toml'), head + next);
  write(text);
  const options = { file: 'polylog.toml', environment: {}, settings: [], workingDirectory: directory };
  const { config, issues } = await loadConfig(options);
  if (config === undefined) throw new Error(issues.map(formatIssue).join('\n'));
  const events: string[] = [];
  const output = { write: (line: string) => void events.push(JSON.parse(line).event) };
  const log = await openLog({ ...config.log, format: 'json', output });
  const running: { broker?: Broker } = {};
  const configuration = new Configuration({
    ...{ loaded: config, options, log },
    apply: async (next, { level }) => {
      await running.broker?.reconfigure(next);
      log.levels.configure(level);
    },
  });
  const broker = await startBroker(config.broker, log, {
    startAdmin: (target, listeners) => {
      const operations = { configuration, levels: log.levels };
      return startAdmin({ target, listeners, version: '1.2.3', log, operations });
    },
  });
  running.broker = broker;
  onTestFinished(() => broker.stop());
  const portOf = (name: string) => broker.listeners().find((each) => each.name === name)?.port ?? -1;
  return {
    ...{ broker, directory, events, portOf, write },
    adminUrl: `http://127.0.0.1:${portOf('admin')}`,
    reload: async (next) => {
      write(next);
      const result = await configuration.reload();
      return result.issues === undefined ? result.applied : result.issues.map(formatIssue);
    },
  };
}
