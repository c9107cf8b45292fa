// A record that is appended over HTTP is answered by its flush, not by its write.
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Partition } from '../../../protocols/port.ts';
import { openAdmin } from './admin-fixture.ts';

it('is answered when its records are on disk', async () => {
  const admin = await openAdmin();
  onTestFinished(() => admin.close());
  await admin.hub.topics.create({ name: 'a', partitions: 1, replicationFactor: 1, config: {} });
  const partition = admin.hub.topics.partition('a', 0) as Partition; // it was just made
  const append = partition.append.bind(partition);
  let release = (): void => {};
  const flushed = new Promise<void>((resolve) => {
    release = resolve;
  });
  const asked = new Promise<string>((resolve) => {
    vi.spyOn(partition, 'append').mockImplementation((options, fill) => {
      const appended = append(options, fill);
      resolve(options.acks);
      if (appended.refused !== undefined) return appended;
      return { ...appended, acknowledged: flushed.then(() => appended.acknowledged) };
    });
  });

  let isAnswered = false;
  const answer = admin
    .call({ method: 'POST', path: '/api/v1/topics/a/records', body: { value: 'x' } })
    .finally(() => {
      isAnswered = true;
    });
  expect(await asked).toBe('flushed');
  expect((await admin.call('/health/live')).status).toBe(200);
  expect(isAnswered).toBe(false);
  release();
  expect((await answer).body).toEqual({ records: [{ partition: 0, offset: 0 }] });
});
