// Holds the repository to the shape it describes: who imports whom, where things lie, what files say of
// themselves. The second half shows for each rule that it can fail.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SourceFile } from './helpers/tidy-rules.ts';
import {
  barrelComplaints,
  cycleComplaints,
  defaultExportComplaints,
  dependencyComplaints,
  importsOf,
  layerComplaints,
  lengthComplaints,
  linkComplaints,
  nameComplaints,
  openingComplaints,
  placeComplaints,
  portComplaints,
  readmeComplaints,
  resolveImport,
  scriptComplaints,
  skippedTestComplaints,
  sleepComplaints,
  topLevelComplaints,
} from './helpers/tidy-rules.ts';

const root = join(import.meta.dirname, '..');

/** What is tracked and what is about to be: ignored files are nobody's business. */
function repositoryFiles(): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const paths = [...new Set(listed.split('\0'))].filter(
    (path) => path !== '' && existsSync(join(root, path)),
  );
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'latin1') }));
}

describe('the repository', () => {
  const files = repositoryFiles();

  it.each([
    ['imports follow the layers', layerComplaints],
    ['no import goes in a circle', cycleComplaints],
    ['the port has types only', portComplaints],
    ['nothing is re-exported but by storage/index.ts', barrelComplaints],
    ['no default exports', defaultExportComplaints],
    ['no file is too long', lengthComplaints],
    ['names say what a thing is', nameComplaints],
    ['the top level is the fixed list', topLevelComplaints],
    ['every source file starts with what it is', openingComplaints],
    ['every folder has its README, and every file stands in it', readmeComplaints],
    ['links in documents lead somewhere', linkComplaints],
    ['packages are declared, and the README says why', dependencyComplaints],
    ['no script is a hook, which npm would skip', scriptComplaints],
    ['no place of one machine or network is named', placeComplaints],
    ['no test is left out silently', skippedTestComplaints],
    ['no test sleeps', sleepComplaints],
  ])('%s', (_title, complaintsOf) => {
    expect(complaintsOf(files)).toEqual([]);
  });

  it('is looked at whole', () => {
    expect(files.filter(({ path }) => path.startsWith('protocols/')).length).toBeGreaterThan(0);
    expect(files.map(({ path }) => path)).toContain('storage/README.md');
    expect(importsOf(readFileSync(import.meta.filename, 'utf8')).length).toBe(6);
  });
});

/** Files of a made-up repository; every import target exists unless a test says otherwise. */
const repository = (texts: Record<string, string>): SourceFile[] =>
  Object.entries(texts).map(([path, text]) => ({ path, text }));

const importing = (from: string, to: string): SourceFile[] => {
  const up = '../'.repeat(from.split('/').length - 1) || './';
  return repository({ [from]: `// x\nimport { a } from '${up}${to}';\n`, [to]: '// y\n' });
};

describe('reading imports', () => {
  it.each([
    ["import { a } from './a.ts';", './a.ts'],
    ["import type { a } from './a.ts';", './a.ts'],
    ["import * as a from './a.ts';", './a.ts'],
    ["import a, { b } from './a.ts';", './a.ts'],
    ["import {\n  a,\n  b as c,\n} from './a.ts';", './a.ts'],
    ["import './a.ts';", './a.ts'],
    ["export { a } from './a.ts';", './a.ts'],
    ["export * from './a.ts';", './a.ts'],
    ["export type { a } from './a.ts';", './a.ts'],
    ["const a = await import('./a.ts');", './a.ts'],
    ["type A = import('./a.ts').A;", './a.ts'],
    ['import a from "./a.ts";', './a.ts'],
  ])('%s', (text, specifier) => {
    expect(importsOf(text).map((found) => found.specifier)).toEqual([specifier]);
  });

  it.each([
    "// import { a } from './a.ts';",
    "/* import { a } from './a.ts'; */",
    "export const a = './a.ts';",
    'export function a() {}\nconst b = "from \'./a.ts\'";',
  ])('nothing in %s', (text) => {
    expect(importsOf(text)).toEqual([]);
  });

  it('resolves relative names and leaves packages alone', () => {
    expect(resolveImport('a/b/c.ts', '../d.ts')).toBe('a/d.ts');
    expect(resolveImport('a/b/c.ts', './e/f.ts')).toBe('a/b/e/f.ts');
    expect(resolveImport('a/b/c.ts', 'fastify')).toBeUndefined();
  });
});

