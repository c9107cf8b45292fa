// The log: form of a line, levels, what a storm of repeats leaves, what an error shows.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type HubLog, openLog } from '../../../src/log/hub-log.ts';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'],
    now: Date.UTC(2026, 8, 1),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

async function open(format: 'text' | 'json', level: 'debug' | 'info' | 'warn' | 'error' = 'info') {
  const lines: string[] = [];
  const output = { write: (line: string) => lines.push(line) };
  const log = await openLog({ format, level, output });
  const events = () => lines.map((line): Record<string, unknown> => JSON.parse(line));
  return { log, lines, events };
}

describe('a line', () => {
  it('is one JSON object: level, ISO time, fields, event', async () => {
    const { log, lines } = await open('json');
    log.info('topic-created', { topic: 'a\nb', partitions: 3 });
    expect(lines).toEqual([
      '{"level":"info","time":"2026-09-01T00:00:00.000Z","topic":"a\\nb","partitions":3,"event":"topic-created"}\n',
    ]);
  });

  it('is one line of text, whatever a client put into its fields', async () => {
    const { log, lines } = await open('text');
    log.warn('refused', { clientId: 'x\r\nWARN: forged\u001b[31m\u009b31m' });
    log.info('started');
    expect(lines).toEqual([
      '[2026-09-01T00:00:00.000Z] WARN: refused {"clientId":"x\\r\\nWARN: forged\\u001b[31m\\u009b31m"}\n',
      '[2026-09-01T00:00:00.000Z] INFO: started\n',
    ]);
  });

  it('is not written below the level', async () => {
    const { log, events } = await open('json', 'warn');
    for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const) log[level](level);
    expect(events().map(({ event }) => event)).toEqual(['warn', 'error', 'fatal']);
  });

  it('shows an error with its code and cause', async () => {
    const { log, events } = await open('json');
    const cause = Object.assign(new Error('disk'), { code: 'EIO' });
    log.error('append-failed', { error: new Error('no', { cause }) });
    expect(events()[0]).toMatchObject({
      error: { message: 'no', stack: expect.any(String), cause: { code: 'EIO' } },
    });
  });
});

describe('repeats', () => {
  const storm = (log: HubLog, count: number, event = 'refused') => {
    for (let number = 0; number < count; number++) log.warn(event, { number });
  };

  it('are counted past the tenth, and told at the end of the window though nothing more is logged', async () => {
    const { log, events } = await open('json');
    storm(log, 1000);
    expect(events()).toHaveLength(10);
    vi.advanceTimersByTime(10_000);
    expect(events()).toHaveLength(11);
    expect(events()[10]).toMatchObject({
      event: 'repeats-left-out',
      repeated: 'refused',
      count: 990,
      last: { number: 999 },
    });
    storm(log, 1);
    expect(events()[11]).toMatchObject({ event: 'refused' });
  });

  it('of one event do not hide another', async () => {
    const { log, events } = await open('json');
    storm(log, 100);
    log.error('disk-full');
    expect(events().at(-1)).toMatchObject({ event: 'disk-full' });
  });

  it('are told when the log is closed, and before the last words', async () => {
    const first = await open('json');
    storm(first.log, 11);
    first.log.close();
    expect(first.events().at(-1)).toMatchObject({ count: 1 });
    const second = await open('json');
    storm(second.log, 12);
    second.log.fatal('crashed');
    expect(second.events().slice(-2)).toMatchObject([{ count: 2 }, { event: 'crashed' }]);
  });

  it('of what is no warning are all written', async () => {
    const { log, events } = await open('json', 'debug');
    for (let number = 0; number < 50; number++) log.debug('connected', { number });
    expect(events()).toHaveLength(50);
  });

  it('take bounded memory, however many names there are', async () => {
    const { log, events } = await open('json');
    for (let number = 0; number < 10_000; number++) log.warn(`event ${number}`);
    expect(events().length).toBeLessThan(300);
    log.close();
    expect(events().at(-1)).toMatchObject({ repeated: 'other events' });
  });
});
