// Random programs against the store; the other half of them is in storage-programs.test.ts.
import { it } from 'vitest';
import { runPrograms, seedsOf } from './run-programs.ts';

const seeds = seedsOf(1);

it(
  `${seeds.length} random programs on a file system that forgets keep what they promised`,
  {
    timeout: 3_600_000,
  },
  () => runPrograms(seeds),
);
