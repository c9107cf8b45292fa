// A running hub gives every number that the table promises, in a form that Prometheus reads.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METRICS, PREFIX } from '../../../src/metrics/definitions.ts';
import { type AdminFixture, openAdmin } from '../admin/admin-fixture.ts';

/** Nothing of it is there before something happens. */
const AFTER_EVENTS = new Set(['group_lag_max', 'groups']);

const LINE = /^[a-z_0-9]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (?:[-+0-9.e]+|NaN|Nan|\+Inf)$/;

let admin: AdminFixture;

beforeAll(async () => {
  const listener = (protocol: string): string =>
    `[[listener]]\nname = "${protocol}"\nprotocol = "${protocol}"\nbind = "127.0.0.1:0"\n`;
  admin = await openAdmin({
    toml: `${listener('kafka')}${listener('mqtt')}[metrics]\ndetailed_topics = ["plants"]\n`,
  });
  await admin.hub.topics.create({ name: 'plants', partitions: 3, replicationFactor: 1, config: {} });
  await admin.append('plants', 1, [{ value: 'one' }, { value: 'two' }]);
});

afterAll(() => admin.close());

async function scrape(path = '/metrics'): Promise<string[]> {
  const { text } = await admin.call(path);
  return text.split('\n');
}

describe('/metrics', () => {
  it('has every metric of the table, with its type', async () => {
    await admin.call('/api/v1/topics');
    const lines = await scrape();
    const missing = Object.entries(METRICS)
      .filter(([name]) => !AFTER_EVENTS.has(name))
      .filter(([name, { type }]) => !lines.includes(`# TYPE ${PREFIX}${name} ${type}`));
    expect(missing.map(([name]) => name)).toEqual([]);
  });

  it('is lines that Prometheus reads', async () => {
    const lines = (await scrape()).filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
  });

  it('says what the process takes', async () => {
    const lines = await scrape();
    expect(lines).toContain('# TYPE process_resident_memory_bytes gauge');
  });

  it('tells in one way alone how late the event loop is', async () => {
    expect((await scrape()).filter((line) => line.includes('eventloop'))).toEqual([]);
  });

  it('tells how far behind a group is', async () => {
    await admin.commit('readers', 'plants', 1, 1);
    // The fixture's groups, which the hub shows; its records are two.
    expect(await scrape()).toContain('polylog_group_lag_max{group="readers"} 1');
  });

  it('counts what came over HTTP, and what went', async () => {
    await admin.call({
      method: 'POST',
      path: '/api/v1/topics/plants/records',
      body: { value: 'three', partition: 0 },
    });
    await admin.call('/api/v1/topics/plants/records');
    const lines = await scrape();
    expect(lines).toContain('polylog_records_appended_total{source="http"} 1');
    expect(lines).toContain('polylog_records_delivered_total{sink="http"} 3');
    expect(lines.join('\n')).toMatch(
      /polylog_request_seconds_count\{protocol="http",api="POST \/api\/v1\/topics\/:topic\/records"\} 1/,
    );
  });
});

it('/metrics/detailed tells of the partitions of the topics that the configuration names', async () => {
  const lines = await scrape('/metrics/detailed');
  expect(lines).toContain('polylog_topic_log_end_offset{topic="plants",partition="1"} 2');
  expect(lines.filter((line) => line.startsWith('polylog_topic_log_bytes{'))).toHaveLength(3);
});
