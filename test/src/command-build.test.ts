// How `npm run build` makes the command of what the compiler has left (esbuild.config.mjs): on a program of one line.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../helpers/child.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';

const repository = path.join(import.meta.dirname, '..', '..');
const directory = temporaryDirectory();
const root = directory.path;
const built = path.join(root, 'dist', 'command');

const build = () => run(process.execPath, ['esbuild.config.mjs'], { workingDirectory: root });
const programFile = () => readdirSync(built).find((name) => /^program-.*\.cjs$/.test(name)) ?? '';

beforeAll(async () => {
  copyFileSync(path.join(repository, 'esbuild.config.mjs'), path.join(root, 'esbuild.config.mjs'));
  symlinkSync(path.join(repository, 'node_modules'), path.join(root, 'node_modules'));
  mkdirSync(path.join(root, 'dist', 'src'), { recursive: true });
  // It says nothing of what a start says, so no code cache is made of it: the command works without.
  writeFileSync(path.join(root, 'dist', 'src', 'main.js'), "process.stdout.write('hello\\n');\n");
  copyFileSync(
    path.join(repository, 'dist', 'src', 'loader.js'),
    path.join(root, 'dist', 'src', 'loader.js'),
  );
  writeFileSync(path.join(root, 'package.json'), '{ "type": "module" }');
  await build();
});
afterAll(() => directory.remove());

it('builds nothing that is there', async () => {
  const { mtimeMs } = statSync(path.join(built, 'main.cjs'));
  await build();
  expect(statSync(path.join(built, 'main.cjs')).mtimeMs).toBe(mtimeMs);
});

it.each(['the program', 'main.cjs'])('builds again when %s is gone', async (which) => {
  rmSync(path.join(built, which === 'the program' ? programFile() : which));
  await build();
  expect(existsSync(path.join(built, programFile()))).toBe(true);
  expect(`${await run(process.execPath, [path.join(built, 'main.cjs')])}`).toBe('hello\n');
});

it('starts without its compiled functions when a disk has damaged them', async () => {
  const copy = path.join(root, 'dist', 'damaged');
  cpSync(path.join(repository, 'dist', 'command'), copy, { recursive: true });
  const cache = path.join(copy, readdirSync(copy).find((name) => name.endsWith('.cache')) ?? '');
  const bytes = readFileSync(cache);
  writeFileSync(cache, bytes.fill(0, bytes.length >> 1));
  expect(`${await run(process.execPath, [path.join(copy, 'main.cjs'), '--help'])}`).toContain('polylog');
});
