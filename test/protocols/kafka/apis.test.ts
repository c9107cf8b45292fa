// The list of APIs: what is advertised is what is served, and what the READMEs say.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderApiTable } from '../../../protocols/kafka/api-table.ts';
import { APIS } from '../../../protocols/kafka/apis.ts';

function tableIn(readme: string): string {
  return /<!-- apis -->\n+([\s\S]*?)\n+<!-- \/apis -->/.exec(readFileSync(readme, 'utf8'))?.[1] ?? 'no table';
}

describe('the list of APIs', () => {
  test.each(['protocols/kafka/README.md', 'README.md'])('is the table of %s', (readme) => {
    expect(tableIn(readme)).toBe(renderApiTable(APIS));
  });

  test('has each version of a key once', () => {
    const versions = APIS.flatMap(({ key, min, max }) =>
      Array.from({ length: max - min + 1 }, (_, index) => `${key} ${min + index}`),
    );
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('serves these ranges', () => {
    const ranges = Object.fromEntries(
      APIS.filter(({ isRefused }) => !isRefused).map(({ name, min, max }) => [name, [min, max]]),
    );
    expect(ranges).toMatchObject({
      ApiVersions: [0, 4],
      Metadata: [0, 13],
      Produce: [3, 13],
      ListOffsets: [1, 10],
      OffsetForLeaderEpoch: [2, 4],
      FindCoordinator: [0, 6],
      JoinGroup: [0, 9],
      SyncGroup: [0, 5],
      Heartbeat: [0, 4],
      LeaveGroup: [0, 5],
      OffsetCommit: [2, 9],
      OffsetFetch: [1, 9],
      DescribeGroups: [0, 6],
      ListGroups: [0, 5],
      DeleteGroups: [0, 2],
      OffsetDelete: [0, 0],
      CreateTopics: [2, 7],
      DeleteTopics: [1, 6],
      CreatePartitions: [0, 3],
      DescribeConfigs: [1, 4],
      AlterConfigs: [0, 2],
      IncrementalAlterConfigs: [0, 1],
      ListConfigResources: [0, 1],
      DescribeLogDirs: [1, 4],
      DescribeTopicPartitions: [0, 0],
      ElectLeaders: [0, 2],
      AlterPartitionReassignments: [0, 0],
      ListPartitionReassignments: [0, 0],
      InitProducerId: [0, 5],
      DescribeCluster: [0, 2],
      DescribeProducers: [0, 0],
      ConsumerGroupHeartbeat: [0, 1],
      ConsumerGroupDescribe: [0, 1],
    });
  });
});
