// JSON that must stay as it was written.
import { test } from '@fast-check/vitest';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLine, memberTexts } from '../../../src/admin/json-text.ts';

describe('a JSON text', () => {
  it.each([
    ['1e400', '1e400'],
    ['  {"a":1}\n', '  {"a":1} '],
    ['"a\\nb"', '"a\\nb"'],
    ['[1,\r\n\r\n2]', '[1, 2]'],
    ['', undefined],
    ['{"a":1', undefined],
    ['01', undefined],
    ['\ufeff1', undefined],
    ['"a\nb"', undefined],
  ])('%j is kept as %j', (text, line) => {
    expect(jsonLine(text)).toBe(line);
  });
});

describe('the members of an object', () => {
  it.each([
    ['{}', {}],
    [' { "a" : 1 } ', { a: '1' }],
    ['{"a":12345678901234567890.0,"b":-0.0e-10}', { a: '12345678901234567890.0', b: '-0.0e-10' }],
    ['{"a":"}\\"]","b":[{"c":"]"}, 1],"d":{}}', { a: '"}\\"]"', b: '[{"c":"]"}, 1]', d: '{}' }],
    ['{"a":1,"a":2}', { a: '2' }],
    ['{"\\u0061":true,"":null}', { a: 'true', '': 'null' }],
    [`{"a":${'1'.repeat(5000)},"b":1}`, { a: '1'.repeat(5000), b: '1' }],
    [`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, { a: '['.repeat(5000) + ']'.repeat(5000) }],
  ])('of %.40s', (text, members) => {
    expect(Object.fromEntries(memberTexts(text))).toEqual(members);
  });

  test.prop([fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, '\t', '\n')])(
    'are what JSON.parse has, however it is laid out',
    (object, space) => {
      const text = JSON.stringify(object, null, space);
      const parsed = JSON.parse(text) as Record<string, unknown>;
      const members = memberTexts(text);
      expect([...members.keys()].sort()).toEqual(Object.keys(parsed).sort());
      for (const [name, member] of members) expect(JSON.parse(member)).toEqual(parsed[name]);
    },
  );
});
