// What of the hub, its store and its front ends is told when somebody asks: a walk over what is in memory anyway. The
// number of series is bounded: nothing is named that clients can make any number of.
import type {
  GroupDirectory,
  Hub,
  ListenerView,
  MetricSink,
  Topics,
  TopicView,
} from '../../protocols/port.ts';
import type { StoreCounters } from '../../storage/index.ts';

export interface MetricsTarget {
  readonly hub: Hub;
  readonly startedAtMs: number;
  readonly recovery: { readonly durationMs: number; readonly recoveredBytes: number };
  readonly storeCounters: Readonly<StoreCounters>;
  readonly groups: GroupDirectory;
  listeners(): readonly ListenerView[];
  ready(): readonly string[];
  /** What front ends, and whoever else counts, have to add. */
  collect(sink: MetricSink): void;
}

/** Groups that are told by name: those that are furthest behind. */
const GROUPS_NAMED_MAX = 200;
/** Committed offsets that one answer looks at; groups after that are counted, and not told how far behind they are. */
const OFFSETS_LOOKED_AT_MAX = 200_000;

export async function collectHub(target: MetricsTarget, version: string, sink: MetricSink): Promise<void> {
  const { hub, startedAtMs } = target;
  sink.add('build_info', 1, { version, node_version: process.version });
  sink.add('up_seconds', Math.max(0, hub.clock.now() - startedAtMs) / 1000);
  const faults = target.ready().length;
  sink.add('ready', faults === 0 ? 1 : 0);
  sink.add('faults', faults);
  for (const { protocol, name, connections } of target.listeners())
    sink.add('connections', connections, { protocol, listener: name });
  collectStore(target, sink);
  collectLogs(hub.topics, sink);
  collectGroups(target.groups, hub.topics, sink);
  target.collect(sink);
  const disk = await hub.diskSpace();
  if (disk === undefined) return;
  sink.add('disk_free_bytes', disk.usableBytes);
  sink.add('disk_total_bytes', disk.totalBytes);
}

function collectStore({ storeCounters: counters, recovery }: MetricsTarget, sink: MetricSink): void {
  sink.add('log_appended_records_total', counters.appendedRecords);
  sink.add('log_appended_bytes_total', counters.appendedBytes);
  sink.add('log_unflushed_bytes', counters.unflushedBytes);
  sink.addHistogram('log_flush_seconds', counters.flushSeconds);
  sink.addHistogram('log_flush_batches', counters.flushBatches);
  sink.add('log_room_bytes', counters.roomBytes);
  sink.add('log_room_made_bytes_total', counters.roomMadeBytes);
  sink.add('log_compactions_total', counters.compactions);
  sink.add('log_recovery_seconds', recovery.durationMs / 1000);
  sink.add('log_recovered_bytes', recovery.recoveredBytes);
}

function collectLogs(topics: Topics, sink: MetricSink): void {
  let [partitions, bytes, segments] = [0, 0, 0];
  const all = topics.list();
  for (const topic of all) {
    for (const partition of topic.partitions) {
      partitions++;
      bytes += partition.byteSize;
      segments += partition.segmentCount;
    }
  }
  sink.add('topics', all.length);
  sink.add('partitions', partitions);
  sink.add('log_bytes', bytes);
  sink.add('log_segments', segments);
}

function collectGroups(groups: GroupDirectory, topics: Topics, sink: MetricSink): void {
  const lags: { readonly group: string; readonly lag: number }[] = [];
  let lookedAt = 0;
  for (const { groupId, state } of groups.list()) {
    sink.add('groups', 1, { state });
    if (lookedAt >= OFFSETS_LOOKED_AT_MAX) continue;
    let lag = -1;
    for (const { topic, partition, committed } of groups.offsets(groupId) ?? []) {
      lookedAt++;
      const end = topics.partition(topic, partition)?.highWatermark;
      if (end !== undefined && committed >= 0) lag = Math.max(lag, end - committed);
    }
    if (lag >= 0) lags.push({ group: groupId, lag });
  }
  lags.sort((left, right) => right.lag - left.lag);
  for (const { group, lag } of lags.slice(0, GROUPS_NAMED_MAX)) sink.add('group_lag_max', lag, { group });
}

export function collectTopic({ name: topic, partitions }: TopicView, sink: MetricSink): void {
  for (const partition of partitions) {
    const labels = { topic, partition: String(partition.partition) };
    sink.add('topic_log_start_offset', partition.logStartOffset, labels);
    sink.add('topic_high_watermark', partition.highWatermark, labels);
    sink.add('topic_last_stable_offset', partition.lastStableOffset, labels);
    sink.add('topic_log_end_offset', partition.logEndOffset, labels);
    sink.add('topic_log_bytes', partition.byteSize, labels);
    sink.add('topic_log_segments', partition.segmentCount, labels);
    sink.add('topic_leader_epoch', partition.leaderEpoch, labels);
  }
}
