// A client is back: first what was on its way when its connection ended is sent again, in the order in which it was sent
// first (section 4.4), then what the log has had since, then what comes.
import type { Hub } from '../../port.ts';
import type { MqttCounters } from '../counters.ts';
import type { Delivery } from '../deliveries.ts';
import { deliveryOf } from '../deliveries.ts';
import type { LogSource } from '../log-source.ts';
import type { RecordReader } from '../record-reader.ts';
import type { Session } from '../session.ts';
import type { StoredExchange } from './delivery-record.ts';
import type { Place } from './places.ts';

export interface ResumptionOptions {
  readonly hub: Hub;
  readonly reader: RecordReader;
  readonly counters: MqttCounters;
  sourceOf(place: Place): LogSource | undefined;
}

/** The batch of one record comes back whole, however large. */
const READ_BYTES = 1;

/** Resolves when all of it has been sent, or the session is closed. Never rejects. */
export async function resendExchanges(
  session: Session,
  exchanges: readonly StoredExchange[],
  options: ResumptionOptions,
): Promise<void> {
  for (const exchange of exchanges) {
    const { packetId, awaited } = exchange;
    if (awaited === 'pubcomp') {
      if (session.exchanges.takeUp(packetId) === 'pubcomp') session.releaseAgain(packetId);
      continue;
    }
    while (!session.canTakeUp && !session.closed) await session.whenRoom();
    if (session.closed) return;
    await resendPublish(session, exchange, options);
    if (session.closed) return;
  }
}

async function resendPublish(
  session: Session,
  exchange: StoredExchange,
  { hub, reader, counters, sourceOf }: ResumptionOptions,
): Promise<void> {
  const { topicId, partition, offset, packetId } = exchange;
  const source = sourceOf(exchange);
  const log = hub.topics.getById(topicId)?.partitions[partition];
  const range = await log?.read({ offset, maxBytes: READ_BYTES, upTo: 'highWatermark' });
  if (session.closed || session.exchanges.takeUp(packetId) === undefined) return;
  if (range === undefined || range.refused !== undefined || source === undefined) {
    giveUp(session, exchange, counters, hub);
    return;
  }
  reader.open(range);
  if (!reader.next(offset) || reader.offset !== offset || !session.mayRead(source.partition.topic)) {
    giveUp(session, exchange, counters, hub);
  } else {
    const match = reader.match(source);
    const delivery = deliveryOf(match, session) ?? { ...WITHOUT_SUBSCRIPTION, subscriber: session };
    const message = reader.readAgain(match, session.version === 5);
    session.redeliver(message, packetId, exchange.retain, delivery);
  }
  range.release?.();
}

/** Retention, or a topic's end, came first. */
function giveUp(session: Session, exchange: StoredExchange, counters: MqttCounters, hub: Hub): void {
  counters.droppedRetention++;
  hub.log.warn('mqtt-exchange-lost', { clientId: session.clientId, ...exchange });
  session.own.skipped++;
  session.abandon(exchange.packetId);
}

/** Its subscription has ended since; the exchange has not. */
const WITHOUT_SUBSCRIPTION: Omit<Delivery<Session>, 'subscriber'> = {
  qos: 2,
  retainAsPublished: false,
  identifiers: [],
  own: undefined,
};
