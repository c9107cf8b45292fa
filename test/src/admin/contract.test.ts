// Every route of the OpenAPI document, called rightly and wrongly, over a socket; every answer held against the
// document. A route that stands in no table of contract/ fails the first test.
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type AdminFixture, type Answer, openAdmin } from './admin-fixture.ts';
import type { Area, RightCall } from './contract/area.ts';
import { configArea } from './contract/config-area.ts';
import { groupsArea } from './contract/groups-area.ts';
import { hubArea } from './contract/hub-area.ts';
import { metricsArea } from './contract/metrics-area.ts';
import { MQTT_TOML, mqttArea } from './contract/mqtt-area.ts';
import { recordsArea } from './contract/records-area.ts';
import { TOPICS_TOML, topicsArea } from './contract/topics-area.ts';
import { TRANSACTIONS, transactionsArea } from './contract/transactions-area.ts';

const AREAS: readonly Area[] = [
  hubArea,
  configArea,
  groupsArea,
  topicsArea,
  recordsArea,
  transactionsArea,
  mqttArea,
  metricsArea,
];
const ROUTES = Object.fromEntries(AREAS.flatMap(({ routes }) => Object.entries(routes)));
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

type Content = Readonly<Record<string, { readonly schema: object }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, { readonly examples?: unknown[] }>> };
}

let admin: AdminFixture;
let document: Document;

beforeAll(async () => {
  admin = await openAdmin({ toml: TOPICS_TOML + MQTT_TOML, hidden: ['hidden'], transactions: TRANSACTIONS });
  for (const area of AREAS) await area.prepare?.(admin);
  document = (await admin.call('/api/v1/openapi.json')).body as Document;
});

afterAll(() => admin.close());

const methodOf = (route: string): string => route.slice(0, route.indexOf(' '));
const pathOf = (route: string): string => route.slice(route.indexOf(' ') + 1);

/** By their text: most are of the same few, and all that a schema may refer to is read with it. */
const read = new Map<string, z.ZodType>();

/** A schema of the document, with those that it refers to. */
function readSchema(schema: object): z.ZodType {
  const text = JSON.stringify(schema);
  const known = read.get(text) ?? readAnew(schema);
  read.set(text, known);
  return known;
}

function readAnew(schema: object): z.ZodType {
  const whole = { ...schema, $defs: document.components.schemas };
  const local = JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/');
  // The document's schemas are JSON Schema 2020-12, as OpenAPI 3.1 has it.
  return z.fromJSONSchema(JSON.parse(local) as Parameters<typeof z.fromJSONSchema>[0]);
}

const operationOf = (route: string): Operation => {
  return document.paths[pathOf(route)]![methodOf(route).toLowerCase()]!;
};

/** The schema that the document promises for an answer. */
function promised(route: string, status: number, type = 'application/json'): z.ZodType {
  const schema = operationOf(route).responses[status]?.content?.[type]?.schema;
  if (!schema) throw new Error(`the document promises no ${type} for ${route} ${status}`);
  return readSchema(schema);
}

function holds(route: string, { status, body }: Answer): void {
  expect(promised(route, status).safeParse(body).error).toBeUndefined();
}

/** Each line of NDJSON, and each `data:` of an event stream, is one of what is promised. */
function holdsAll(route: string, { status, text }: Answer, type: string): void {
  const schema = promised(route, status, type);
  const isEvents = type === 'text/event-stream';
  const lines = isEvents ? text.match(/(?<=^event: record\ndata: ).*/gm) : text.match(/.+/g);
  expect(lines?.length).toBeGreaterThan(0);
  for (const line of lines ?? []) expect(schema.safeParse(JSON.parse(line)).error).toBeUndefined();
}

it('the document is OpenAPI 3.1, says another program', async () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect([valid, errors]).toEqual([true, undefined]);
});

it('every operation has a name of its own, a summary, a known tag, and a word for each answer', () => {
  const operations = Object.keys(ROUTES).map(operationOf);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  const tags = document.tags.map(({ name }) => name);
  for (const { operationId, summary, tags: own, responses } of operations) {
    expect([operationId, summary]).toEqual([
      expect.stringMatching(/^[a-z]\w+$/),
      expect.stringMatching(/\.$/),
    ]);
    expect(own.length === 1 && own.every((tag) => tags.includes(tag))).toBe(true);
    for (const [status, { description }] of Object.entries(responses))
      expect([operationId, status, description]).toEqual([
        operationId,
        expect.stringMatching(/^\d{3}$/),
        expect.stringMatching(/^(?!Default Response)[\s\S]*\.$/),
      ]);
  }
  expect(document.servers.map(({ url }) => url)).toEqual(['/']);
});

