// Who watches over a hub, by their own programs: systemd's verdict on the unit and what it would be told, Prometheus's on
// the alert rules and on the metrics.
import { equal, ok } from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, run } from '../helpers/child.ts';
import { hubConfigText, temporaryDirectory } from '../helpers/hub-process.ts';
import type { InteropCase } from './case.ts';

const repository = join(import.meta.dirname, '..', '..');
const deploy = join(repository, 'config', 'deploy');

const alertRules: InteropCase = {
  name: 'promtool check rules: the alert rules that are shipped',
  needs: ['promtool'],
  async run() {
    return (await run('promtool', ['check', 'rules', join(deploy, 'alerts.yml')]))
      .toString()
      .trim()
      .split('\n')
      .at(-1);
  },
};

/** What promtool would name otherwise, and prom-client names so. */
const OF_OTHERS = /^(?:nodejs_|process_)/;

const metrics: InteropCase = {
  name: 'promtool check metrics: what a running hub gives',
  needs: ['promtool'],
  async run(hub) {
    const text = await (await fetch(`${hub.adminUrl}/metrics`)).text();
    ok(text.includes('polylog_build_info'));
    const { code, stdout, stderr } = await new Child('promtool', ['check', 'metrics'], { input: text })
      .finished;
    const complaints = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line !== '' && !OF_OTHERS.test(line));
    equal(complaints.join('\n'), '');
    // 3: it would have names otherwise; anything else is text that it cannot read.
    ok(code === 0 || code === 3, `exit ${code}`);
  },
};

const unit: InteropCase = {
  name: 'systemd-analyze verify: the unit',
  needs: ['systemd-analyze'],
  async run() {
    const directory = temporaryDirectory();
    try {
      // It looks for the programs, which are not installed here.
      const text = readFileSync(join(deploy, 'polylog.service'), 'utf8');
      const file = join(directory.path, 'polylog.service');
      writeFileSync(file, text.replaceAll('/opt/polylog/node_modules/.bin/polylog', '/bin/true'));
      const { code, stdout, stderr } = await new Child('systemd-analyze', ['verify', '--man=no', file])
        .finished;
      // Of other units of this machine it may say more.
      const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('polylog'));
      equal(said.join('\n'), '');
      equal(code, 0, `${stdout}${stderr}`);
    } finally {
      directory.remove();
    }
  },
};

/** Writes down what is told, a datagram a line; what comes with it (systemd-notify's barrier) is closed unread. */
const LISTENER = `
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print('listening', flush=True)
while True:
    print(listener.recv(4096).decode().replace('\\n', ' '), flush=True)
`;

const notified: InteropCase = {
  name: 'systemd-notify: READY, WATCHDOG and STOPPING arrive at the socket that systemd would have',
  needs: ['systemd-notify', 'python3'],
  async run() {
    const directory = temporaryDirectory();
    const socket = join(directory.path, 'notify');
    const config = join(directory.path, 'polylog.toml');
    writeFileSync(config, hubConfigText(join(directory.path, 'data')));
    const listener = new Child('python3', ['-c', LISTENER, socket]);
    try {
      await listener.waitFor(/^listening$/m);
      const hub = new Child(
        process.execPath,
        [join(repository, 'dist/command/main.cjs'), 'start', '--config', config],
        { environment: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '500000' } },
      );
      await listener.waitFor(/READY=1[\s\S]*WATCHDOG=1/);
      hub.kill('SIGTERM');
      await listener.waitFor(/STOPPING=1/);
      equal((await hub.finished).code, 0);
    } finally {
      listener.kill('SIGKILL');
      await listener.finished;
      directory.remove();
    }
  },
};

export const supervisionCases: readonly InteropCase[] = [alertRules, metrics, unit, notified];
