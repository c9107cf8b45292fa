// Levels by logger, at run time: for good, for a time, and back.
import { describe, expect, it } from 'vitest';
import { type LevelName, LogLevels } from '../../../src/log/levels.ts';

function open(configured: 'debug' | 'info' | 'warn' | 'error' = 'info') {
  let now = 1_000;
  const timers = new Map<object, { atMs: number; callback: () => void }>();
  const told: string[] = [];
  const levels = new LogLevels(
    configured,
    {
      now: () => now,
      setTimer: (delayMs, callback) => {
        const timer = { cancel: () => void timers.delete(timer) };
        timers.set(timer, { atMs: now + delayMs, callback });
        return timer;
      },
    },
    ({ name, level, source }) => void told.push(`${name} ${level} ${source}`),
  );
  const advance = (ms: number) => {
    now += ms;
    for (const [timer, { atMs, callback }] of [...timers]) {
      if (atMs > now) continue;
      timers.delete(timer);
      callback();
    }
  };
  const view = (name: LevelName) => levels.view(name);
  return { levels, told, advance, view, timers };
}

describe('levels', () => {
  it('are those of the configuration, for every logger', () => {
    const { levels, view } = open('warn');
    expect(view('root')).toEqual({ name: 'root', level: 'warn', source: 'config', untilMs: undefined });
    expect(view('mqtt')).toEqual({ name: 'mqtt', level: 'warn', source: 'root', untilMs: undefined });
    expect([levels.mayWrite('info'), levels.mayWrite('warn')]).toEqual([false, true]);
  });

  it('are set for one logger, and the others stay', () => {
    const { levels } = open();
    levels.set('mqtt', 'debug');
    expect(levels.writes('mqtt', 'debug')).toBe(true);
    expect(levels.writes('kafka', 'debug')).toBe(false);
    expect(levels.mayWrite('debug')).toBe(true);
    levels.set('mqtt', undefined);
    expect(levels.mayWrite('debug')).toBe(false);
  });

  it('of root are those of every logger that has none of its own', () => {
    const { levels } = open();
    levels.set('kafka', 'error');
    levels.set('root', 'debug');
    expect(levels.writes('hub', 'debug')).toBe(true);
    expect(levels.writes('kafka', 'warn')).toBe(false);
  });

  it('go back by themselves after a time, to what was said for good', () => {
    const { levels, advance, told, view } = open();
    levels.set('storage', 'error');
    levels.set('storage', 'debug', 5_000);
    expect(view('storage')).toMatchObject({ level: 'debug', untilMs: 6_000 });
    advance(4_999);
    expect(levels.writes('storage', 'debug')).toBe(true);
    advance(1);
    expect(view('storage')).toEqual({
      ...{ name: 'storage', level: 'error', source: 'runtime', untilMs: undefined },
    });
    expect(told).toEqual(['storage error runtime', 'storage debug runtime', 'storage error runtime']);
  });

  it('that are set anew end the time of those before', () => {
    const { levels, advance, view, timers } = open();
    levels.set('root', 'debug', 1_000);
    levels.set('root', 'warn', 9_000);
    advance(1_000);
    expect(view('root').level).toBe('warn');
    levels.set('root', undefined);
    expect(view('root')).toMatchObject({ level: 'info', source: 'config' });
    expect(timers.size).toBe(0);
  });

  it('of the configuration change under what was said at run time', () => {
    const { levels, view } = open();
    levels.set('mqtt', 'debug');
    levels.configure('error');
    expect([view('mqtt').level, view('kafka').level]).toEqual(['debug', 'error']);
  });
});
