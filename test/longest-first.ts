// The order in which files are tested: those that take longest first, so that none of them is left for the end, when the
// other worker has nothing to do. The runner knows only what the last run on this machine took, and orders a fresh
// checkout by the sizes of files, of which the longest tests are the smallest.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take most of a second core's time (other processes, the disk) between those that take all of one. */
const LONGEST: readonly string[] = [
  'crash/storage-programs.test.ts',
  'crash/store-kill.test.ts',
  'crash/storage-programs-2.test.ts',
  'crash/transactions-kill.test.ts',
  'crash/transactions.test.ts',
  'crash/kill.test.ts',
  'crash/transactions-2.test.ts',
  'src/cli/start.test.ts',
  'src/admin/contract.test.ts',
  'protocols/kafka/clients.test.ts',
  'storage/inspection.test.ts',
  'fuzz/kafka-decoders.test.ts',
  'crash/mqtt-sessions.test.ts',
  'src/aedes/persistence.test.ts',
  'protocols/kafka/transactions/mixed-versions.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // The rest stays as it is: sorting is stable.
    return sorted.sort((one, other) => placeOf(one) - placeOf(other));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
  return place < 0 ? LONGEST.length : place;
}