describe('the layers', () => {
  it.each([
    ['storage/a.ts', 'protocols/port.ts'],
    ['storage/a.ts', 'src/hub/hub.ts'],
    ['protocols/port.ts', 'storage/index.ts'],
    ['protocols/kafka/a.ts', 'protocols/mqtt/b.ts'],
    ['protocols/kafka/a.ts', 'storage/index.ts'],
    ['protocols/kafka/a.ts', 'src/hub/hub.ts'],
    ['src/hub/hub.ts', 'storage/segment.ts'],
    ['src/hub/hub.ts', 'protocols/kafka/front-end.ts'],
    ['src/cli/a.ts', 'protocols/mqtt/front-end.ts'],
    ['src/cli/a.ts', 'test/helpers/hub.ts'],
  ])('refuse %s → %s', (from, to) => {
    expect(layerComplaints(importing(from, to))).toHaveLength(1);
  });

  it.each([
    ['storage/a.ts', 'storage/b.ts'],
    ['protocols/kafka/a.ts', 'protocols/port.ts'],
    ['protocols/kafka/wire/a.ts', 'protocols/kafka/b.ts'],
    ['src/hub/hub.ts', 'storage/index.ts'],
    ['src/hub/hub.ts', 'protocols/port.ts'],
    ['src/broker.ts', 'protocols/kafka/front-end.ts'],
    ['src/broker.ts', 'src/hub/hub.ts'],
    ['test/storage/a.test.ts', 'storage/segment.ts'],
  ])('allow %s → %s', (from, to) => {
    expect(layerComplaints(importing(from, to))).toEqual([]);
  });

  it('refuse what is not there', () => {
    expect(layerComplaints(repository({ 'src/a.ts': "import { b } from './b.ts';" }))).toHaveLength(1);
  });
});

