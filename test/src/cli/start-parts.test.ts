// The parts of `polylog start` that need no hub: signals, the banner, the line for a start that failed.
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BannerFacts, banner } from '../../../src/cli/banner.ts';
import { listenForSignals } from '../../../src/cli/signals.ts';
import { startupProblem } from '../../../src/cli/startup-problem.ts';
import { BrokerError } from '../../../src/front-ends.ts';
import { StorageError } from '../../../storage/index.ts';

describe('signals', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function listen() {
    const source = new EventEmitter();
    const exits: number[] = [];
    const events: string[] = [];
    const log = { fatal: (event: string) => void events.push(event) };
    const first = listenForSignals({ source, exit: (code) => exits.push(code), log });
    return { source, exits, events, first };
  }

  it('the first asks for a stop', async () => {
    const { source, exits, first } = listen();
    source.emit('SIGTERM', 'SIGTERM');
    expect(await first).toBe('SIGTERM');
    expect(exits).toEqual([]);
  });

  it('the second ends the process at once', () => {
    const { source, exits, events } = listen();
    source.emit('SIGTERM', 'SIGTERM');
    source.emit('SIGINT', 'SIGINT');
    expect([exits, events]).toEqual([[1], ['stopped-at-once']]);
  });

  it('the echo of the first is not the second, but the same one later is', () => {
    const { source, exits } = listen();
    source.emit('SIGINT', 'SIGINT');
    vi.advanceTimersByTime(50);
    source.emit('SIGINT', 'SIGINT');
    expect(exits).toEqual([]);
    vi.advanceTimersByTime(1_000);
    source.emit('SIGINT', 'SIGINT');
    expect(exits).toEqual([1]);
  });

  it('a stop that hangs ends before 5 s', () => {
    const { source, exits, events } = listen();
    source.emit('SIGINT', 'SIGINT');
    vi.advanceTimersByTime(4_999);
    expect([exits, events]).toEqual([[1], ['stop-took-too-long']]);
  });
});

describe('a start that failed', () => {
  const nodeError = (code: string, message: string) => Object.assign(new Error(message), { code });

  it.each([
    ['EADDRINUSE', 'another program listens there already (stop it, or choose another port)'],
    ['EADDRNOTAVAIL', 'this machine has no such address'],
    ['EACCES', 'this user may not (ports below 1024 need a privilege)'],
    ['ENOTFOUND', 'the host name is not known'],
  ])('listening: %s', (code, words) => {
    const cause = nodeError(code, `listen ${code}: 127.0.0.1:9092`);
    const error = new BrokerError(
      'listen',
      `listener "kafka" cannot listen on 127.0.0.1:9092: ${cause.message}`,
      cause,
    );
    expect(startupProblem(error)).toEqual({
      line: `cannot start: listener "kafka" cannot listen on 127.0.0.1:9092: ${words}`,
      isExpected: true,
    });
  });

  it('the data directory of another process', () => {
    expect(startupProblem(new StorageError('locked', 'another process has /data open'))).toEqual({
      line: 'cannot start: another process has /data open',
      isExpected: true,
    });
  });

  it('a fault of ours keeps its stack', () => {
    expect(startupProblem(new TypeError('x is not a function\n  at y'))).toEqual({
      line: 'cannot start: x is not a function at y',
      isExpected: false,
    });
    expect(startupProblem(null).isExpected).toBe(false);
  });
});

describe('the banner', () => {
  const facts: BannerFacts = {
    version: '1.2.3',
    readyAfterMs: 321.4,
    configFile: 'my.toml',
    dataDirectory: '/srv/data',
    listeners: [
      { name: 'kafka', protocol: 'kafka', host: '127.0.0.1', port: 9092, connections: 0 },
      { name: 'mqtt', protocol: 'mqtt', host: '0.0.0.0', port: 1883, connections: 0 },
      { name: 'admin', protocol: 'http', host: '::1', port: 9640, connections: 0 },
    ],
    recovery: { durationMs: 12, partitions: 17, recoveredBytes: 0, cutBytes: 0, previousStopWasClean: true },
  };

  it('says where, what, how long, and how to try it', () => {
    expect(banner(facts)).toBe(`Polylog 1.2.3 is ready after 321 ms.

  kafka    127.0.0.1:9092        Kafka clients
  mqtt     0.0.0.0:1883          MQTT 3.1, 3.1.1 and 5 clients
  admin    [::1]:9640            admin HTTP

Data is in /srv/data; recovery took 12 ms (17 partitions, nothing to read again).
Configured by my.toml.

Try it, a terminal each:
  mosquitto_sub -h 127.0.0.1 -p 1883 -t '#' -v
  echo 'hello from Kafka' | kcat -P -b 127.0.0.1:9092 -t hello
  curl -s http://[::1]:9640/api/v1/topics/hello/offsets

Ctrl-C stops it.
`);
  });

  it('says what a crash cost', () => {
    const recovery = {
      durationMs: 12,
      partitions: 1,
      recoveredBytes: 5000,
      cutBytes: 17,
      previousStopWasClean: false,
    };
    expect(banner({ ...facts, recovery })).toContain(
      'recovery took 12 ms (1 partition, 5000 bytes read again, 17 bytes of torn batches cut).',
    );
  });

  it('offers nothing that does not listen', () => {
    expect(banner({ ...facts, listeners: facts.listeners.slice(2) })).not.toMatch(/kcat|mosquitto/);
  });
});
