// What comes by the standard input, and an interrupt while it comes.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Progress } from '../../../src/cli/progress.ts';
import type { Surroundings } from '../../../src/cli/surroundings.ts';
import { textLines } from '../../../src/cli/text-lines.ts';

type Input = Pick<Surroundings, 'input' | 'interrupted'>;

async function linesOf(given: Input): Promise<(readonly string[])[]> {
  const all: (readonly string[])[] = [];
  // Nothing else is looked at.
  for await (const lines of textLines(given as Surroundings)) all.push(lines);
  return all;
}

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text, 'latin1');
}

it.each([
  [['a\nb\n'], [['a', 'b']]],
  [['a\r\nb\r\n'], [['a', 'b']]],
  [
    ['a\r', '\nb'],
    [['a'], ['b']],
  ],
  [
    ['a', 'b\n\n', 'c\r'],
    [['ab', ''], ['c']],
  ],
  [['\xc3', '\xa4\n'], [['ä']]],
  [[], []],
])('%j → %j: a line ends with LF or CR LF, wherever the pieces do', async (texts, expected) => {
  expect(await linesOf({ input: pieces(...texts) })).toEqual(expected);
});

it('keeps a CR within a line', async () => {
  expect(await linesOf({ input: pieces('a\rb\r\r\n') })).toEqual([['a\rb\r']]);
});

it('an interrupt ends it while it waits', async () => {
  const controller = new AbortController();
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a\nbeg');
    queueMicrotask(() => controller.abort());
    await new Promise(() => undefined);
  }
  expect(await linesOf({ input: endless(), interrupted: controller.signal })).toEqual([['a']]);
});

it('holds no piece whose lines were taken', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void; // the flag puts it there
  const given: WeakRef<Uint8Array>[] = [];
  async function* many(): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < 20; index++) {
      const piece = Buffer.alloc(64 * 1024, 'line\n');
      given.push(new WeakRef(piece));
      yield piece;
    }
    // What a WeakRef was made of stays until the turn ends.
    await new Promise<void>((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(given.slice(0, -1).filter((piece) => piece.deref() !== undefined)).toEqual([]);
  }
  const { signal } = new AbortController();
  let count = 0;
  for await (const lines of textLines({ input: many(), interrupted: signal } as unknown as Surroundings))
    count += lines.length;
  expect(count).toBeGreaterThan(20 * 13_000);
});

it('progress is silent for work that is done at once, and without a terminal', () => {
  const shown: string[] = [];
  const progress = new Progress({ progress: (text) => shown.push(text) });
  progress.at(() => 'one');
  progress.end();
  new Progress({}).end();
  expect(shown).toEqual([]);
});
