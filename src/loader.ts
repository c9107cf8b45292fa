#!/usr/bin/env node
// The built command's first file. The program lies beside it in one file, and what the Node of the build made of that:
// its compiled functions, so that a start does not compile megabytes. Another version of Node refuses those, and compiles.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';

/** Put in by esbuild.config.mjs: the program's name, which is another whenever its content is. */
declare const PROGRAM: string;
/** Of the compiled functions, SHA-256 in base64: V8 runs what it is given, also what a disk has damaged. */
declare const CACHE_DIGEST: string;

const directory = import.meta.dirname;
const filename = path.join(directory, `${PROGRAM}.cjs`);

// Latin-1: it is written in ASCII, so there is nothing to decode.
const script = new Script(readFileSync(filename, 'latin1'), { filename, ...codeCache() });
const run = script.runInThisContext() as (require: NodeJS.Require, directory: string) => void; // as it is wrapped there
run(createRequire(filename), directory);

function codeCache(): { cachedData?: Buffer } {
  try {
    const cachedData = readFileSync(path.join(directory, `${PROGRAM}.cache`));
    return createHash('sha256').update(cachedData).digest('base64') === CACHE_DIGEST ? { cachedData } : {};
  } catch {
    return {}; // the build could not make one
  }
}
