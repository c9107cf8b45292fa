// The line of every key, in every way that TOML has of writing one.
import { parse } from 'smol-toml';
import { expect, it } from 'vitest';
import { locateKeys, pathKey } from '../../../src/config/toml-positions.ts';

const DOCUMENT = String.raw`# comment with = and [brackets]
top = 1
dotted . "quoted.key" = 'a # b'
long = """
[not.a.table]
also = "not a key" ""\"
"""  # after
literal = '''
'x' = 1 '''''
"a\u0062c" = [ # an array
  1,
  { inner = 2, "x" = [
    3 ] },
  "]", '}',
]

[table]
date = 1979-05-27 07:32:00Z
inline = { a = 1, b = { c = "}" } }
[[list]]
name = "first"
[list.sub]
deep = true
[[list]]
  [[list.nested]]
  name = "x"
  [[list.nested]]
  name = "y"
`;

it('finds every key', () => {
  parse(DOCUMENT);
  const lines = locateKeys(DOCUMENT);
  const at = (...path: (string | number)[]) => lines.get(pathKey(path));
  expect(at('top')).toBe(2);
  expect(at('dotted', 'quoted.key')).toBe(3);
  expect(at('long')).toBe(4);
  expect(at('literal')).toBe(8);
  expect(at('abc')).toBe(10);
  expect(at('abc', 0)).toBe(11);
  expect(at('abc', 1, 'inner')).toBe(12);
  expect(at('abc', 1, 'x', 0)).toBe(13);
  expect(at('table')).toBe(17);
  expect(at('table', 'inline', 'b', 'c')).toBe(19);
  expect(at('list', 0, 'name')).toBe(21);
  expect(at('list', 0, 'sub', 'deep')).toBe(23);
  expect(at('list', 1)).toBe(24);
  expect(at('list', 1, 'nested', 0, 'name')).toBe(26);
  expect(at('list', 1, 'nested', 1)).toBe(27);
});

it('knows the same keys as the parser', () => {
  const lines = locateKeys(DOCUMENT);
  const missing: string[] = [];
  const visit = (value: unknown, path: (string | number)[]): void => {
    if (path.length > 0 && !lines.has(pathKey(path))) missing.push(pathKey(path));
    if (Array.isArray(value))
      for (const [index, element] of value.entries()) visit(element, [...path, index]);
    else if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
      for (const [key, child] of Object.entries(value)) visit(child, [...path, key]);
    }
  };
  visit(parse(DOCUMENT), []);
  expect(missing).toEqual([]);
});

it('ends on any text, though the parser refuses it', () => {
  for (let end = 0; end <= DOCUMENT.length; end++) locateKeys(DOCUMENT.slice(0, end));
  for (const text of ['= = =', '[', '[[[', '{', '"""', "'", '\\', ']]', 'a = [,', 'a = {,='])
    locateKeys(text);
});
