// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations are full of them.
// The configuration of a hub that runs: read again, refused whole, or put into effect; and what is in effect, by whom.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { BrokerConfig } from '../../../src/config/broker-config.ts';
import { Configuration } from '../../../src/config/configuration.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { formatIssue, formatSource } from '../../../src/config/sources.ts';
import { TestLog } from '../hub/test-log.ts';
import { LISTENER } from './fixtures.ts';

async function open(text: string, environment: Record<string, string> = {}) {
  const workingDirectory = mkdtempSync(path.join(tmpdir(), 'polylog-configuration-'));
  onTestFinished(() => rmSync(workingDirectory, { recursive: true }));
  const write = (next: string) => writeFileSync(path.join(workingDirectory, 'polylog.toml'), next);
  write(text);
  const options = { file: 'polylog.toml', environment, settings: [], workingDirectory };
  const { config, issues } = await loadConfig(options);
  if (config === undefined) throw new Error(issues.map(formatIssue).join('\n'));
  const log = new TestLog();
  const applied: BrokerConfig[] = [];
  const faults: Error[] = [];
  const configuration = new Configuration({
    ...{ loaded: config, options, log },
    apply: async (broker) => {
      const fault = faults.pop();
      if (fault !== undefined) throw fault;
      applied.push(broker);
    },
  });
  const value = (key: string) => {
    const found = configuration.values().find((each) => each.key === key);
    return found && { ...found, source: formatSource(found.source) };
  };
  const reload = async () => {
    const { issues: problems, ...lists } = await configuration.reload();
    return problems === undefined ? { ...lists, unchanged: 0 } : problems.map(formatIssue);
  };
  return { configuration, write, reload, value, applied, faults, log, workingDirectory };
}

it('a file that is read again takes effect, and what waits is shown beside what is in effect', async () => {
  const hub = await open(`${LISTENER}[mqtt]\nreceive_maximum = 5\n`);
  hub.write(`${LISTENER}[mqtt]\nreceive_maximum = 6\n[server]\nnode_id = 9\n`);
  expect(await hub.reload()).toMatchObject({
    applied: ['mqtt.receive_maximum'],
    needsRestart: ['server.node_id'],
  });
  expect(hub.applied).toMatchObject([{ nodeId: 1, mqtt: { receiveMaximum: 6 } }]);
  expect(hub.value('mqtt.receive_maximum')).toMatchObject({ value: 6, source: 'polylog.toml:6' });
  expect(hub.value('server.node_id')).toMatchObject({ value: 1, source: 'default', pending: 9 });
  // Until a restart it is told again and again; what has taken effect is not.
  expect(await hub.reload()).toMatchObject({ applied: [], needsRestart: ['server.node_id'] });
  expect(hub.log.events('info')).toEqual(['config-reloaded', 'config-reloaded']);
  hub.write(`${LISTENER}[mqtt]\nreceive_maximum = 6\n`);
  expect(await hub.reload()).toMatchObject({ applied: [], needsRestart: [] });
  expect(hub.value('server.node_id')).not.toHaveProperty('pending');
  expect(hub.configuration.reloads).toEqual({ applied: 3, refused: 0 });
});

it('a file with anything wrong in it changes nothing, and says what', async () => {
  const hub = await open(LISTENER);
  hub.write(`${LISTENER}[mqtt]\nreceive_maximum = 6\nrecieve_maximum = 7\n`);
  expect(await hub.reload()).toEqual([
    'polylog.toml:7: mqtt.recieve_maximum: unknown key (did you mean receive_maximum?)',
  ]);
  rmSync(path.join(hub.workingDirectory, 'polylog.toml'));
  expect(await hub.reload()).toEqual(['polylog.toml: there is no such file']);
  expect(hub.applied).toEqual([]);
  expect(hub.value('mqtt.receive_maximum')).toMatchObject({ value: 1024, source: 'default' });
  expect(hub.log.events('error')).toEqual(['config-refused', 'config-refused']);
  expect(hub.configuration.reloads).toEqual({ applied: 0, refused: 2 });
});

