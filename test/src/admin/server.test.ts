// What holds for every route: health, paging, limits, bad bytes, the access seam, stopping.
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { AdminError } from '../../../src/admin/errors.ts';
import { isOwnHost } from '../../../src/admin/own-hosts.ts';
import {
  type FakeAdmin,
  type FakeHub,
  fakePartition,
  fakeTopic,
  NOW_MS,
  openFakeAdmin,
} from './fake-target.ts';

let admin: FakeAdmin | undefined;
afterEach(() => admin?.close());

async function open(hub: FakeHub = {}): Promise<FakeAdmin> {
  admin = await openFakeAdmin(hub);
  return admin;
}

/** Sends bytes, gives everything that comes back until the server closes. */
async function exchange({ port }: Pick<FakeAdmin, 'port'>, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
}

describe('web pages', () => {
  const get = (headers: string) => `GET /api/v1/info HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`;

  it.each(['127.0.0.1:9640', 'localhost', 'LOCALHOST.:80', '[::1]:9640', '127.8.8.8'])(
    'a request for %s is one for a loopback listener',
    async (host) => {
      expect(await exchange(await open(), get(`Host: ${host}\r\n`))).toMatch(/^HTTP\/1.1 200/);
    },
  );

  it.each([
    'evil.example',
    'evil.example:9640',
    'localhost.evil.example',
    '192.168.1.1',
    '127.0.0.1.evil.example',
    '',
  ])('a request for "%s", whose name may have been made to point here, is refused', async (host) => {
    const answer = await exchange(await open(), get(`Host: ${host}\r\n`));
    expect(answer).toMatch(/^HTTP\/1.1 421[\s\S]*"code":"misdirected_request"/);
  });

  it.each(['/api/v1/info', '/nothing'])('two headers Host are refused, at %s', async (path) => {
    const hosts = 'Host: localhost\r\nhost: localhost\r\n';
    const answer = await exchange(await open(), `GET ${path} HTTP/1.1\r\n${hosts}\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 400[\s\S]*"code":"invalid_request"[\s\S]*"field":"host"/);
  });

  it('a client without a Host is no browser', async () => {
    expect(await exchange(await open(), 'GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200/);
  });

  it('further names are those of the configuration, by now', async () => {
    const { change, ...server } = await open();
    expect(await exchange(server, get('Host: hub.example\r\n'))).toMatch(/ 421 /);
    change({ hosts: ['Hub.example'] });
    expect(await exchange(server, get('Host: hub.example:80\r\n'))).toMatch(/ 200 /);
    expect(await exchange(server, get('Host: localhost\r\n'))).toMatch(/ 200 /);
  });

  it('elsewhere any name is as good, unless it is said which', () => {
    expect(isOwnHost('any.example', { host: '0.0.0.0' })).toBe(true);
    const named = { host: '0.0.0.0', hosts: ['hub.example'] };
    const asked = [
      'hub.example',
      'hub.example:1',
      '10.0.0.7:9640',
      '[fe80::1]:9640',
      'localhost',
      'any.example',
    ];
    expect(asked.map((host) => isOwnHost(host, named))).toEqual([true, true, true, true, true, false]);
    expect(isOwnHost('10.0.0.7', { host: '10.0.0.8', hosts: [] })).toBe(false);
  });

  it('may change nothing; from elsewhere they may not read either', async () => {
    const server = await open();
    const outcome = async (method: string, headers: string) => {
      const head = `${method} /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n`;
      return (await exchange(server, `${head}${headers}Connection: close\r\n\r\n`)).slice(9, 12);
    };
    expect(await outcome('POST', 'Origin: http://localhost\r\n')).toBe('403');
    expect(await outcome('POST', 'Sec-Fetch-Site: same-origin\r\n')).toBe('403');
    expect(await outcome('GET', 'Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n')).toBe('403');
    expect(await outcome('GET', 'Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n')).toBe('200');
    expect(await outcome('GET', 'Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n')).toBe('200');
    expect(await outcome('GET', '')).toBe('200');
  });
});

describe('health', () => {
  it('ready: 200; not ready: 503 with what fails, and alive all the same', async () => {
    const failing: string[] = [];
    const { get } = await open({ failing });
    expect(await get('/health/ready')).toMatchObject({ status: 200, body: { ready: true } });
    failing.push('partition a-0 is read-only', 'the hub is stopping');
    expect(await get('/health/ready')).toMatchObject({
      status: 503,
      body: {
        ready: false,
        failing,
        error: { code: 'not_ready', message: 'partition a-0 is read-only; the hub is stopping' },
      },
    });
    expect(await get('/health/live')).toMatchObject({ status: 200, body: { live: true } });
  });
});

describe('info', () => {
  it('tells version, cluster, uptime and listeners', async () => {
    const { get, port } = await open();
    expect((await get('/api/v1/info')).body).toEqual({
      version: '1.2.3',
      clusterId: 'cluster',
      nodeId: 7,
      startedAtMs: NOW_MS - 5000,
      uptimeMs: 5000,
    });
    const { body } = await get('/api/v1/listeners');
    expect(body).toMatchObject({
      items: [{ name: 'admin', protocol: 'http', host: '127.0.0.1', port }],
      next: null,
    });
  });
});

describe('topics', () => {
  const names = ['Beta', '__state', 'alpha', 'alphabet', 'gamma'];
  const topics = () => names.map((name) => fakeTopic(name, [fakePartition(name, 0)], name.startsWith('__')));
  const listed = async ({ get }: FakeAdmin, query: string) => {
    const { body } = await get(`/api/v1/topics?${query}`);
    const { items, next } = body as { items: { topic: string }[]; next: string | null };
    return { names: items.map(({ topic }) => topic), next };
  };

  it('come page by page, each once, though others come and go between', async () => {
    const hub = { topics: topics() };
    const server = await open(hub);
    const first = await listed(server, 'limit=2');
    expect(first.names).toEqual(['Beta', '__state']);
    hub.topics = [...hub.topics.filter(({ name }) => name !== '__state'), fakeTopic('Aaa', [])];
    const second = await listed(server, `limit=2&cursor=${first.next}`);
    expect(second.names).toEqual(['alpha', 'alphabet']);
    const third = await listed(server, `limit=2&cursor=${second.next}`);
    expect(third).toEqual({ names: ['gamma'], next: null });
  });

  it('end exactly at a full page', async () => {
    expect(await listed(await open({ topics: topics() }), 'limit=5')).toEqual({ names, next: null });
  });

  it('are found by a part of their name', async () => {
    const server = await open({ topics: topics() });
    expect(await listed(server, 'search=ALPHA&limit=1')).toMatchObject({ names: ['alpha'] });
    expect((await listed(server, 'search=%5Bz')).names).toEqual([]);
  });

  it('say what is internal and how large it is', async () => {
    const { get } = await open({ topics: topics() });
    const { body } = await get('/api/v1/topics?search=state');
    expect(body).toMatchObject({
      items: [
        {
          topic: '__state',
          topicId: 'id-of-__state',
          internal: true,
          partitions: 1,
          bytes: 100,
          segments: 2,
        },
      ],
    });
  });

  it('that the caller may not see are not there', async () => {
    expect((await listed(await open({ topics: topics(), hidden: ['alpha'] }), '')).names).not.toContain(
      'alpha',
    );
  });
});

describe('limits', () => {
  it('a body that is too large is refused unread', async () => {
    const head = `GET /health/live HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${2 ** 31}\r\n\r\n`;
    const answer = await exchange(await open(), head);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"code":"payload_too_large"');
  });

  it('a body without an end is not waited for', async () => {
    const head =
      'GET /health/live HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n';
    expect(await exchange(await open(), head)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
  });

  it('headers that are too large', async () => {
    const answer = await exchange(
      await open(),
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(200_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/);
  });

  it.each(['\0\0\0\x12garbage\r\n\r\n', 'GET\r\n\r\n', '\x16\x03\x01\x02\0\x01\0', 'GET / HTTP/9.9\r\n\r\n'])(
    'bytes that are no HTTP: %j',
    async (bytes) => {
      const server = await open();
      expect(await exchange(server, bytes)).toMatch(
        /^HTTP\/1\.1 400 [\s\S]*\{"error":\{"code":"invalid_request"/,
      );
      expect((await server.get('/health/live')).status).toBe(200);
    },
  );
});

describe('faults of ours', () => {
  it('are told as such and no more; the log has the reason', async () => {
    const hub: FakeHub = {};
    Object.defineProperty(hub, 'topics', {
      get: () => {
        throw new Error('/secret/path');
      },
    });
    const { get, logged } = await open(hub);
    const { status, body } = await get('/api/v1/topics');
    expect(status).toBe(500);
    expect(body).toEqual({
      error: { code: 'internal', message: 'the hub failed to answer; its log has the reason' },
    });
    expect(logged).toMatchObject([
      {
        event: 'admin-request-failed',
        fields: { method: 'GET', route: '/api/v1/topics', error: { message: '/secret/path' } },
      },
    ]);
  });

  it('an answer that is not what the document promises is one', async () => {
    const { get, logged } = await open({
      topics: [fakeTopic('t', [{ ...fakePartition('t', 0), byteSize: -1 }])],
    });
    expect((await get('/api/v1/topics')).status).toBe(500);
    expect(logged).toHaveLength(1);
  });
});

describe('access', () => {
  it('every request is asked for its role, from loopback too', async () => {
    const asked: string[] = [];
    admin = await openFakeAdmin({}, ({ name, listener, remoteAddress }, role) => {
      asked.push([name, listener, remoteAddress, role].join(' '));
      if (role === 'viewer') throw new AdminError('forbidden', 'no');
    });
    expect((await admin.get('/api/v1/info')).status).toBe(403);
    expect((await admin.get('/api/v1/topics/t/offsets')).status).toBe(403);
    expect((await admin.get('/health/live')).status).toBe(200);
    expect(asked[0]).toBe('ANONYMOUS admin 127.0.0.1 viewer');
    expect(asked[2]).toBe('ANONYMOUS admin 127.0.0.1 anyone');
  });
});

describe('stopping', () => {
  it('closes at once though a client keeps its connection', async () => {
    const server = await open();
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    await server.close();
    await once(socket.resume(), 'close');
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it('closes though a request never ends', async () => {
    const server = await open();
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /health/live HTTP/1.1\r\nHost:');
    await server.close();
    await once(socket.resume(), 'close');
  });
});
