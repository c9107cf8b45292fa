// MQTT clients of other languages (clients/), each in the versions it speaks: QoS 0 to 2 both ways, a session that is
// resumed, retained messages, a will, and properties to and from Kafka's headers. A program says what it did as
// `did: WORDS`; what lies in the topic, and what comes of a record of Kafka, is checked here.
import { deepEqual, equal } from 'node:assert/strict';
import { join } from 'node:path';
import { Child } from '../helpers/child.ts';
import type { HubProcess } from '../helpers/hub-process.ts';
import { npmKafkaClients } from '../helpers/kafka-clients.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase, type ProgramName } from './case.ts';
import { checkSteps } from './client-program.ts';
import { goProgram } from './go-clients.ts';
import { startMqttJava } from './java.ts';
import { playMosquittoTools } from './mosquitto-tools.ts';
import { startPythonWithMqtt } from './python.ts';
import type { SaidMessage } from './said-message.ts';

const clients = join(import.meta.dirname, 'clients');

const STEPS = [
  'delivered at QoS 0, 1 and 2',
  'resumed a session',
  'retained and cleared',
  'left a will',
  'published for Kafka',
  'subscribed for Kafka',
  'all',
] as const;

interface Program {
  readonly client: string;
  readonly versions: readonly (4 | 5)[];
  readonly needs: readonly ProgramName[];
  /** Whether it shows properties of one name together, wherever they stood. */
  readonly groups?: boolean;
  /** @param args the port, the version and the topic */
  start(args: readonly string[]): Child;
}

const TIMEOUT_MS = 60_000;

const programs: readonly Program[] = [
  {
    client: 'MQTT.js',
    versions: [4, 5],
    needs: [],
    groups: true,
    start: (args) =>
      new Child(process.execPath, ['--import', 'tsx', join(clients, 'mqtt-js.ts'), ...args], {
        timeoutMs: TIMEOUT_MS,
      }),
  },
  {
    client: 'paho-mqtt (Python)',
    versions: [4, 5],
    needs: ['python-mqtt'],
    start: (args) => startPythonWithMqtt(join(clients, 'python-mqtt.py'), args, TIMEOUT_MS),
  },
  {
    client: 'paho.golang',
    versions: [5],
    needs: ['go'],
    start: (args) => new Child(goProgram('paho-mqtt'), args, { timeoutMs: TIMEOUT_MS }),
  },
  {
    client: 'Eclipse Paho (Java)',
    versions: [5],
    needs: ['java-mqtt'],
    start: (args) => startMqttJava('PahoProgram', args, TIMEOUT_MS),
  },
  {
    client: 'HiveMQ (Java)',
    versions: [4, 5],
    needs: ['java-mqtt'],
    start: (args) => startMqttJava('HiveMqProgram', args, TIMEOUT_MS),
  },
];

const WHAT =
  'QoS 0 to 2, a session resumed, retained messages, a will, properties to and from headers of Kafka';

export const mqttClients: readonly InteropCase[] = [
  ...programs.flatMap((program) =>
    program.versions.map(
      (version): InteropCase => ({
        name: `${program.client} ${version === 5 ? '5' : '3.1.1'}: ${WHAT}`,
        needs: program.needs,
        run: (hub) => playProgram(hub, program, version),
      }),
    ),
  ),
  ...([4, 5] as const).map(
    (version): InteropCase => ({
      name: `mosquitto_pub and mosquitto_sub ${version === 5 ? '5' : '3.1.1'}: ${WHAT}`,
      needs: ['mosquitto_sub', 'mosquitto_pub'],
      async run(hub) {
        const topic = freshTopic('mosquitto-tools');
        const produce = (): Promise<void> => produceForMqtt(hub, topic);
        const message = await playMosquittoTools(hub.mqttPort, version, topic, produce);
        checkMessage(message, topic, version, false);
        await checkStored(hub, topic, version, false, '\x01\x02');
      },
    }),
  ),
];