describe('each rule can fail', () => {
  it.each<[string, (files: readonly SourceFile[]) => string[], Record<string, string>, number]>([
    ['a circle', cycleComplaints, { 'src/a.ts': "import './b.ts';", 'src/b.ts': "import './a.ts';" }, 1],
    ['a circle of types', cycleComplaints, { 'src/a.ts': "import type { A } from './a.ts';" }, 1],
    [
      'a diamond is no circle',
      cycleComplaints,
      {
        'src/a.ts': "import './b.ts';\nimport './c.ts';",
        'src/b.ts': "import './d.ts';",
        'src/c.ts': "import './d.ts';",
        'src/d.ts': '',
      },
      0,
    ],
    ['a value in the port', portComplaints, { 'protocols/port.ts': 'export const a = 1;' }, 1],
    ['a class in the port', portComplaints, { 'protocols/port.ts': 'export abstract class A {}' }, 1],
    [
      'types in the port',
      portComplaints,
      { 'protocols/port.ts': 'export interface A { b: 1 }\ntype C = 1;' },
      0,
    ],
    ['a barrel', barrelComplaints, { 'src/hub/index.ts': "export * from './a.ts';" }, 2],
    ["the store's own", barrelComplaints, { 'storage/index.ts': "export { a } from './a.ts';" }, 0],
    ['a default export', defaultExportComplaints, { 'src/a.ts': 'export default 1;' }, 1],
    ['a default by name', defaultExportComplaints, { 'src/a.ts': 'export { a as default };' }, 1],
    ['a tool config', defaultExportComplaints, { 'vitest.config.ts': 'export default 1;' }, 0],
    ['401 lines', lengthComplaints, { 'src/a.ts': 'x\n'.repeat(401) }, 1],
    ['400 lines', lengthComplaints, { 'src/a.ts': 'x\n'.repeat(400) }, 0],
    ['a long schema', lengthComplaints, { 'protocols/kafka/messages/a.ts': 'x\n'.repeat(900) }, 0],
    ['a folder of utilities', nameComplaints, { 'src/utils/a.ts': '', 'src/utils/b.ts': '' }, 1],
    ['a manager', nameComplaints, { 'src/group-manager.ts': '' }, 1],
    ['helpers outside test', nameComplaints, { 'src/helpers/a.ts': '' }, 1],
    ['helpers of tests', nameComplaints, { 'test/helpers/hub.ts': '' }, 0],
    ['camel case', nameComplaints, { 'src/tailCache.ts': '' }, 1],
    ['a new folder at the top', topLevelComplaints, { 'lib/a.ts': '' }, 1],
    ['dotfiles', topLevelComplaints, { '.ci/run': '', '.gitignore': '' }, 0],
    ['no opening comment', openingComplaints, { 'src/a.ts': 'export const a = 1;' }, 1],
    ['a comment after a shebang', openingComplaints, { 'src/a.ts': '#!/usr/bin/env node\n// It.\n' }, 0],
    ['a folder without README', readmeComplaints, { 'src/hub/hub.ts': '' }, 1],
    [
      'a folder that its parent names',
      readmeComplaints,
      { 'src/README.md': '`hub/`', 'src/hub/a.ts': '' },
      0,
    ],
    ['a file left out of the map', readmeComplaints, { 'src/README.md': 'a.ts', 'src/b.ts': '' }, 1],
    ['a dead link', linkComplaints, { 'README.md': '[a](src/a.md)' }, 1],
    [
      'live links',
      linkComplaints,
      { 'src/README.md': '[a](a.md#b) [b](../src/) [c](https://x.y)', 'src/a.md': '' },
      0,
    ],
    [
      'a package that is not declared',
      dependencyComplaints,
      { 'package.json': '{"dependencies":{"a":"1"}}', 'README.md': '`a`', 'src/a.ts': "import 'b/c';" },
      1,
    ],
    [
      'a package without a reason',
      dependencyComplaints,
      { 'package.json': '{"dependencies":{"a":"1"}}', 'README.md': '', 'src/a.ts': "import 'a/c';" },
      1,
    ],
    [
      "a declared package and node's own",
      dependencyComplaints,
      {
        'package.json': '{"dependencies":{"@a/b":"1"}}',
        'README.md': '`@a/b`',
        'src/a.ts': "import '@a/b/c';\nimport 'node:fs';",
      },
      0,
    ],
    ['a hook', scriptComplaints, { 'package.json': '{"scripts":{"prestart":"a","start":"b"}}' }, 1],
    [
      'a test singled out',
      skippedTestComplaints,
      { 'test/a.test.ts': "it.only('works because', () => {});" },
      1,
    ],
    ['a test left out', skippedTestComplaints, { 'test/a.test.ts': "it.skip('works', () => {});" }, 1],
    [
      'left out on a condition',
      skippedTestComplaints,
      { 'test/a.test.ts': "it.skipIf(a())('works', () => {});" },
      1,
    ],
    [
      'left out with a reason',
      skippedTestComplaints,
      { 'test/a.test.ts': "it.skip('x, needs root', () => {});" },
      0,
    ],
    [
      'a pause',
      sleepComplaints,
      { 'test/a.test.ts': 'new Promise((resolve) => setTimeout(resolve, 50))' },
      1,
    ],
  ])('%s', (_title, complaintsOf, texts, count) => {
    expect(complaintsOf(repository(texts))).toHaveLength(count);
  });

  it.each([
    ['a package registry', `https:${'//registry'}.example.org/a`, 1],
    ['a home', `see ${'/home'}/someone/a`, 1],
    ['a checkout', `"${'/workspace'}/main/a"`, 1],
    ['a relative path', 'see ../home/a and src/workspace/b', 0],
    ['a public page', 'https://example.org/a', 0],
  ])('a place: %s', (_title, text, count) => {
    expect(placeComplaints(repository({ 'src/a.ts': text }))).toHaveLength(count);
  });
});
