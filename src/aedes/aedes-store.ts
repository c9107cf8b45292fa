// `polylog/aedes`: what an aedes application gives its broker instead of its own persistence and emitter. See README.md.
import type { Hub, MessagingDirectory } from '../../protocols/port.ts';
import { type AedesBroker, LogPersistence } from './aedes-persistence.ts';
import { AedesStoreError } from './aedes-state.ts';
import { Deliveries } from './deliveries.ts';
import { type EmittedMessage, type EmitterOptions, LogEmitter } from './log-emitter.ts';
import { LogMessages } from './log-messages.ts';
import type { AedesPacket } from './packets.ts';

/** A hub that runs in this process; `startPolylog` of `polylog` gives one. */
export interface AedesHub {
  readonly hub: Hub;
  readonly messaging: MessagingDirectory;
}

export interface AedesStoreOptions extends EmitterOptions {
  /** Internal topic with the state of the broker: another for each of several brokers on one hub. */
  readonly stateTopic?: string;
}

export interface AedesStore {
  readonly persistence: LogPersistence;
  readonly mq: LogEmitter;
}

const STATE_TOPIC = '__aedes_state';

/** Resolves when what is stored has been read. Rejects when the hub cannot. */
export async function openAedesStore(
  polylog: AedesHub,
  options: AedesStoreOptions = {},
): Promise<AedesStore> {
  const { stateTopic = STATE_TOPIC, ...emitter } = options;
  let broker: AedesBroker | undefined;
  const deliveries = new Deliveries();
  const persistence = await LogPersistence.open(polylog.hub, stateTopic, {
    deliveries,
    onSetup: (own) => {
      broker = own;
    },
  });
  const mq = openEmitter(polylog, emitter, { deliveries, brokerOf: () => broker });
  return { persistence, mq };
}

/** What an emitter shares with the persistence of the same broker. */
interface Shared {
  readonly deliveries: Deliveries;
  /** What messages from the log are given to, so that they wait for clients that are away; else they go to listeners. */
  brokerOf(): AedesBroker | undefined;
}

/** An emitter alone. */
export function openEmitter(
  { hub, messaging }: AedesHub,
  options: EmitterOptions = {},
  { deliveries, brokerOf }: Shared = { deliveries: new Deliveries(), brokerOf: () => undefined },
): LogEmitter {
  // Another name at each start: a broker begins to count anew.
  const brokerId = `polylog-${hub.random.uuid()}`;
  const messages = new LogMessages({
    hub,
    messaging,
    brokerId,
    onMessage: (packet) => hand(packet, brokerOf(), mq),
  });
  const mq: LogEmitter = new LogEmitter(
    {
      messaging,
      deliveries,
      isFromLog: (message) => message['brokerId'] === brokerId,
      noteOwn: (topic, partition, offset) => messages.own.add(topic, partition, offset),
      close: () => messages.close(),
    },
    options,
  );
  return mq;
}

function hand(packet: AedesPacket, broker: AedesBroker | undefined, mq: LogEmitter): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => {
      if (error === undefined || error === null) resolve();
      else reject(error);
    };
    if (broker !== undefined) broker.publish(packet, done);
    else if (packet.topic !== undefined)
      mq.emit(packet as AedesPacket & EmittedMessage, done); // it has a topic
    else reject(new AedesStoreError('invalid', 'a message without a topic'));
  });
}
