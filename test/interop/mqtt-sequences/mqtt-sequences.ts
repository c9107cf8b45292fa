// Every packet sequence of Eclipse Mosquitto's broker tests that POLYLOG_MQTT_SEQUENCES has, played against the hub.
// What does not come as written must be allowed by an exception, and an exception that allows nothing is a failure.
import { ok } from 'node:assert/strict';
import type { InteropCase } from '../case.ts';
import { type Outcome, play } from './play.ts';
import { readSequences, sequencesDirectory } from './sequences.ts';

interface Exception {
  /** Of wanted and got, in hexadecimal, as `wanted got`. */
  readonly difference: RegExp;
  readonly sequence: RegExp;
  readonly reason: string;
}

const EXCEPTIONS: readonly Exception[] = [
  {
    sequence: /^PUBLISH \| v5/,
    difference: /^4003(....)10 4002\1$/,
    reason:
      '"No matching subscribers" (0x10) is for a server to say or not (section 3.4.2.1): the hub stores and says 0',
  },
  {
    sequence: /^PUBLISH .* subscription-identifier=/,
    difference: /^4003....10 e0..82/,
    reason: 'a client that sends a Subscription Identifier in PUBLISH is ended [MQTT-3.3.4-6]',
  },
  {
    sequence: /^PUBRE[CL] \| v5.*\| (50|62) /,
    difference: /^(6202|7002)(....) (6203|7003)(?:\2)92$/,
    reason: 'an identifier that nobody knows is answered with 0x92 (sections 3.6.2.1 and 3.7.2.1)',
  },
];

export const mqttSequences: InteropCase = {
  name: "packet sequences of Mosquitto's own tests are answered as they say",
  needs: ['mqtt-sequences'],
  timeoutMs: 240_000,
  async run({ mqttPort }) {
    const counts = { strict: 0, lenient: 0, allowed: 0 };
    const problems: string[] = [];
    const needed = new Set<Exception>();
    const sequences = readSequences(sequencesDirectory);
    ok(sequences.length > 0, `${sequencesDirectory} holds no sequences`);
    for (const sequence of sequences) {
      const outcome: Outcome = await play(sequence, mqttPort);
      if (outcome.kind !== 'other') {
        counts[outcome.kind] += 1;
        continue;
      }
      const difference = `${outcome.wanted} ${outcome.got}`;
      const exception = EXCEPTIONS.find(
        (each) => each.sequence.test(sequence.name) && each.difference.test(difference),
      );
      if (exception === undefined) problems.push(`${sequence.name}: wanted, got: ${difference}`);
      else {
        needed.add(exception);
        counts.allowed += 1;
      }
    }
    for (const each of EXCEPTIONS) if (!needed.has(each)) problems.push(`allows nothing: ${each.reason}`);
    if (problems.length > 0) throw new Error(problems.join('\n'));
    return (
      `${sequences.length} sequences: ${counts.strict} byte for byte, ${counts.lenient} leniently, ` +
      `${counts.allowed} by ${EXCEPTIONS.length} exceptions`
    );
  },
};

/** Undefined when there are sequences, else why not. */
export const prepareSequences = async (): Promise<string | undefined> =>
  sequencesDirectory === ''
    ? "POLYLOG_MQTT_SEQUENCES names no directory with the *.json of Mosquitto's test/broker/data"
    : undefined;
