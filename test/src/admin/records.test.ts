// Records over HTTP: read back exactly, in order, within bounds.
import { test } from '@fast-check/vitest';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdminFixture, openAdmin } from './admin-fixture.ts';

interface Line {
  readonly partition: number;
  readonly offset: number;
  readonly key: unknown;
  readonly keyEncoding: string | null;
  readonly value: unknown;
  readonly valueEncoding: string | null;
  readonly end?: { readonly records: number; readonly scannedBytes: number; readonly next: string | null };
}

let admin: AdminFixture;

beforeAll(async () => {
  admin = await openAdmin();
});
afterAll(() => admin.close());

async function topic(name: string, partitions = 1): Promise<void> {
  await admin.hub.topics.create({ name, partitions, replicationFactor: 1, config: {} });
}

async function read(path: string): Promise<{ records: Line[]; end: NonNullable<Line['end']>; text: string }> {
  const { status, text } = await admin.call(`/api/v1/topics/${path}`);
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  return { records: lines.slice(0, -1), end: lines.at(-1)!.end!, text };
}

/** Text of all kinds, JSON among it, and what is no text. */
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 600 }),
  fc.string({ unit: 'binary', maxLength: 600 }).map((text) => Uint8Array.from(Buffer.from(text))),
  fc.json().map((text) => Uint8Array.from(Buffer.from(text))),
);

function shownBytes(shown: unknown, encoding: string | null): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify(shown));
  return Buffer.from(shown as string, encoding as 'utf8' | 'base64'); // null is not among them
}

/** What JSON is once it was parsed and written again; all else as it is. */
function jsonOrSame(bytes: Uint8Array): Buffer {
  const text = Buffer.from(bytes).toString();
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text)));
  } catch {
    return Buffer.from(bytes);
  }
}

describe('what is shown of a record', () => {
  beforeAll(async () => {
    await topic('shown');
    await admin.append('shown', 0, [
      {
        timestampMs: 5,
        key: 'k',
        value: 'tëxt',
        headers: [
          ['h', 'v'],
          ['h', null],
          ['', ''],
        ],
      },
      { timestampMs: 6, key: null, value: null },
      { timestampMs: 7, key: '', value: '' },
      { timestampMs: 8, key: Buffer.from([0xff]), value: Buffer.from([0x00, 0xff]) },
      {
        timestampMs: 9,
        key: '12345678901234567890',
        value: '{"id": 12345678901234567890,\n "id": 1.10, "s":"a\\nb"}',
      },
      { timestampMs: 10, value: 'not JSON' },
    ]);
  });

  it('bytes come back exactly, as text or in base64, and null is not empty', async () => {
    const { records } = await read('shown/records');
    expect(records.slice(0, 4)).toEqual([
      {
        ...{ topic: 'shown', partition: 0, offset: 0, timestampMs: 5, timestampType: 'CreateTime' },
        ...{ key: 'k', keyEncoding: 'utf8', value: 'tëxt', valueEncoding: 'utf8' },
        headers: [
          { name: 'h', value: 'v', valueEncoding: 'utf8' },
          { name: 'h', value: null, valueEncoding: null },
          { name: '', value: '', valueEncoding: 'utf8' },
        ],
      },
      expect.objectContaining({ key: null, keyEncoding: null, value: null, valueEncoding: null }),
      expect.objectContaining({ key: '', keyEncoding: 'utf8', value: '', valueEncoding: 'utf8' }),
      expect.objectContaining({ key: '/w==', keyEncoding: 'base64', value: 'AP8=', valueEncoding: 'base64' }),
    ]);
  });

  it('JSON stays as it was written, on one line', async () => {
    const { text, records } = await read('shown/records?valueEncoding=json&keyEncoding=json');
    expect(text).toContain('"key":12345678901234567890,"keyEncoding":"json"');
    expect(text).toContain(
      '"value":{"id": 12345678901234567890,  "id": 1.10, "s":"a\\nb"},"valueEncoding":"json"',
    );
    expect(records[5]).toMatchObject({ value: 'not JSON', valueEncoding: 'utf8' });
    expect(records[3]).toMatchObject({ valueEncoding: 'base64' });
  });

  it('everything in base64 when that is asked for', async () => {
    const { records } = await read('shown/records?valueEncoding=base64&limit=1');
    expect(records).toMatchObject([
      { value: Buffer.from('tëxt').toString('base64'), valueEncoding: 'base64' },
    ]);
  });
});

describe('a stretch of a topic', () => {
  beforeAll(async () => {
    await topic('many', 3);
    for (const [partition, times] of [
      [0, [10, 40, 70]],
      [1, [20, 50, 80]],
      [2, [30, 60, 5]],
    ] as const) {
      for (const timestampMs of times)
        await admin.append('many', partition, [
          { timestampMs, key: `k${partition}`, value: `at ${timestampMs}` },
        ]);
    }
  });

  const places = async (query: string): Promise<string[]> =>
    (await read(`many/records${query}`)).records.map(({ partition, offset }) => `${partition}:${offset}`);

  it('is merged by time, and each partition keeps its order', async () => {
    expect(await places('')).toEqual(['0:0', '1:0', '2:0', '0:1', '1:1', '2:1', '2:2', '0:2', '1:2']);
  });

  it.each([
    ['?from=1&to=2', ['0:1', '1:1', '2:1']],
    ['?from=-1', ['2:2', '0:2', '1:2']],
    ['?from=@1970-01-01T00:00:00.045Z&partition=0,1', ['1:1', '0:2', '1:2']],
    ['?to=@1970-01-01T00:00:00.045Z&partition=0,1', ['0:0', '1:0', '0:1']],
    ['?from=end', []],
    ['?from=latest&to=start', []],
    ['?from=500', []],
    ['?partition=2&limit=2', ['2:0', '2:1']],
    ['?key=k1', ['1:0', '1:1', '1:2']],
    ['?key=k', []],
    ['?contains=t%205', ['2:2', '1:1']],
    ['?contains=k2&key=k2&from=1', ['2:1', '2:2']],
    ['?contains=', ['0:0', '1:0', '2:0', '0:1', '1:1', '2:1', '2:2', '0:2', '1:2']],
  ])('%s', async (query, expected) => {
    expect(await places(query)).toEqual(expected);
  });

  it('goes on page by page, each record once, up to the end that there was at first', async () => {
    const seen: string[] = [];
    let next: string | null | undefined;
    for (let page = 0; next !== null; page++) {
      const { records, end } = await read(`many/records?limit=2${next ? `&cursor=${next}` : ''}`);
      seen.push(...records.map(({ partition, offset }) => `${partition}:${offset}`));
      expect(end.records).toBe(records.length);
      next = end.next;
      if (page === 0) await admin.append('many', 0, [{ timestampMs: 1, value: 'too late' }]);
    }
    expect(seen).toEqual(await places('?to=3'));
  });
});