it('every schema has a name, and its examples are what it says', () => {
  const { schemas } = document.components;
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['Topic', 'TopicPage', 'NewTopic', 'Error']));
  expect(Object.keys(schemas).filter((name) => /Input\d*$|^def-/.test(name))).toEqual([]);
  const examples = Object.entries(schemas).flatMap(([name, schema]) =>
    (schema.examples ?? []).map((example) => ({ name, example, schema: readSchema(schema) })),
  );
  expect(examples.length).toBeGreaterThan(20);
  for (const { name, example, schema } of examples)
    expect([name, schema.safeParse(example).error]).toEqual([name, undefined]);
});

it('the document has the routes of the tables', () => {
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.sort()).toEqual(Object.keys(ROUTES).sort());
});

it('the check itself can fail', () => {
  expect(promised('GET /api/v1/info', 200).safeParse({ version: 1 }).success).toBe(false);
  const wrongCode = { error: { code: 'nope', message: '' } };
  expect(() => promised('GET /api/v1/topics', 404)).toThrow('promises no');
  expect(promised('GET /api/v1/topics', 400).safeParse(wrongCode).success).toBe(false);
});

for (const [route, { right, wrong }] of Object.entries(ROUTES)) {
  describe(route, () => {
    const method = methodOf(route);
    const calls: readonly RightCall[] = right.map((call) =>
      typeof call === 'string' ? { path: call } : call,
    );

    it.each(calls)('$path', async ({ status = 200, type = 'application/json', ...call }) => {
      const answer = await admin.call({ method, ...call });
      expect([answer.status, answer.status < 400 ? undefined : answer.body]).toEqual([status, undefined]);
      if (status === 204) return expect(answer.text).toBe('');
      expect(answer.headers.get('content-type')?.split(';')[0]).toBe(type);
      if (type === 'application/json') holds(route, answer);
      else if (type === 'text/plain') expect(answer.text).toMatch(/^# HELP \w+ /);
      else if (type !== 'application/octet-stream') holdsAll(route, answer, type);
    });

    it.each(wrong)('$path → $refused', async ({ refused: [status, code, field], ...call }) => {
      const answer = await admin.call({ method, ...call });
      expect([answer.status, answer.body]).toMatchObject([
        status,
        { error: field === undefined ? { code } : { code, field } },
      ]);
      holds(route, answer);
      expect(operationOf(route).responses[status]?.description).toContain(`\`${code}\``);
    });

    it('refuses other methods, with a body or without', async () => {
      const { path } = calls[0]!;
      const taken = Object.keys(document.paths[pathOf(route)]!).map((each) => each.toUpperCase());
      for (const other of METHODS.filter((each) => !taken.includes(each))) {
        const body = other === 'OPTIONS' ? {} : { body: '<x>', headers: { 'content-type': 'a/b' } };
        const answer = await admin.call({ method: other, path, ...body });
        expect([other, answer.status]).toEqual([other, 405]);
        const allowed = answer.headers
          .get('allow')!
          .split(', ')
          .filter((each) => each !== 'HEAD');
        expect(allowed.sort()).toEqual(taken.sort());
      }
    });

    if (method === 'GET') {
      it('says no more to a web page, and answers HEAD without a body if at all', async () => {
        const answer = await admin.call({ method: 'HEAD', path: calls[0]!.path });
        expect([200, 405]).toContain(answer.status);
        expect(answer.text).toBe('');
      });
    } else {
      it('web pages may not do it', async () => {
        const call = { method, ...calls[0]!, headers: { origin: 'http://localhost:9640' } };
        const answer = await admin.call(call);
        expect([answer.status, answer.body]).toMatchObject([403, { error: { code: 'forbidden' } }]);
      });
    }
  });
}

it('anything else is 404, in the same shape', async () => {
  const nothing = [
    '/',
    '/api',
    '/api/v1/topics/',
    '/api/v1/topics/a/b',
    '/health',
    '/api/v1/%00',
    '/%2e%2e/x',
  ];
  for (const path of nothing) {
    const answer = await admin.call(path);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(readSchema(document.components.schemas['Error']!).safeParse(answer.body).error).toBeUndefined();
  }
  expect((await admin.call({ method: 'POST', path: '/nothing', body: 'x' })).status).toBe(404);
});
