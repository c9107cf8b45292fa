// Every route of the OpenAPI document, called rightly and wrongly, over a socket; every answer held against the
// document. A route that is not in the table below fails the first test.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type FakeAdmin, fakePartition, fakeTopic, NOW_MS, openFakeAdmin } from './fake-target.ts';

interface Route {
  /** GET unless told. */
  readonly method?: 'POST';
  readonly right: readonly string[];
  readonly wrong: readonly (readonly [path: string, status: number, code: string, field?: string])[];
}

const PAGED_WRONG = (path: string) =>
  [
    [`${path}?limit=0`, 400, 'invalid_request', 'limit'],
    [`${path}?limit=1001`, 400, 'invalid_request', 'limit'],
    [`${path}?limit=x`, 400, 'invalid_request', 'limit'],
    [`${path}?limit=`, 400, 'invalid_request', 'limit'],
    [`${path}?limit=1&limit=2`, 400, 'invalid_request', 'limit'],
    [`${path}?cursor=*`, 400, 'invalid_request', 'cursor'],
    [`${path}?serach=x`, 400, 'invalid_request', 'serach'],
  ] as const;

const ROUTES: Readonly<Record<string, Route>> = {
  '/health/live': { right: ['/health/live'], wrong: [] },
  '/health/ready': { right: ['/health/ready'], wrong: [] },
  '/api/v1/info': { right: ['/api/v1/info'], wrong: [] },
  '/api/v1/listeners': { right: ['/api/v1/listeners'], wrong: [] },
  '/api/v1/openapi.json': { right: ['/api/v1/openapi.json'], wrong: [] },
  '/api/v1/topics': {
    right: ['/api/v1/topics', '/api/v1/topics?limit=1000&search=A', '/api/v1/topics?limit=1'],
    wrong: PAGED_WRONG('/api/v1/topics'),
  },
  '/api/v1/topics/{topic}/offsets': {
    right: [
      '/api/v1/topics/a/offsets',
      '/api/v1/topics/a/offsets?at=earliest,latest,max-timestamp,-1h,2026-09-01T00:00:00Z,1764000000000',
      '/api/v1/topics/a/offsets?at=-1h&partition=1,0',
      '/api/v1/topics/empty/offsets?at=earliest,latest,max-timestamp,-1h',
    ],
    wrong: [
      ['/api/v1/topics/none/offsets', 404, 'not_found', 'topic'],
      ['/api/v1/topics/__proto__/offsets', 404, 'not_found', 'topic'],
      ['/api/v1/topics/a/offsets?partition=9', 404, 'not_found', 'partition'],
      ['/api/v1/topics/a/offsets?partition=x', 400, 'invalid_request', 'partition'],
      ['/api/v1/topics/a/offsets?partition=-1', 400, 'invalid_request', 'partition'],
      ['/api/v1/topics/a/offsets?at=yesterday', 400, 'invalid_request', 'at'],
      ['/api/v1/topics/a/offsets?at=', 400, 'invalid_request', 'at'],
      ['/api/v1/topics/a/offsets?at=1764000000', 400, 'invalid_request', 'at'],
      [`/api/v1/topics/a/offsets?at=${'latest,'.repeat(16)}latest`, 400, 'invalid_request', 'at'],
      ['/api/v1/topics/hidden/offsets', 403, 'forbidden'],
      ['/api/v1/topics/broken/offsets?at=-1h', 500, 'storage', 'partition'],
      ['/api/v1/topics/%zz/offsets', 400, 'invalid_request', 'path'],
    ],
  },
  '/api/v1/groups': {
    right: ['/api/v1/groups', '/api/v1/groups?limit=1', '/api/v1/groups?search=G'],
    wrong: PAGED_WRONG('/api/v1/groups'),
  },
  '/api/v1/groups/{group}/offsets': {
    right: ['/api/v1/groups/g/offsets', '/api/v1/groups/g%2Fh%20%C3%BC/offsets'],
    wrong: [
      ['/api/v1/groups/none/offsets', 404, 'not_found', 'group'],
      ['/api/v1/groups/hidden/offsets', 403, 'forbidden'],
      [`/api/v1/groups/${'x'.repeat(32_767)}/offsets`, 404, 'not_found', 'group'],
    ],
  },
  '/api/v1/transactions': {
    right: ['/api/v1/transactions', '/api/v1/transactions?limit=1', '/api/v1/transactions?search=OPEN'],
    wrong: PAGED_WRONG('/api/v1/transactions'),
  },
  '/api/v1/transactions/{transaction}': {
    right: ['/api/v1/transactions/open', '/api/v1/transactions/a%2Fb%3Ac%20%C3%BC'],
    wrong: [
      ['/api/v1/transactions/none', 404, 'not_found', 'transaction'],
      ['/api/v1/transactions/hidden', 403, 'forbidden'],
    ],
  },
  '/api/v1/transactions/{transaction}:abort': {
    method: 'POST',
    right: ['/api/v1/transactions/open:abort', '/api/v1/transactions/a%2Fb%3Ac%20%C3%BC:abort'],
    wrong: [
      ['/api/v1/transactions/none:abort', 404, 'not_found', 'transaction'],
      ['/api/v1/transactions/hidden:abort', 403, 'forbidden'],
      ['/api/v1/transactions/closed:abort', 409, 'conflict', 'transaction'],
      ['/api/v1/transactions/ending:abort', 503, 'not_ready', 'transaction'],
    ],
  },
};

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json': { readonly schema: object } } }>
  >;
}