describe('records appended', () => {
  const post = (path: string, body: unknown, type = 'application/json') =>
    admin.call({
      method: 'POST',
      path: `/api/v1/topics/${path}/records`,
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': type },
    });
  const lines = (...records: readonly unknown[]) => records.map((each) => JSON.stringify(each)).join('\n');

  it('come back as they were sent', async () => {
    await topic('sent');
    const sent = {
      key: 'k',
      value: 'AP8=',
      valueEncoding: 'base64',
      headers: [
        { name: 'h', value: 'v' },
        { name: 'h', value: null },
      ],
      timestampMs: 1234,
    };
    expect((await post('sent', sent)).body).toEqual({ records: [{ partition: 0, offset: 0 }] });
    const { records } = await read('sent/records');
    expect(records).toMatchObject([
      {
        ...sent,
        headers: [
          { name: 'h', value: 'v' },
          { name: 'h', value: null },
        ],
      },
    ]);
  });

  it('JSON is stored as its own text, whatever its numbers', async () => {
    await topic('texts');
    const body =
      '{"value" : {"n": 12345678901234567890.10, "n":1e400}, "k\\u0065y":[1,\n2] ,"timestampMs":1}';
    expect((await post('texts', body)).status).toBe(200);
    const { text } = await read('texts/records?keyEncoding=json&valueEncoding=json');
    expect(text).toContain('"key":[1, 2],"keyEncoding":"json"');
    expect(text).toContain('"value":{"n": 12345678901234567890.10, "n":1e400},"valueEncoding":"json"');
  });

  it('go where their keys go for every client, in the order in which they were sent', async () => {
    await topic('keyed', 5);
    const sent = Array.from({ length: 200 }, (_, index) => ({ key: `key-${index % 7}`, value: `${index}` }));
    const { body } = await post('keyed', lines(...sent), 'application/x-ndjson');
    const { records } = body as { records: { partition: number; offset: number }[] };
    for (const [index, { partition }] of records.entries())
      expect(partition).toBe(admin.hub.partitionFor(Buffer.from(sent[index]!.key), 5));
    for (const number of [0, 1, 2, 3, 4]) {
      const values = (await read(`keyed/records?partition=${number}`)).records.map(({ value }) =>
        Number(value),
      );
      expect(values).toEqual([...values].sort((a, b) => a - b));
    }
  });

  it('nothing is appended of a body with one wrong line', async () => {
    await topic('whole');
    const wrong = await post(
      'whole',
      lines({ value: 'a' }, { value: 1, valueEncoding: 'utf8' }),
      'application/x-ndjson',
    );
    expect([wrong.status, wrong.body]).toMatchObject([400, { error: { field: 'records.1.value' } }]);
    expect((await read('whole/records')).records).toEqual([]);
  });

  it('say of each what failed when a part did', async () => {
    await topic('part', 2);
    const full = admin.hub.topics.partition('part', 1)!;
    const append = full.append;
    full.append = () => ({ refused: 'disk-full', message: 'the disk is full' });
    const { status, body } = await post(
      'part',
      lines({ value: 'a', partition: 0 }, { value: 'b', partition: 1 }),
      'application/x-ndjson',
    );
    full.append = append;
    expect([status, body]).toMatchObject([
      507,
      {
        error: { code: 'disk_full', message: '1 of 2 records were not appended: the disk is full' },
        records: [
          { partition: 0, offset: 0 },
          { partition: 1, error: { code: 'disk_full' } },
        ],
      },
    ]);
  });
});

describe('any bytes', () => {
  test.prop([fc.array(fc.tuple(anyBytes, anyBytes), { minLength: 1, maxLength: 50 })], { numRuns: 20 })(
    'come back exactly, whatever they are shown as',
    async (pairs) => {
      await topic('any');
      const partition = admin.hub.topics.partition('any', 0)!;
      const from = partition.highWatermark;
      await admin.append(
        'any',
        0,
        pairs.map(([key, value]) => ({ key: Buffer.from(key), value: Buffer.from(value) })),
      );
      for (const encoding of ['utf8', 'base64', 'json']) {
        const { records } = await read(
          `any/records?from=${from}&keyEncoding=${encoding}&valueEncoding=${encoding}`,
        );
        for (const [index, { key, keyEncoding, value, valueEncoding }] of records.entries()) {
          const shown = [shownBytes(key, keyEncoding), shownBytes(value, valueEncoding)];
          expect(shown).toEqual(
            pairs[index]!.map((bytes) => (encoding === 'json' ? jsonOrSame(bytes) : Buffer.from(bytes))),
          );
        }
      }
    },
  );
});
