#!/usr/bin/env node
// argv → command → exit code.
import { runCommandLine } from './cli/program.ts';
import { StreamOutput } from './cli/stream-output.ts';

const output = new StreamOutput(process.stdout);

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  outMuch: (text) => output.write(text),
  err: (text) => process.stderr.write(text),
  environment: process.env,
  workingDirectory: process.cwd(),
});
