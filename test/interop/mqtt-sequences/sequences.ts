// Sequences of packets as Eclipse Mosquitto's broker tests write them: JSON files of groups of tests, each what to
// send, what must come back, and whether the connection must end.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Sequence {
  /** File, group and name. */
  readonly name: string;
  readonly version: 3 | 4 | 5;
  /** Whether CONNECT comes before the steps, not as one of them. */
  readonly connects: boolean;
  readonly mustEnd: boolean;
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly kind: 'send'; readonly bytes: Buffer }
  /** Packets that must come, one behind the other. */
  | { readonly kind: 'receive'; readonly bytes: Buffer }
  /** Another client publishes. */
  | { readonly kind: 'publish'; readonly topic: string; readonly payload: string; readonly qos: 0 | 1 | 2 };

interface GroupInFile {
  readonly group: string;
  readonly tests: readonly TestInFile[];
}

interface TestInFile {
  readonly name: string;
  readonly ver?: 3 | 4 | 5;
  readonly connect?: boolean;
  readonly expect_disconnect?: boolean;
  readonly msgs: readonly MessageInFile[];
}

interface MessageInFile {
  readonly type: 'send' | 'recv' | 'publish';
  readonly payload: string;
  readonly topic?: string;
  readonly qos?: 0 | 1 | 2;
}

/** Where the files lie: they are not ours, and not in this repository. */
export const sequencesDirectory = process.env['POLYLOG_MQTT_SEQUENCES'] ?? '';

export function readSequences(directory: string): Sequence[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return files.sort().flatMap((file) => {
    // A file of another shape fails at once, where its steps are played.
    const groups = JSON.parse(readFileSync(join(directory, file), 'utf8')) as readonly GroupInFile[];
    return groups.flatMap(({ group, tests }) =>
      tests.map((test) => ({
        name: `${file.slice(0, -'.json'.length)} | ${group.replace(/\s+/g, ' ').trim()} | ${test.name}`,
        version: test.ver ?? 4,
        connects: test.connect ?? true,
        mustEnd: test.expect_disconnect ?? true,
        steps: test.msgs.map(stepOf),
      })),
    );
  });
}

function stepOf({ type, payload, topic = '', qos = 0 }: MessageInFile): Step {
  if (type === 'publish') return { kind: 'publish', topic, payload, qos };
  return {
    kind: type === 'send' ? 'send' : 'receive',
    bytes: Buffer.from(payload.replace(/\s/g, ''), 'hex'),
  };
}
