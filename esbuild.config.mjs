// The command in one file, of what the compiler has left in dist/: `npm run build` runs this behind it. Loading six
// hundred files takes longer than all that a start does with them.
//
//   dist/command/main.cjs             src/loader.ts: loads the other two
//   dist/command/program-HASH.cjs     src/main.ts and all that it imports but for native packages, as one function
//   dist/command/program-HASH.cache   its functions, as this version of Node has compiled them while it ran them
//
// The entry points of the package (`polylog`, `polylog/aedes`) stay as they are, in dist/src.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

const root = import.meta.dirname;
const directory = path.join(root, 'dist', 'command');
const main = path.join(directory, 'main.cjs');
/** What went into the program and what came out, and by what Node, so that nothing is built that is there. */
const record = path.join(directory, 'inputs.json');

/** Found in node_modules when they are needed: they have native code, or few commands need them. */
const EXTERNAL = [
  ...['@node-rs/crc32', '@toondepauw/node-zstd', 'classic-level/binding', 'lz4-napi', 'snappy'],
  ...['mqtt'],
];
/** Of LevelDB's package it is one file that looks for the native code, beside itself. */
const levelBinding = {
  name: 'level-binding',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\/binding$/ }, ({ importer }) =>
      importer.includes('classic-level') ? { path: 'classic-level/binding', external: true } : undefined,
    ),
};
const CACHE_MS = 120_000;

const [, , job, program] = process.argv;
if (job === 'cache') await writeCache(program);
else if (!isUpToDate()) await build();

function isUpToDate() {
  if (!fs.existsSync(record)) return false;
  const { node, inputs, outputs = [] } = JSON.parse(fs.readFileSync(record, 'utf8'));
  return (
    node === process.version &&
    outputs.length > 0 &&
    outputs.every((name) => fs.existsSync(path.join(directory, name))) &&
    Object.entries(inputs).every(([file, stamp]) => stampOf(file) === stamp)
  );
}

function stampOf(file) {
  const status = fs.statSync(path.join(root, file), { throwIfNoEntry: false });
  return status === undefined ? '' : `${status.size} ${status.mtimeMs}`;
}

/** Others may run what was built before, or build too: files are put in place whole, and main.cjs last. */
async function build() {
  const { build: bundle } = await import('esbuild');
  fs.rmSync(record, { force: true });
  fs.mkdirSync(directory, { recursive: true });
  const common = {
    absWorkingDir: root,
    outdir: 'dist/command',
    outExtension: { '.js': '.cjs' },
    write: false,
    bundle: true,
    metafile: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    define: { 'import.meta.dirname': '__dirname' },
    legalComments: 'none',
    minifyWhitespace: true,
    minifySyntax: true,
    // Names stay: they are what a stack trace tells. So do lines of a length that can be shown.
    lineLimit: 160,
    logLevel: 'warning',
  };
  const made = await bundle({
    ...common,
    entryPoints: { program: 'dist/src/main.js' },
    entryNames: '[name]-[hash]',
    external: EXTERNAL,
    plugins: [levelBinding],
    // A script has no import(): what the sources import late is a part of it that runs late.
    supported: { 'dynamic-import': false },
    banner: { js: '(function (require, __dirname) {' },
    footer: { js: '})' },
  });
  const file = made.outputFiles[0];
  const inputs = [...Object.keys(made.metafile.inputs), 'dist/src/loader.js', 'esbuild.config.mjs'];
  const stamps = Object.fromEntries([...inputs, 'package-lock.json'].map((each) => [each, stampOf(each)]));
  put(file.path, file.contents);
  makeCache(file.path);
  const name = path.basename(file.path, '.cjs');
  const loader = await bundle({
    ...common,
    entryPoints: { main: 'dist/src/loader.js' },
    define: {
      ...common.define,
      PROGRAM: JSON.stringify(name),
      CACHE_DIGEST: JSON.stringify(digestOf(cacheOf(file.path))),
    },
  });
  put(main, loader.outputFiles[0].contents, 0o755);
  // Without the cache where none could be made: building again would make none either.
  const outputs = [main, file.path, cacheOf(file.path)].filter((each) => fs.existsSync(each));
  const names = outputs.map((each) => path.basename(each));
  put(record, JSON.stringify({ node: process.version, inputs: stamps, outputs: names }));
  for (const each of fs.readdirSync(directory)) {
    if (each.startsWith('program-') && !each.startsWith(name)) fs.rmSync(path.join(directory, each));
  }
}

function cacheOf(file) {
  return file.replace(/cjs$/, 'cache');
}

/** Empty without the file. */
function digestOf(file) {
  return fs.existsSync(file) ? createHash('sha256').update(fs.readFileSync(file)).digest('base64') : '';
}

function put(file, contents, mode = 0o644) {
  const aside = `${file}.${process.pid}.new`;
  fs.writeFileSync(aside, contents, { mode });
  fs.renameSync(aside, file);
}

/** In a process of its own. Without a cache the command works the same, and starts later. */
function makeCache(file) {
  const options = { encoding: 'utf8', timeout: CACHE_MS };
  const { status, stderr } = spawnSync(process.execPath, [import.meta.filename, 'cache', file], options);
  if (status !== 0) process.stderr.write(`no code cache was made, the command starts later: ${stderr}\n`);
}

/** Runs the program as it is run later, so that what it needs for that is compiled, and keeps it. */
async function writeCache(file) {
  const data = fs.mkdtempSync(path.join(tmpdir(), 'polylog-build-'));
  process.on('exit', () => fs.rmSync(data, { recursive: true, force: true }));
  const script = new Script(fs.readFileSync(file, 'latin1'), { filename: file });
  const settings = ['kafka', 'mqtt', 'mqtt-ws', 'admin'].map((name) => `listener.${name}.bind=127.0.0.1:0`);
  settings.push(`server.data_dir=${path.join(data, 'data')}`);
  const options = ['--config', path.join(root, 'config', 'polylog.toml')];
  for (const setting of settings) options.push('--set', setting);
  const run = (command, said) => {
    process.argv = [process.execPath, main, command, ...options];
    const told = outputWith(said);
    script.runInThisContext()(createRequire(file), directory);
    return told;
  };
  await run('check', /nothing wrong/);
  const [, admin] = await run('start', /curl -s (http:\S+?)\/api/);
  await (await fetch(`${admin}/health/ready`)).text();
  // V8 refuses what was kept under other flags than it finds; the hub has changed this one meanwhile (young-generation.ts).
  setFlagsFromString('--semi-space-growth-factor=2');
  put(cacheOf(file), script.createCachedData());
  process.kill(process.pid, 'SIGTERM');
}

/** Resolves when the output of this process has said it. */
function outputWith(pattern) {
  return new Promise((resolve) => {
    let output = '';
    process.stdout.write = (text) => {
      output += text;
      const found = pattern.exec(output);
      if (found !== null) resolve(found);
      return true;
    };
  });
}
