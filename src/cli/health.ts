// `polylog health`: whether a running hub serves, by exit code: for health checks of containers and supervisors.
import { AdminFailure, type AdminOptions } from './admin-client.ts';
import { addVerb, asks, type CommandLine, print } from './noun.ts';
import { EXIT } from './surroundings.ts';

const EXAMPLES = `
Examples:
  polylog health && echo serves
  polylog health --admin http://gateway.lan:9640
`;

export function addHealthCommand(line: CommandLine): void {
  addVerb(line.program, 'health', 'exit code 0 when the hub serves everything', EXAMPLES).action(
    asks(line, async (admin, options: AdminOptions) => {
      const answer = await admin.ask<{ readonly ready: boolean }>('GET', '/health/ready');
      // What fails is answered with a status of its own, and told as any failure.
      if (!answer.ready) throw new AdminFailure('the hub is not ready', EXIT.failed);
      print(line.surroundings, options, answer, () => 'ready\n');
    }),
  );
}
