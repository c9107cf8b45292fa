#!/usr/bin/env node
// argv → command → exit code.
import { runCommandLine } from './cli/program.ts';
import { StreamOutput } from './cli/stream-output.ts';

const output = new StreamOutput(process.stdout);
// A reader that has enough (`head`) and goes away is no fault of any command. Other faults of the output end the process,
// unless it is a StreamOutput that waits for them.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && process.stdout.listenerCount('error') === 1) throw error;
});
let interrupt: AbortController | undefined;

function interrupted(): AbortSignal {
  if (interrupt === undefined) {
    const controller = new AbortController();
    interrupt = controller;
    process.once('SIGINT', () => controller.abort());
  }
  return interrupt.signal;
}

// Not awaited here: the built program is a script (esbuild.config.mjs). What is thrown ends the process all the same.
void runCommandLine(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  outMuch: (text) => output.write(text),
  err: (text) => process.stderr.write(text),
  ...(process.stdout.isTTY ? { columns: process.stdout.columns } : {}),
  input: process.stdin,
  get interrupted() {
    return interrupted();
  },
  environment: process.env,
  workingDirectory: process.cwd(),
}).then((exitCode) => {
  process.exitCode = exitCode;
});
