// State tables over a log that does not behave.
import { expect, it } from 'vitest';
import { StateTable } from '../../storage/index.ts';

it('a scan that its log leads no further fails, instead of being asked again for ever', async () => {
  const unused = () => {
    throw new Error('not of this test');
  };
  const table = new StateTable({
    name: 't',
    partitions: 1,
    clock: { now: () => 0, monotonic: () => 0, setTimer: unused },
    log: { debug: unused, info: unused, warn: unused, error: unused },
    apply: unused,
  });
  let highWatermark = 0;
  await table.load(0, {
    logStartOffset: 0,
    get highWatermark() {
      return highWatermark;
    },
    append: unused,
    read: async (offset) => ({ bytes: Buffer.alloc(0), start: 0, end: 0, nextOffset: offset }),
  });
  highWatermark = 5;
  await expect(table.scan(0, 3, 1024, unused)).rejects.toThrow('t-0 reads on from 3');
});
