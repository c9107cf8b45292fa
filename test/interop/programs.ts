// Which programs from elsewhere are here, and why one is not.
import { isInstalled } from '../helpers/child.ts';
import type { ProgramName } from './case.ts';
import { prepareGo } from './go-clients.ts';
import { prepareJavaClients, prepareMqttJava } from './java.ts';
import { prepareKafkaBroker } from './kafka-broker.ts';
import { prepareKafkaTools } from './kafka-tools.ts';
import { prepareSequences } from './mqtt-sequences/mqtt-sequences.ts';
import { preparePython, preparePythonWithKafka, preparePythonWithMqtt } from './python.ts';

/** Fetched or built before they can be used. */
type PreparedName =
  | 'kafka-tools'
  | 'kafka-broker'
  | 'java-clients'
  | 'java-mqtt'
  | 'python3'
  | 'python-kafka'
  | 'python-mqtt'
  | 'go'
  | 'mqtt-sequences';

const INSTALLED_BY: Readonly<Record<Exclude<ProgramName, PreparedName>, string>> = {
  kcat: 'apt-get install kcat',
  mosquitto_sub: 'apt-get install mosquitto-clients',
  mosquitto_pub: 'apt-get install mosquitto-clients',
  mosquitto: 'apt-get install mosquitto',
  curl: 'apt-get install curl',
  promtool: 'apt-get install prometheus',
  'systemd-analyze': 'apt-get install systemd',
  'systemd-notify': 'apt-get install systemd',
};

const PREPARED_BY: Readonly<Record<PreparedName, () => Promise<string | undefined>>> = {
  'kafka-tools': prepareKafkaTools,
  'kafka-broker': prepareKafkaBroker,
  'java-clients': prepareJavaClients,
  'java-mqtt': prepareMqttJava,
  python3: preparePython,
  'python-kafka': preparePythonWithKafka,
  'python-mqtt': preparePythonWithMqtt,
  go: prepareGo,
  'mqtt-sequences': prepareSequences,
};

/** Why each missing program cannot be used; a program that is not in the map can. */
export async function missingPrograms(): Promise<ReadonlyMap<ProgramName, string>> {
  const missing = new Map<ProgramName, string>();
  for (const [program, command] of Object.entries(INSTALLED_BY)) {
    // The keys of a record of program names are program names.
    if (!(await isInstalled(program)))
      missing.set(program as ProgramName, `${program} is not installed (${command})`);
  }
  for (const [program, prepare] of Object.entries(PREPARED_BY)) {
    const problem = await prepare();
    // As above.
    if (problem !== undefined) missing.set(program as ProgramName, problem);
  }
  return missing;
}
