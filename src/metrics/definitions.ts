// Every metric that the hub gives beside those of its process: name (after the prefix), type, what it says, labels. What
// is not here cannot be counted, and dashboards and alerts are held to it.

export const PREFIX = 'polylog_';

export type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition {
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
}

const gauge = (help: string, ...labels: string[]): MetricDefinition => ({ type: 'gauge', help, labels });
const counter = (help: string, ...labels: string[]): MetricDefinition => ({ type: 'counter', help, labels });
const histogram = (help: string, ...labels: string[]): MetricDefinition => ({
  type: 'histogram',
  help,
  labels,
});

export const METRICS = {
  build_info: gauge('1, with the version of the hub and of Node', 'version', 'node_version'),
  up_seconds: gauge('Since the start'),
  ready: gauge('1 when it serves everything'),
  faults: gauge('What keeps it from serving everything: partitions that did not open, mostly'),

  connections: gauge('Open now', 'protocol', 'listener'),
  connections_total: counter(
    'Accepted by their protocol, or refused for a limit or a fault',
    'protocol',
    'result',
  ),

  records_appended_total: counter('Records that clients wrote', 'source'),
  bytes_appended_total: counter('Bytes of those, as they came', 'source'),
  records_delivered_total: counter('Records given to readers, each as often as it was given', 'sink'),
  dropped_total: counter('Messages that a subscriber did not get, by why', 'reason'),
  request_seconds: histogram(
    'From the moment a request is taken until its answer is written',
    'protocol',
    'api',
  ),
  fetch_wait_seconds: histogram('Time that a Kafka fetch waited for records'),

  mqtt_packets_total: counter('MQTT packets', 'type', 'direction'),
  mqtt_sessions: gauge('Sessions with and without a client', 'state'),
  mqtt_subscriptions: gauge('Subscriptions of all sessions that have a client'),
  mqtt_retained_messages: gauge('Retained messages'),
  mqtt_retained_bytes: gauge('Bytes of those in the log'),
  mqtt_inflight: gauge('Messages sent to clients at QoS 1 and 2 and not acknowledged'),
  mqtt_refused_total: counter('What clients were refused, by why', 'reason'),

  groups: gauge('Consumer groups', 'state'),
  group_lag_max: gauge(
    'Records that the partition furthest behind is behind, of the groups with the largest',
    'group',
  ),

  transactions: gauge('Transactions under way', 'state'),
  transactions_total: counter('Transactions that ended', 'result'),
  transaction_oldest_open_seconds: gauge(
    'Age of the transaction that is open for longest; readers of committed records wait for it',
  ),
  transactional_ids: gauge('Transactional ids that are known'),
  transaction_markers_pending: gauge('Markers of decided transactions that are not written'),
  transaction_markers_total: counter('Markers', 'result'),
  transaction_offsets_pending: gauge('Offsets of transactions that have not ended'),

  topics: gauge('Topics, internal ones among them'),
  partitions: gauge('Partitions of all topics'),
  log_bytes: gauge('Bytes of all logs on disk'),
  log_segments: gauge('Files of all logs'),
  log_appended_records_total: counter('Records appended to all logs, the own state of the hub among them'),
  log_appended_bytes_total: counter('Bytes of those on disk'),
  log_unflushed_bytes: gauge('Appended and not on disk yet'),
  log_flush_seconds: histogram('From the start of a write until it is on disk'),
  log_flush_batches: histogram('Batches that shared a flush'),
  log_room_bytes: gauge('Zeros on disk ahead of what is appended, which is where the next records go'),
  log_room_made_bytes_total: counter('Zeros written ahead of what is appended'),
  log_compactions_total: counter('Logs compacted'),
  log_recovery_seconds: gauge('What opening the logs took at the start'),
  log_recovered_bytes: gauge('Bytes that had to be read again at the start'),
  disk_free_bytes: gauge('Free on the file system of the data'),
  disk_total_bytes: gauge('Size of the file system of the data'),

  buffer_bytes: gauge(
    'Memory for records, and for what of requests and answers is on its way, by what for',
    'use',
  ),
  buffer_bytes_max: gauge('What of that there may be', 'use'),
  event_loop_delay_seconds: histogram('How late the event loop comes to what is due'),

  config_reload_total: counter('Times that another configuration was to be taken', 'result'),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;

/** By topic, and only where they were asked for: as many series as there are partitions. */
export const DETAILED_METRICS = {
  topic_log_start_offset: gauge('First offset that can be read', 'topic', 'partition'),
  topic_high_watermark: gauge('Readers see offsets below it', 'topic', 'partition'),
  topic_last_stable_offset: gauge('Readers of committed records see offsets below it', 'topic', 'partition'),
  topic_log_end_offset: gauge('Next offset to be assigned', 'topic', 'partition'),
  topic_log_bytes: gauge('Bytes on disk', 'topic', 'partition'),
  topic_log_segments: gauge('Files', 'topic', 'partition'),
  topic_leader_epoch: gauge('Raised at each start', 'topic', 'partition'),
} as const satisfies Readonly<Record<string, MetricDefinition>>;
