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

function topicsOf({ topics }: DescribeLogDirsRequest, call: Call): TopicAnswer[] {
  const known = call.kafka.hub.topics;
  const asked =
    topics === null
      ? known.list().map(({ name, partitions }) => [name, partitions.keys()] as const)
      : topics.map(({ topic, partitions }) => [topic, partitions] as const);
  return asked
    .map(([name, partitions]) => ({ name, partitions: partitionsOf(call, name, new Set(partitions)) }))
    .filter(({ partitions }) => partitions.length > 0);
}

function partitionsOf(call: Call, topic: string, indexes: Iterable<number>): PartitionAnswer[] {
  const { topics, cluster } = call.kafka.hub;
  const answers: PartitionAnswer[] = [];
  for (const partitionIndex of indexes) {
    const partition = topics.partition(topic, partitionIndex);
    if (partition === undefined || cluster.leaderOf(topic, partitionIndex) < 0) continue;
    answers.push({ partitionIndex, partitionSize: partition.byteSize, offsetLag: 0, isFutureKey: false });
  }
  return answers;
}