it('what cannot be put into effect is a problem like others, and is tried again with the next reload', async () => {
  const hub = await open(LISTENER);
  hub.write(`${LISTENER}[mqtt]\nreceive_maximum = 6\n`);
  hub.faults.push(new Error('listener "x" cannot listen'));
  expect(await hub.reload()).toEqual(['polylog.toml: listener "x" cannot listen']);
  expect(hub.value('mqtt.receive_maximum')).toMatchObject({ value: 1024 });
  expect(await hub.reload()).toMatchObject({ applied: ['mqtt.receive_maximum'] });
});

it('reloads come one after another', async () => {
  const hub = await open(LISTENER);
  hub.write(`${LISTENER}[mqtt]\nreceive_maximum = 6\n`);
  const both = await Promise.all([hub.reload(), hub.reload()]);
  expect(both).toMatchObject([{ applied: ['mqtt.receive_maximum'] }, { applied: [] }]);
});

it('listeners that come and go have their keys, one that waits has those of before', async () => {
  const extra = '[[listener]]\nname = "b"\nprotocol = "mqtt"\nbind = "127.0.0.1:1"\n';
  const hub = await open(LISTENER);
  hub.write(LISTENER + extra);
  await hub.reload();
  expect(hub.value('listener.b.bind')).toMatchObject({ value: '127.0.0.1:1', source: 'polylog.toml:8' });
  hub.write(LISTENER + extra.replace(':1', ':2'));
  await hub.reload();
  expect(hub.value('listener.b.bind')).toMatchObject({ value: '127.0.0.1:1', pending: '127.0.0.1:2' });
  hub.write(LISTENER);
  await hub.reload();
  expect(hub.value('listener.b.bind')).toBeUndefined();
});

it('what declares a topic or a rule is told to the hub with its line', async () => {
  const environment = { POLYLOG__TOPIC__t__PARTITIONS: '4' };
  const hub = await open(`${LISTENER}[[topic]]\nname = "t"\n`, environment);
  hub.write(`${LISTENER}[[topic]]\nname = "t"\nconfig."retention.ms" = 1\n[[mapping]]\nmatch = "a/#"\n`);
  await hub.reload();
  expect(hub.applied[0]).toMatchObject({
    declaredTopics: [
      {
        ...{ name: 't', partitions: 4 },
        origin: {
          topic: 'polylog.toml:6',
          partitions: 'POLYLOG__TOPIC__t__PARTITIONS',
          config: { 'retention.ms': 'polylog.toml:7' },
        },
      },
    ],
    mqtt: { mappings: [{ match: 'a/#', declaredAt: 'polylog.toml:8' }] },
  });
});

it('another text is checked with the variables of the file in use, and with no others', async () => {
  const environment = { POLYLOG_RACK: 'a', DATABASE_PASSWORD: 'hunter2', POLYLOG__LOG__LEVEL: 'warn' };
  const { configuration } = await open(`${LISTENER}[server]\nrack = "\${POLYLOG_RACK}"\n`, environment);
  const check = (text: string) => configuration.check(text).issues?.map(formatIssue);
  expect(check(`${LISTENER}[server]\nrack = "\${POLYLOG_RACK}"\n`)).toBeUndefined();
  expect(configuration.check(`${LISTENER}[server]\nrack = "x"\n`)).toMatchObject({
    ...{ applied: [], needsRestart: ['server.rack'] },
  });
  const told = check(`${LISTENER}[mqtt]\nreceive_maximum = "\${DATABASE_PASSWORD}"\n`);
  expect(told).toEqual([
    'polylog.toml:6: mqtt.receive_maximum: environment variable DATABASE_PASSWORD is not set (set it or write "${DATABASE_PASSWORD:default}")',
  ]);
});
