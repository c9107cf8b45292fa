#!/usr/bin/env node
// argv → command → exit code.
import { isatty } from 'node:tty';
import { runCommandLine } from './cli/program.ts';
import { StreamOutput } from './cli/stream-output.ts';
import { EXIT } from './cli/surroundings.ts';

const argv = process.argv.slice(2);
/** The hub does not end, or fail, because its words cannot be written. */
const isHub = argv[0] === 'start';
let isOutputLost = false;
let isInputTaken = false;
let isProgressShown = false;
let interrupt: AbortController | undefined;

const output = new StreamOutput(process.stdout, (error) => {
  tell(`polylog: the output cannot be written: ${error.message}\n`);
  if (isHub) return;
  isOutputLost = true;
  process.exitCode = EXIT.failed;
});
// Whoever reads what is told may go away like any other reader.
process.stderr.on('error', () => {});

function tell(text: string): void {
  if (isProgressShown) show('');
  process.stderr.write(text);
}

/** The cursor goes to the line's beginning, and what stands there is erased (ECMA-48 EL). */
function show(text: string): void {
  process.stderr.write(`\r\x1b[K${text}`);
  isProgressShown = text !== '';
}

function interrupted(): AbortSignal {
  if (interrupt === undefined) {
    const controller = new AbortController();
    interrupt = controller;
    process.once('SIGINT', () => controller.abort());
  }
  return interrupt.signal;
}

// Not awaited here: the built program is a script (esbuild.config.mjs). What is thrown ends the process all the same.
void runCommandLine(argv, {
  out: (text) => output.put(text),
  outMuch: (text) => output.write(text),
  taken: () => output.taken(),
  err: tell,
  ...(process.stdout.isTTY ? { columns: process.stdout.columns } : {}),
  ...(process.stderr.isTTY ? { progress: show } : {}),
  isTyped: isatty(0),
  get input() {
    isInputTaken = true;
    return process.stdin;
  },
  get interrupted() {
    return interrupted();
  },
  environment: process.env,
  workingDirectory: process.cwd(),
}).then((exitCode) => {
  process.exitCode = isOutputLost ? EXIT.failed : exitCode;
  // A command that was interrupted waits for no more of it.
  if (isInputTaken) process.stdin.destroy();
});
