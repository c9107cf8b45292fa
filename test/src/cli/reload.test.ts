// `polylog reload`: what took effect, what waits, what is wrong; and the exit code that says which.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { startReloadable } from '../reloadable-hub.ts';

const MQTT = '[[listener]]\nname = "mqtt"\nprotocol = "mqtt"\nbind = "127.0.0.1:0"\n';

async function reload(adminUrl: string, ...argv: string[]) {
  const said = { out: '', err: '' };
  const exitCode = await runCommandLine(['reload', ...argv], {
    out: (text) => {
      said.out += text;
    },
    outMuch: async () => true,
    err: (text) => {
      said.err += text;
    },
    environment: { POLYLOG_ADMIN: adminUrl },
    workingDirectory: '/',
  });
  return { exitCode, ...said };
}

it('tells the three lists, in words and as JSON', async () => {
  const hub = await startReloadable(MQTT);
  hub.write(`${MQTT}[mqtt]\nreceive_maximum = 5\n[storage]\ntail_cache_size = "1MiB"\n`);
  const told = await reload(hub.adminUrl);
  expect([told.exitCode, told.err]).toEqual([0, '']);
  expect(told.out).toMatch(
    /^applied:\n {2}mqtt.receive_maximum\nneeds a restart:\n {2}storage.tail_cache_size\nunchanged: \d+ keys\n$/,
  );
  const again = await reload(hub.adminUrl, '--output', 'json');
  expect(JSON.parse(again.out)).toMatchObject({
    ...{ ok: true, problems: [], applied: [], needsRestart: ['storage.tail_cache_size'] },
    unchanged: expect.arrayContaining(['mqtt.receive_maximum']),
  });
  hub.write(MQTT.replace('\n', '\nnmae = 1\n'));
  expect(await reload(hub.adminUrl)).toEqual({
    ...{ exitCode: 1, out: '' },
    err: 'polylog.toml:8: listener.mqtt.nmae: unknown key (did you mean name?)\nNothing has changed.\n',
  });
});

it('says what is in effect all the same when the disk fails half way', async () => {
  const hub = await startReloadable(MQTT);
  writeFileSync(path.join(hub.directory, 'data', 'topics', 'b'), '');
  hub.write(`${MQTT}[[topic]]\nname = "a"\n[[topic]]\nname = "b"\n`);
  const told = await reload(hub.adminUrl);
  expect([told.exitCode, told.out]).toEqual([1, '']);
  expect(told.err).toMatch(/^polylog.toml: \[\[topic\]\] "b": [^\n]*\nIn effect all the same: topic.a.\n$/);
});

it('says that no hub is there: exit 3', async () => {
  const told = await reload('http://127.0.0.1:1');
  expect([told.exitCode, told.out]).toEqual([3, '']);
  expect(told.err).toMatch(/^http:\/\/127.0.0.1:1 cannot be reached/);
});
