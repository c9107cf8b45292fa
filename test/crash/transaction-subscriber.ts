// An MQTT subscriber of everything, in process: the front end's dispatchers and a session over a hub, without a socket.
// One that comes after another goes on where that one was.
import { CatchUp } from '../../protocols/mqtt/catch-up.ts';
import { newCounters } from '../../protocols/mqtt/counters.ts';
import { Matches } from '../../protocols/mqtt/deliveries.ts';
import { Dispatchers } from '../../protocols/mqtt/dispatchers.ts';
import { NO_MAPPINGS } from '../../protocols/mqtt/mapping/mappings.ts';
import { FlushQueue, Output, OutputBuffers } from '../../protocols/mqtt/output.ts';
import { RecordReader } from '../../protocols/mqtt/record-reader.ts';
import { RecordTopics } from '../../protocols/mqtt/record-topic.ts';
import { Session, type SessionSubscription } from '../../protocols/mqtt/session.ts';
import { SubscriptionTree } from '../../protocols/mqtt/subscription-tree.ts';
import type { Hub, Partition } from '../../protocols/port.ts';
import { FakeClient } from '../protocols/mqtt/delivery-fixture.ts';

const LEVELS_MAX = 16;
const BYTES_MAX = 64 * 1024;

/** @param from where it begins in each partition */
export function subscribeToAll(hub: Hub, from: ReadonlyMap<Partition, number>): FakeClient {
  const tree = new SubscriptionTree<SessionSubscription>();
  const counters = newCounters();
  const topics = new RecordTopics(new Matches<Session>(tree), LEVELS_MAX);
  const newReader = (): RecordReader =>
    new RecordReader({ cursor: hub.cursor(), clock: hub.clock, topics, counters });
  const shared = { hub, counters, mappings: NO_MAPPINGS, followBytesMax: BYTES_MAX };
  const dispatchers = new Dispatchers({ ...shared, tree, reader: newReader() });
  const queue = new FlushQueue((flush) => setImmediate(flush));
  const client = new FakeClient(
    (sink) =>
      new Session({
        ...{ clientId: 'subscriber', version: 5, counters, access: hub.access, log: hub.log },
        principal: { name: 'subscriber', listener: 'mqtt', remoteAddress: '127.0.0.1' },
        output: new Output(sink, new OutputBuffers(), queue),
        ...{ inflightMax: 100, packetBytesMax: BYTES_MAX, outputBytesMax: BYTES_MAX, topicAliasMaximum: 0 },
      }),
    5,
    hub.clock,
  );
  client.session.lag = new CatchUp(client.session, { ...shared, reader: newReader() });
  dispatchers.subscribe([
    {
      ...{ subscriber: client.session, filter: '#', qos: 0, noLocal: false, retainAsPublished: false },
      ...{ identifier: 0, from },
    },
  ]);
  return client;
}
