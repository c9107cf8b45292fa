// When a filter's messages are read in the order of the table's log, and what it costs to find that out.
import { expect, it } from 'vitest';
import { isScanCheaper, type ScanGrounds } from '../../../../protocols/mqtt/retained/scan-choice.ts';
import { Slices } from '../../../../protocols/mqtt/retained/slices.ts';
import { TopicIndex } from '../../../../protocols/mqtt/retained/topic-index.ts';
import { FakeClock } from '../../../helpers/fake-mqtt-hub.ts';

const ENTRY = {
  statePartition: 0,
  stateOffset: 0,
  source: { topicId: 'id', partition: 0 },
  sourceOffset: 0,
  timestampMs: 0,
  expiresAtMs: Number.POSITIVE_INFINITY,
  byteLength: 10,
};

class CountedSlices extends Slices {
  begun = 0;
  open = 0;

  override begin(): Promise<void> {
    this.begun++;
    this.open++;
    return super.begin();
  }

  override end(): void {
    this.open--;
    super.end();
  }
}

/** `devices` of two topics each, and one called `rare`. */
function groundsOf(devices: number, changed: Partial<ScanGrounds> = {}) {
  const index = new TopicIndex();
  for (let number = 0; number < devices; number++) {
    index.set(`site/${number}/temp`, ENTRY);
    index.set(`site/${number}/hum`, ENTRY);
  }
  index.set('site/0/rare', ENTRY);
  const slices = new CountedSlices(new FakeClock());
  const walk = (filter: string) => index.walk(filter);
  return { count: index.size, logRatio: 1, isCached: false, walk, ...changed, slices };
}

const wanted = () => true;

it.each([
  ['#', {}, true],
  ['site/+/temp', {}, true],
  ['site/0/+', {}, false],
  ['#', { logRatio: 15 }, true],
  ['#', { logRatio: 17 }, false],
  ['site/+/temp', { logRatio: 15 }, false],
  ['#', { isCached: true }, false],
] as const)('%s of a table %j: %s', async (filter, changed, scans) => {
  expect(await isScanCheaper(filter, groundsOf(100, changed), wanted)).toBe(scans);
});

it('is not asked of a topic without a wildcard: nobody waits for a slice', async () => {
  const grounds = groundsOf(1);
  expect(await isScanCheaper('site/0/rare', grounds, wanted)).toBe(false);
  expect(grounds.slices.begun).toBe(0);
});

it('ends with the first slice for a filter that matches almost nothing', async () => {
  const grounds = groundsOf(5000);
  expect(await isScanCheaper('site/+/rare', grounds, wanted)).toBe(false);
  expect(grounds.slices.begun).toBe(1);
});

it('gives its slice back when the walk fails', async () => {
  const walk = groundsOf(1).walk('#');
  walk.next = () => {
    throw new Error('of ours');
  };
  const grounds = groundsOf(100, { walk: () => walk });
  await expect(isScanCheaper('#', grounds, wanted)).rejects.toThrow('of ours');
  expect(grounds.slices.open).toBe(0);
});