let admin: FakeAdmin;
let document: Document;

beforeAll(async () => {
  const group = {
    state: 'empty',
    protocolType: 'consumer',
    protocol: null,
    generation: 0,
    members: [],
  } as const;
  admin = await openFakeAdmin({
    topics: [
      fakeTopic('a', [fakePartition('a', 0, { timesMs: [NOW_MS - 10, NOW_MS] }), fakePartition('a', 1)]),
      fakeTopic('empty', [fakePartition('empty', 0)]),
      fakeTopic('hidden', [fakePartition('hidden', 0)]),
      fakeTopic('broken', [fakePartition('broken', 0, { broken: true })]),
    ],
    groups: ['g', 'g/h ü', 'hidden'].map((groupId) => ({ ...group, groupId })),
    offsets: {
      g: [{ topic: 'a', partition: 0, committed: 1, leaderEpoch: -1, metadata: '', committedAtMs: NOW_MS }],
    },
    transactions: (
      [
        ['open', 'ongoing'],
        ['a/b:c ü', 'ongoing'],
        ['closed', 'empty'],
        ['ending', 'prepare-commit'],
        ['hidden', 'ongoing'],
      ] as const
    ).map(([transactionalId, state]) => ({
      ...{ transactionalId, state, producerId: 4, producerEpoch: 1, timeoutMs: 60_000 },
      ...{ startedAtMs: state === 'empty' ? -1 : NOW_MS, updatedAtMs: NOW_MS },
      ...{ partitions: [{ topic: 'a', partition: 0 }], groups: ['g'] },
    })),
    hidden: ['hidden'],
  });
  document = (await admin.get('/api/v1/openapi.json')).body as Document;
});

afterAll(() => admin.close());

const methodOf = (path: string): 'GET' | 'POST' => ROUTES[path]?.method ?? 'GET';

/** The schema that the document promises for an answer. */
function promised(path: string, status: number): z.ZodType {
  const { responses } = document.paths[path]![methodOf(path).toLowerCase()]!;
  const response = responses[status] ?? responses[`${Math.floor(status / 100)}XX`];
  const schema = response?.content?.['application/json'].schema;
  if (!schema) throw new Error(`the document promises nothing for ${path} ${status}`);
  // The document's schemas are JSON Schema 2020-12, as OpenAPI 3.1 has it.
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
}

function holds(path: string, status: number, body: unknown): void {
  expect(promised(path, status).safeParse(body).error).toBeUndefined();
}

it('the document is OpenAPI 3.1 and has the routes of the table, with their methods', () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(Object.keys(document.paths).sort()).toEqual(Object.keys(ROUTES).sort());
  for (const [path, operations] of Object.entries(document.paths))
    expect(Object.keys(operations)).toEqual([methodOf(path).toLowerCase()]);
});

it('the check itself can fail', () => {
  expect(promised('/api/v1/info', 200).safeParse({ version: 1 }).success).toBe(false);
  expect(promised('/api/v1/topics', 400).safeParse({ error: { code: 'nope', message: '' } }).success).toBe(
    false,
  );
});

for (const [path, { right, wrong, method = 'GET' }] of Object.entries(ROUTES)) {
  describe(path, () => {
    it.each(right)('%s', async (url) => {
      const { status, body, headers } = await admin.get(url, { method });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      holds(path, 200, body);
    });

    for (const [url, expected, code, field] of wrong) {
      it(`${url.slice(0, 100)} → ${expected}`, async () => {
        const { status, body } = await admin.get(url, { method });
        expect(status).toBe(expected);
        holds(path, expected, body);
        expect(body).toMatchObject({ error: field === undefined ? { code } : { code, field } });
      });
    }

    it('refuses other methods, with a body or without', async () => {
      const url = right[0]!;
      // Without the verb at its end the path of an abort is that of a transaction.
      const others = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((other) => other !== method);
      const allowed = method === 'GET' ? 'GET, HEAD' : method;
      for (const method of others) {
        const init =
          method === 'OPTIONS' ? { method } : { method, body: '<x>', headers: { 'content-type': 'a/b' } };
        const { status, body, headers } = await admin.get(url, init);
        expect([method, status]).toEqual([method, 405]);
        expect(headers.get('allow')).toBe(allowed);
        holds(path, 405, body);
      }
    });

    if (method !== 'GET') return;
    it('answers HEAD as GET without the body', async () => {
      const { status, body } = await admin.get(right[0]!, { method: 'HEAD' });
      expect([status, body]).toEqual([200, undefined]);
    });
  });
}

it('web pages may change nothing', async () => {
  const init = { method: 'POST', headers: { origin: 'http://localhost:9640' } };
  const { status, body } = await admin.get('/api/v1/transactions/open:abort', init);
  expect([status, body]).toMatchObject([403, { error: { code: 'forbidden' } }]);
});

it('anything else is 404, in the same shape', async () => {
  for (const url of [
    '/',
    '/api',
    '/api/v1/topics/',
    '/api/v1/topics/a',
    '/health',
    '/api/v1/%00',
    '/%2e%2e/x',
  ]) {
    const { status, body } = await admin.get(url);
    expect([url, status]).toEqual([url, 404]);
    holds('/api/v1/info', 404, body);
  }
  expect((await admin.get('/nothing', { method: 'POST', body: 'x' })).status).toBe(404);
});
