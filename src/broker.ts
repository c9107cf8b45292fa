// The composition root: the protocols that this hub speaks, and a broker made of them. A third protocol is a folder
// under protocols/ and one line here.
//
// The front ends are imported while the stores wait for the disk: half of the program's files are theirs.
import type { Log } from '../protocols/port.ts';
import type { BrokerConfig } from './config/broker-config.ts';
import type { FrontEndFactory } from './front-ends.ts';
import { type Broker, type BrokerOptions, runBroker } from './running-broker.ts';

const FRONT_ENDS: readonly FrontEndFactory[] = [
  {
    protocol: 'kafka',
    create: async (hub, config) => {
      const frontEnd = await (await importKafka()).createKafkaFrontEnd(hub, config.kafka);
      return { frontEnd, reconfigure: ({ kafka }) => frontEnd.reconfigure(kafka) };
    },
  },
  {
    protocol: 'mqtt',
    transports: ['mqtt-ws'],
    create: async (hub, config) => {
      const frontEnd = (await importMqtt()).createMqttFrontEnd(hub, config.mqtt);
      return { frontEnd, reconfigure: ({ mqtt }) => frontEnd.reconfigure(mqtt) };
    },
  },
];

const importKafka = () => import('../protocols/kafka/front-end.ts');
const importMqtt = () => import('../protocols/mqtt/front-end.ts');

/** Throws StorageError, HubError or BrokerError with a sentence for the user; nothing is left open then. */
export function startBroker(config: BrokerConfig, log: Log, options: BrokerOptions = {}): Promise<Broker> {
  const starting = runBroker(config, log, FRONT_ENDS, options);
  const hasListener = (...protocols: string[]) =>
    config.listeners.some(({ protocol }) => protocols.includes(protocol));
  void importInTurns([
    ...(hasListener('kafka') ? [importKafka] : []),
    ...(hasListener('mqtt', 'mqtt-ws') ? [importMqtt] : []),
    ...(options.imports ?? []),
  ]);
  return starting;
}

/** Enough for the disk to be given its first long work, and for what it has done meanwhile to be gone on with. */
const BETWEEN_IMPORTS_MS = 2;

async function importInTurns(imports: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const load of imports) {
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_IMPORTS_MS));
    // Should it fail, whoever needs it tells.
    await load().catch(() => {});
  }
}
