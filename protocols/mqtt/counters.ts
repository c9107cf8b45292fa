// What the front end counts. Every message that does not reach somebody has its reason here, and its subject in the log
// (those that expire have none: that is what their publisher asked for).

/** Of a first byte's upper half. */
const PACKET_TYPES = 16;

export interface MqttCounters {
  /** Whole packets of clients, by type (framing.ts), and bytes of theirs, packets or not. */
  readonly received: Float64Array;
  bytesReceived: number;
  /** Publishes taken from clients, and those that were refused or could not be stored. */
  publishesReceived: number;
  /** Payloads of those that were taken. */
  publishBytesReceived: number;
  publishesRefused: number;
  /** Records of other protocols that were to be retained, beyond a limit of retained messages. */
  retainedRefused: number;
  /** PUBLISH packets sent, one per receiving client. */
  messagesDelivered: number;
  /** Packets sent that are no PUBLISH, by type. */
  readonly sent: Float64Array;
  /** At QoS 0 to a client that does not read fast enough. */
  droppedSlow: number;
  /** Larger than the client's Maximum Packet Size [MQTT-3.1.2-25]. */
  droppedTooLarge: number;
  /** Past its Message Expiry Interval, at every client it would have gone to. */
  droppedExpired: number;
  /** Records that retention removed before a slow client, or the dispatcher, got to them. */
  droppedRetention: number;
  /** Offsets of the log that a client did not get, for more waited for it than may. */
  droppedQueueLimit: number;
  /** At QoS 0 while the client was away. */
  droppedOffline: number;
  /** Records that could not be looked at: a fault of ours or of the disk. */
  droppedFault: number;
  /** Sessions whose time was over before their client came back. */
  sessionsExpired: number;
  /** Connections of the transport, whatever became of them. */
  socketsOpened: number;
  connectionsAccepted: number;
  /** For whatever reason; those below are among them. */
  connectionsRefused: number;
  /** Of those that came over WebSocket. */
  webSocketsAccepted: number;
  webSocketsRefused: number;
  /** No whole CONNECT in time. */
  connectTimeouts: number;
  addressLimitRefused: number;
  connectRateRefused: number;
  /** Connections ended by a packet above the limit. */
  packetsTooLarge: number;
  /** Names and filters that are too long, have too many levels or wildcards. */
  topicsRefused: number;
  /** Filters that SUBACK refused, for whatever reason. */
  subscriptionsRefused: number;
  userPropertiesRefused: number;
  /** Times that a client was not read because it publishes faster than it may. */
  publishRateWaits: number;
  /** What a policy refused. */
  hookRefusals: number;
}

export function newCounters(): MqttCounters {
  return {
    received: new Float64Array(PACKET_TYPES),
    bytesReceived: 0,
    publishesReceived: 0,
    publishBytesReceived: 0,
    publishesRefused: 0,
    retainedRefused: 0,
    messagesDelivered: 0,
    sent: new Float64Array(PACKET_TYPES),
    droppedSlow: 0,
    droppedTooLarge: 0,
    droppedExpired: 0,
    droppedRetention: 0,
    droppedQueueLimit: 0,
    droppedOffline: 0,
    droppedFault: 0,
    sessionsExpired: 0,
    socketsOpened: 0,
    connectionsAccepted: 0,
    connectionsRefused: 0,
    webSocketsAccepted: 0,
    webSocketsRefused: 0,
    connectTimeouts: 0,
    addressLimitRefused: 0,
    connectRateRefused: 0,
    packetsTooLarge: 0,
    topicsRefused: 0,
    subscriptionsRefused: 0,
    userPropertiesRefused: 0,
    publishRateWaits: 0,
    hookRefusals: 0,
  };
}

export function countConnection(
  counters: MqttCounters,
  outcome: 'accepted' | 'refused',
  isWebSocket: boolean,
): void {
  if (outcome === 'accepted') {
    counters.connectionsAccepted++;
    if (isWebSocket) counters.webSocketsAccepted++;
  } else {
    counters.connectionsRefused++;
    if (isWebSocket) counters.webSocketsRefused++;
  }
}

export function packetsReceived({ received }: MqttCounters): number {
  return received.reduce((sum, count) => sum + count, 0);
}

export function packetsSent({ messagesDelivered, sent }: MqttCounters): number {
  return sent.reduce((sum, count) => sum + count, messagesDelivered);
}

/** Messages that somebody did not get, for whatever reason. */
export function droppedByReason(counters: MqttCounters): Readonly<Record<string, number>> {
  return {
    slow: counters.droppedSlow,
    too_large: counters.droppedTooLarge,
    expired: counters.droppedExpired,
    retention: counters.droppedRetention,
    queue_limit: counters.droppedQueueLimit,
    offline: counters.droppedOffline,
    fault: counters.droppedFault,
  };
}

export function messagesDropped(counters: MqttCounters): number {
  return Object.values(droppedByReason(counters)).reduce((sum, count) => sum + count, 0);
}