async function playProgram(
  hub: HubProcess,
  { client, groups = false, start }: Program,
  version: 4 | 5,
): Promise<void> {
  const topic = freshTopic(client.toLowerCase().replaceAll(/[^a-z]+/g, '-'));
  const child = start([`${hub.mqttPort}`, `${version}`, topic]);
  await child.waitFor(/^did: subscribed for Kafka\r?$/m);
  await produceForMqtt(hub, topic);
  const { code, stdout, stderr } = await child.finished;
  equal(code, 0, `${stdout}${stderr}`);
  const output = stdout.toString();
  checkSteps(output, STEPS);
  const line = /^message: (.*)$/m.exec(output)?.[1] ?? 'null';
  checkMessage(JSON.parse(line), topic, version, groups);
  await checkStored(hub, topic, version, groups);
}

const USER_PROPERTIES = [
  ['unit', '°C'],
  ['site', 'a'],
  ['unit', 'K'],
] as const;

async function produceForMqtt({ kafkaPort }: HubProcess, topic: string): Promise<void> {
  const [kafka] = npmKafkaClients.filter(({ groupsHeaders }) => !groupsHeaders);
  if (kafka === undefined) throw new Error('no client of Kafka');
  const headers = [
    ...USER_PROPERTIES.map(([name, value]) => [name, Buffer.from(value)] as const),
    ['mqtt.content-type', Buffer.from('text/plain')] as const,
    ['mqtt.response-topic', Buffer.from(`${topic}/answer`)] as const,
    ['mqtt.correlation-data', Buffer.from([0, 1, 255])] as const,
  ];
  const key = Buffer.from(`${topic}/from-kafka`);
  await kafka.produce(kafkaPort, topic, [{ key, value: Buffer.from('from Kafka'), headers }]);
}

function checkMessage(message: unknown, topic: string, version: 4 | 5, groups: boolean): void {
  const has = version === 5;
  const expected: SaidMessage = {
    topic: `${topic}/from-kafka`,
    payload: Buffer.from('from Kafka').toString('hex'),
    contentType: has ? 'text/plain' : null,
    responseTopic: has ? `${topic}/answer` : null,
    correlationData: has ? '0001ff' : null,
    userProperties: has ? inOrder(USER_PROPERTIES, groups) : [],
  };
  deepEqual(message, expected);
}

/** The record of the publish for Kafka: key, value, user properties in order, and what the hub tells of the rest. */
async function checkStored(
  { kafkaPort }: HubProcess,
  topic: string,
  version: 4 | 5,
  groups: boolean,
  correlationData = '\x00\x01\xff',
): Promise<void> {
  const raw = await RawKafka.connect(kafkaPort);
  const records = await raw.fetchAll(topic, 0);
  raw.close();
  const record = records.find(({ key }) => key?.toString() === `${topic}/to-kafka`);
  if (record === undefined) throw new Error('nothing was stored for Kafka');
  const headers = record.headers.map(([name, value]) => [name, value?.toString('latin1') ?? ''] as const);
  const own = headers.filter(([name]) => !name.startsWith('mqtt.'));
  const told = Object.fromEntries(headers.filter(([name]) => name.startsWith('mqtt.')));
  delete told['mqtt.client-id'];
  const given = inOrder(USER_PROPERTIES, groups).map(([name, value]) => [
    name,
    Buffer.from(value).toString('latin1'),
  ]);
  deepEqual(
    { value: record.value?.toString(), own, told },
    {
      value: 'from MQTT',
      own: version === 5 ? given : [],
      told: {
        'mqtt.topic': `${topic}/to-kafka`,
        'mqtt.qos': '2',
        ...(version === 5
          ? {
              'mqtt.content-type': 'text/plain',
              'mqtt.response-topic': `${topic}/answer`,
              'mqtt.correlation-data': correlationData,
              'mqtt.payload-format': '1',
              'mqtt.expiry': '3600',
            }
          : {}),
      },
    },
  );
}

/** As they were given, or of each name together in the order of first appearance. */
function inOrder(
  properties: readonly (readonly [string, string])[],
  groups: boolean,
): (readonly [string, string])[] {
  if (!groups) return [...properties];
  const names = [...new Set(properties.map(([name]) => name))];
  return names.flatMap((name) => properties.filter(([each]) => each === name));
}
