// DescribeLogDirs (key 35), versions 1–4 (KIP-113, KIP-827): the one directory of this node, what partitions take in it,
// and, from version 4, what the file system has. Partitions that are not there, or whose logs did not open, are left
// out. A leader lags behind nothing, and nothing is moved between directories.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { DescribeLogDirsRequest, DescribeLogDirsResponse } from '../messages/describe-log-dirs.ts';

const SPACE_VERSION_MIN = 4;

type DirectoryAnswer = DescribeLogDirsResponse['results'][number];
type TopicAnswer = DirectoryAnswer['topics'][number];
type PartitionAnswer = TopicAnswer['partitions'][number];

export const describeLogDirs = defineApi({
  key: 35,
  name: 'DescribeLogDirs',
  min: 1,
  max: 4,
  request: DescribeLogDirsRequest,
  response: DescribeLogDirsResponse,
  handle: handleDescribeLogDirs,
});

async function handleDescribeLogDirs(
  request: DescribeLogDirsRequest,
  call: Call,
): Promise<DescribeLogDirsResponse> {
  const { hub } = call.kafka;
  if (!allows(call, 'describe', 'cluster', hub.cluster.clusterId))
    return { errorCode: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, results: [] };
  const space = call.version >= SPACE_VERSION_MIN ? await hub.diskSpace() : undefined;
  const directory: DirectoryAnswer = {
    ...{ errorCode: ERROR_CODES.NONE, logDir: hub.settings.dataDirectory },
    topics: topicsOf(request, call),
    ...(space ?? {}),
  };
  return { errorCode: ERROR_CODES.NONE, results: [directory] };
}

function topicsOf({ topics: asked }: DescribeLogDirsRequest, call: Call): TopicAnswer[] {
  const { topics } = call.kafka.hub;
  if (asked === null)
    return topics.list().map(({ name, partitions }) => answerOf(call, name, partitions.keys()));
  const byTopic = new Map<string, Set<number>>();
  for (const { topic, partitions } of asked) {
    const indexes = byTopic.get(topic) ?? new Set();
    for (const index of partitions) if (topics.partition(topic, index) !== undefined) indexes.add(index);
    if (indexes.size > 0) byTopic.set(topic, indexes);
  }
  return [...byTopic].map(([topic, indexes]) => answerOf(call, topic, indexes));
}

function answerOf(call: Call, name: string, indexes: Iterable<number>): TopicAnswer {
  const { topics, cluster } = call.kafka.hub;
  const partitions: PartitionAnswer[] = [];
  for (const partitionIndex of indexes) {
    const partition = topics.partition(name, partitionIndex);
    if (partition === undefined || cluster.leaderOf(name, partitionIndex) < 0) continue;
    partitions.push({ partitionIndex, partitionSize: partition.byteSize, offsetLag: 0, isFutureKey: false });
  }
  return { name, partitions };
}
