// The try-it of the README, run as it stands: each line is typed, and what the README says it prints must appear.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../helpers/child.ts';
import type { HubProcess } from '../helpers/hub-process.ts';
import type { InteropCase, ProgramName } from './case.ts';

const readme = join(import.meta.dirname, '..', '..', 'README.md');

export interface TryIt {
  readonly command: string;
  /** Lines that must appear in its output, in order; `…` stands for anything. */
  readonly prints: readonly string[];
  /** It goes on until it is stopped: its lines come from what the later commands do. */
  readonly stays: boolean;
}

/**
 * The commands between `<!-- try it -->` and `<!-- /try it -->`: lines of `sh` blocks, each with the `# →` lines below it.
 * The block that starts the hub is the one command not returned: the hub under test is already there.
 */
export function tryItOf(markdown: string): TryIt[] {
  const section = /<!-- try it -->([\s\S]*?)<!-- \/try it -->/.exec(markdown)?.[1];
  if (section === undefined) throw new Error('the README has no try-it section');
  const steps: { command: string; prints: string[]; stays: boolean }[] = [];
  for (const block of section.matchAll(/```sh\n([\s\S]*?)```/g)) {
    for (const line of (block[1] ?? '').split('\n')) {
      const printed = /^# → (.*)$/.exec(line)?.[1];
      if (printed !== undefined) steps.at(-1)?.prints.push(printed);
      else if (line.trim() !== '' && !line.startsWith('#') && !line.startsWith('npm ')) {
        steps.push({ command: line, prints: [], stays: line.startsWith('mosquitto_sub') });
      }
    }
  }
  return steps;
}

/** On the hub under test: its ports instead of the default ones. */
function onHub(command: string, hub: HubProcess): string {
  return command
    .replace(/\b(localhost|127\.0\.0\.1):9092\b/g, `$1:${hub.kafkaPort}`)
    .replace(/\b(localhost|127\.0\.0\.1):9640\b/g, `$1:${hub.adminPort}`)
    .replace(/^(mosquitto_(?:sub|pub))\b/, `$1 -p ${hub.mqttPort}`);
}

function pattern(line: string): RegExp {
  const text = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s*…\s*/g, '[^\\n]*');
  return new RegExp(text);
}

export async function runTryIt(steps: readonly TryIt[], hub: HubProcess): Promise<void> {
  const staying: { child: Child; step: TryIt }[] = [];
  for (const step of steps) {
    const command = onHub(step.command, hub);
    // Line by line, so that what it prints is seen while it runs.
    const child = new Child('stdbuf', ['-oL', 'bash', '-c', step.stays ? `${command} -d` : command]);
    if (step.stays) {
      await child.waitFor(/^Subscribed/m);
      staying.push({ child, step });
      continue;
    }
    const { code } = await child.finished;
    if (code !== 0) throw new Error(`${step.command}: exit ${code}\n${child.output}`);
    for (const line of step.prints) await child.waitFor(pattern(line));
  }
  for (const { child, step } of staying) {
    for (const line of step.prints) await child.waitFor(pattern(line));
    child.kill('SIGKILL');
    await child.finished;
  }
}

const programs: readonly ProgramName[] = ['kcat', 'mosquitto_sub', 'mosquitto_pub', 'curl'];

export const readmeTryIt: InteropCase = {
  name: 'the README: every line of the try-it prints what it says',
  needs: programs,
  async run(hub) {
    const steps = tryItOf(readFileSync(readme, 'utf8'));
    if (steps.length < 4) throw new Error(`only ${steps.length} commands were found`);
    await runTryIt(steps, hub);
  },
};
