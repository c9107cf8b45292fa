// What systemd is told, by a program of its name that writes down what it is called with.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { supervisor, watchdogMs } from '../../../src/cli/systemd.ts';
import { temporaryDirectory } from '../../helpers/hub-process.ts';

const directory = temporaryDirectory();
const told = path.join(directory.path, 'told');
const program = path.join(directory.path, 'systemd-notify');
writeFileSync(program, `#!/bin/sh\necho "$@" >> ${told}\n`);
chmodSync(program, 0o755);
vi.stubEnv('PATH', `${directory.path}:${process.env['PATH']}`);
afterEach(() => writeFileSync(told, ''));

const lines = (): string[] => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []);

it('says that the hub is ready, that it lives, and that it stops', async () => {
  const watching = supervisor({ NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '20000' }, { warn: () => undefined });
  watching.ready();
  await vi.waitFor(() => expect(lines()).toContain('WATCHDOG=1'), { timeout: 10_000 });
  expect(lines()).toContain('READY=1 STATUS=serving');
  watching.stopping();
  await vi.waitFor(() => expect(lines()).toContain('STOPPING=1 STATUS=stopping'), { timeout: 10_000 });
});

it('says nothing where nobody listens', () => {
  const warn = vi.fn();
  const watching = supervisor({}, { warn });
  watching.ready();
  watching.stopping();
  expect(warn).not.toHaveBeenCalled();
});

it.each([
  [{ WATCHDOG_USEC: '30000000' }, 15_000],
  [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: String(process.pid) }, 15_000],
  [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '1' }, undefined],
  [{}, undefined],
  [{ WATCHDOG_USEC: 'soon' }, undefined],
])('watchdog of %j: %s ms', (environment, expected) => {
  expect(watchdogMs(environment)).toBe(expected);
});
