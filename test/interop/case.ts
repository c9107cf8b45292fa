// One case of the interoperability suite: what it shows, which programs it needs, and the run itself.
import type { HubProcess } from '../helpers/hub-process.ts';

export interface InteropCase {
  readonly name: string;
  /** Programs without which it cannot run; see programs.ts. */
  readonly needs: readonly ProgramName[];
  /** It fails when it takes longer; a minute unless told. */
  readonly timeoutMs?: number;
  /** Throws when it fails; a text that it resolves with says what it did beyond its name. */
  run(hub: HubProcess): Promise<unknown>;
}

export type ProgramName =
  | 'kcat'
  | 'mosquitto_sub'
  | 'mosquitto_pub'
  | 'mosquitto'
  | 'curl'
  | 'promtool'
  | 'systemd-analyze'
  | 'systemd-notify'
  | 'kafka-tools'
  | 'kafka-broker'
  | 'java-clients'
  | 'java-mqtt'
  | 'python3'
  | 'python-kafka'
  | 'python-mqtt'
  | 'go'
  | 'mqtt-sequences';

let topics = 0;

/** A topic that no other case uses. */
export function freshTopic(prefix: string): string {
  topics += 1;
  return `${prefix}-${topics}`;
}
