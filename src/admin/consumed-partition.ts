// How far somebody has read a partition, and how far behind that is: consumer groups and sessions are shown alike.
import * as z from 'zod';
import { count, milliseconds } from './shapes.ts';

export const consumedPartitionShape = z
  .strictObject({
    topic: z.string(),
    partition: count,
    committed: count
      .nullable()
      .meta({ description: 'Next offset to be read; null when none was committed.' }),
    logEnd: count
      .nullable()
      .meta({ description: 'Where readers see the end of the log; null when the topic is gone.' }),
    lag: count.nullable().meta({ description: 'Records from `committed` to `logEnd`; null without either.' }),
    metadata: z.string().nullable(),
    leaderEpoch: z.int().nullable(),
    committedAtMs: milliseconds.nullable(),
    memberId: z.string().nullable().meta({ description: 'Of the member that the partition is assigned to.' }),
    clientId: z.string().nullable(),
    host: z.string().nullable(),
  })
  .meta({
    id: 'ConsumedPartition',
    description: 'How far somebody is in a partition.',
    examples: [
      {
        topic: 'telemetry',
        partition: 0,
        committed: 700,
        logEnd: 950,
        lag: 250,
        metadata: null,
        leaderEpoch: 1,
        committedAtMs: 1764000000123,
        memberId: null,
        clientId: null,
        host: null,
      },
    ],
  });

export type ConsumedPartition = z.output<typeof consumedPartitionShape>;
