// The list of events is that of the sources: none is missing, none is stale; and the README shows it.
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { EVENTS, eventTable, LOGGERS, loggerOf } from '../../../src/log/events.ts';

/** Calls of a log whose event is a text: `log.warn('x', …)`, over two lines too. */
const LOGGED = /\b#?log\??\.(?:debug|info|warn|error|fatal)\(\s*'([^']+)'/g;
/** Where the event goes through a function or a table first. */
const ELSEWHERE: Readonly<Record<string, RegExp>> = {
  'protocols/kafka/connection.ts': /this\.#log\('([^']+)'/g,
  'protocols/mqtt/transports/listener.ts': /this\.#refuse\(socket, '([^']+)'/g,
  'src/hub/topic-directory.ts': /: '(topic-[a-z-]+)'/g,
  'src/log/hub-log.ts': /(?:this\.info\(|fields \}, )'([^']+)'/g,
};
/** Calls whose event is not a text: each must be one of those above. */
const INDIRECT = /\b#?log\??\.(?:debug|info|warn|error|fatal)\(\s*(?!')[^)\s]/;

const sources = ['src', 'protocols', 'storage'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({
      path: `${folder}/${name}`,
      text: readFileSync(`${folder}/${name}`, 'utf8').replace(/^\s*\/\/.*$/gm, ''),
    })),
);

function loggedEvents(): Set<string> {
  const events = sources.flatMap(({ path, text }) => {
    const patterns = [LOGGED, ...(ELSEWHERE[path] === undefined ? [] : [ELSEWHERE[path]])];
    return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1]!));
  });
  return new Set(events);
}

it('every event of the sources is listed, and no other', () => {
  const listed = LOGGERS.flatMap((logger) => Object.keys(EVENTS[logger]));
  expect([...loggedEvents()].sort()).toEqual([...listed].sort());
  expect(new Set(listed).size).toBe(listed.length);
});

it('an event that is not a text goes one of the known ways', () => {
  const indirect = sources.filter(({ text }) => INDIRECT.test(text)).map(({ path }) => path);
  expect(indirect.filter((path) => ELSEWHERE[path] === undefined)).toEqual([]);
});

it('an event belongs to its logger; one that nobody knows to the hub', () => {
  expect([loggerOf('mqtt-connected'), loggerOf('log.tail-cut'), loggerOf('who-knows')]).toEqual([
    'mqtt',
    'storage',
    'hub',
  ]);
});

it('the README has the table of all events', async () => {
  const readme = await readFile('src/log/README.md', 'utf8');
  const table = /<!-- events -->\s([\s\S]*?)\s<!-- \/events -->/.exec(readme)?.[1];
  const plain = (text: string | undefined) => text?.replace(/ +/g, ' ').replace(/-{3,}/g, '---').trim();
  expect(plain(table)).toBe(plain(eventTable()));
});
