// A process that opens the store in the directory given and holds it until it is killed. Says `open` once it has, or
// the code of the error.
import { openLogStore } from '../../storage/index.ts';
import { append, PARTITION, record, TestClock, TestLog } from './store-fixture.ts';

const directory = process.argv[2] ?? '';
try {
  const store = await openLogStore({
    directory,
    nodeId: 1,
    clock: new TestClock(),
    random: { uuid: () => 'uuid' },
    log: new TestLog(),
  });
  const log = await store.openPartition(PARTITION);
  await append(log, [record('held')]).flushed;
  process.stdout.write('open\n');
  process.stdin.resume();
} catch (error) {
  process.stdout.write(`${(error as { code?: string }).code}\n`); // a StorageError, or the test fails
}
