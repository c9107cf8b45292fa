// Whatever a file, a variable or a flag holds: an answer, never an exception, and each problem on one line.
import { readFileSync } from 'node:fs';
import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { formatIssue } from '../../../src/config/sources.ts';
import { LISTENER, read } from './fixtures.ts';

const SHIPPED = readFileSync('config/polylog.toml', 'utf8').replaceAll(/^#.*\n/gm, '');

function expectLines(text: string, environment: Record<string, string> = {}, settings: string[] = []): void {
  const { config, issues } = read(text, { environment, settings });
  expect(config === undefined).toBe(issues !== undefined);
  for (const issue of issues ?? []) expect(formatIssue(issue)).toMatch(/^\P{Cc}+$/u);
}

const edit = fc.record({
  at: fc.nat(SHIPPED.length),
  remove: fc.nat(8),
  insert: fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom(
      '"',
      "'''",
      '"""',
      '[',
      '[[',
      ']]',
      '{',
      '}',
      '=',
      '\n',
      '#',
      '.',
      '${',
      '\\',
      '-1',
      'true',
      '[[topic]]\n',
    ),
  ),
});

test.prop([fc.array(edit, { minLength: 1, maxLength: 4 })], { numRuns: 300 })('a damaged file', (edits) => {
  let text = SHIPPED;
  for (const { at, remove, insert } of edits) text = text.slice(0, at) + insert + text.slice(at + remove);
  expectLines(text);
});

test.prop([fc.string({ unit: 'binary', maxLength: 64 })], { numRuns: 300 })('any text as a file', (text) => {
  expectLines(text);
});

const segment = fc.oneof(
  fc.constantFrom(
    'listener',
    'LISTENER',
    'kafka',
    'KAFKA',
    'bind',
    'BIND',
    'topics',
    'config',
    'segment.bytes',
    'SEGMENT_BYTES',
    'RETENTION_MS',
    'CLEANUP_POLICY',
    'limits',
    '',
  ),
  fc.string({ maxLength: 6 }),
);

test.prop([fc.array(segment, { maxLength: 5 }), fc.string({ maxLength: 12 })], { numRuns: 300 })(
  'any override',
  (segments, value) => {
    expectLines(LISTENER, { [`POLYLOG__${segments.join('__')}`]: value }, [`${segments.join('.')}=${value}`]);
  },
);

const json = fc.json({ maxDepth: 3 }).map((text) => text.replaceAll('null', '0'));

test.prop([fc.constantFrom('server', 'listener', 'topics', 'topic', 'kafka', 'x'), json], { numRuns: 300 })(
  'any value in the place of a section',
  (section, value) => {
    expectLines(`${section} = ${value}\n`);
    expectLines(`${section}.x = ${value}\n${LISTENER}`);
  },
);
