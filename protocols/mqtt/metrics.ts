// What the front end gives when somebody asks for metrics: its counters, and a walk over those that are connected.
import type { MetricSink } from '../port.ts';
import type { Context } from './client.ts';
import { droppedByReason, type MqttCounters } from './counters.ts';
import { PACKET_TYPE } from './framing.ts';

const TYPES = Object.entries(PACKET_TYPE).map(([name, type]) => ({ name: name.toLowerCase(), type }));

export function collectCounters(counters: MqttCounters, sink: MetricSink): void {
  const protocol = 'mqtt';
  const { connectionsAccepted, connectionsRefused, webSocketsAccepted, webSocketsRefused } = counters;
  const connections = (of: string, accepted: number, refused: number): void => {
    sink.add('connections_total', accepted, { protocol: of, result: 'accepted' });
    sink.add('connections_total', refused, { protocol: of, result: 'refused' });
  };
  connections('mqtt', connectionsAccepted - webSocketsAccepted, connectionsRefused - webSocketsRefused);
  connections('mqtt-ws', webSocketsAccepted, webSocketsRefused);
  sink.add('records_appended_total', counters.publishesReceived - counters.publishesRefused, {
    source: protocol,
  });
  sink.add('bytes_appended_total', counters.publishBytesReceived, { source: protocol });
  sink.add('records_delivered_total', counters.messagesDelivered, { sink: protocol });
  for (const [reason, count] of Object.entries(droppedByReason(counters)))
    sink.add('dropped_total', count, { reason });
  for (const { name, type } of TYPES) {
    const sent = counters.sent[type]! + (type === PACKET_TYPE.PUBLISH ? counters.messagesDelivered : 0);
    sink.add('mqtt_packets_total', counters.received[type]!, { type: name, direction: 'in' });
    sink.add('mqtt_packets_total', sent, { type: name, direction: 'out' });
  }
  for (const [reason, count] of Object.entries(refusedByReason(counters)))
    sink.add('mqtt_refused_total', count, { reason });
}

export function collectContext({ clients, sessions, retained, tree }: Context, sink: MetricSink): void {
  let [durable, inflight] = [0, 0];
  for (const { session } of clients.values()) {
    if (session?.durable !== undefined) durable++;
    inflight += session?.inflightCount ?? 0;
  }
  sink.add('mqtt_sessions', clients.size, { state: 'connected' });
  sink.add('mqtt_sessions', Math.max(0, sessions.count - durable), { state: 'offline' });
  sink.add('mqtt_subscriptions', tree.size);
  sink.add('mqtt_inflight', inflight);
  sink.add('mqtt_retained_messages', retained.count);
  sink.add('mqtt_retained_bytes', retained.byteLength);
}

function refusedByReason(counters: MqttCounters): Readonly<Record<string, number>> {
  return {
    publish: counters.publishesRefused,
    retained: counters.retainedRefused,
    no_connect: counters.connectTimeouts,
    address_limit: counters.addressLimitRefused,
    connect_rate: counters.connectRateRefused,
    packet_size: counters.packetsTooLarge,
    topic: counters.topicsRefused,
    subscription: counters.subscriptionsRefused,
    user_properties: counters.userPropertiesRefused,
    policy: counters.hookRefusals,
  };
}
