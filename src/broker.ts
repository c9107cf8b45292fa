// The composition root: the protocols that this hub speaks, and a broker made of them. A third protocol is a folder
// under protocols/ and one line here.
import { createKafkaFrontEnd } from '../protocols/kafka/front-end.ts';
import { createMqttFrontEnd } from '../protocols/mqtt/front-end.ts';
import type { Log } from '../protocols/port.ts';
import type { BrokerConfig } from './config/broker-config.ts';
import { type Broker, type BrokerOptions, type FrontEndFactory, runBroker } from './running-broker.ts';

const FRONT_ENDS: readonly FrontEndFactory[] = [
  { protocol: 'kafka', create: (hub, config) => createKafkaFrontEnd(hub, config.kafka) },
  { protocol: 'mqtt', create: (hub, config) => createMqttFrontEnd(hub, config.mqtt) },
];

/** Throws StorageError, HubError or BrokerError with a sentence for the user; nothing is left open then. */
export function startBroker(config: BrokerConfig, log: Log, options: BrokerOptions = {}): Promise<Broker> {
  return runBroker(config, log, FRONT_ENDS, options);
}
