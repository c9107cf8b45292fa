// `polylog bench` before a real hub: every record arrives, the result is one line, and what cannot be is told.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordBatch } from '../../../src/cli/bench/kafka-connection.ts';
import { FieldReader, FieldWriter } from '../../../src/cli/bench/kafka-fields.ts';
import { Load, type Sender } from '../../../src/cli/bench/load.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { type Polylog, startPolylog } from '../../../src/polylog.ts';
import { temporaryDirectory } from '../../helpers/hub-process.ts';
import { recordBatch as otherBatch } from '../../helpers/raw-kafka.ts';

const directory = temporaryDirectory();
let polylog: Polylog;
beforeAll(async () => {
  polylog = await startPolylog({
    config: {
      server: { data_dir: directory.path },
      listener: [
        { name: 'kafka', protocol: 'kafka', bind: '127.0.0.1:0' },
        { name: 'mqtt', protocol: 'mqtt', bind: '127.0.0.1:0' },
      ],
      topic: [{ name: 'wide', partitions: 3 }],
    },
  });
});
afterAll(async () => {
  await polylog.close();
  directory.remove();
});

const portOf = (name: string): number => polylog.listeners().find((each) => each.name === name)!.port;

async function run(argv: readonly string[], more: { interrupted?: AbortSignal } = {}) {
  const said = { out: '', err: '' };
  const exitCode = await runCommandLine(['bench', ...argv], {
    out: (text) => {
      said.out += text;
    },
    outMuch: async () => true,
    err: (text) => {
      said.err += text;
    },
    environment: {
      POLYLOG_KAFKA: `127.0.0.1:${portOf('kafka')}`,
      POLYLOG_MQTT: `mqtt://127.0.0.1:${portOf('mqtt')}`,
    },
    workingDirectory: '/',
    ...more,
  });
  return { exitCode, ...said };
}

describe('each record arrives', () => {
  it.each([
    [['kafka', '--records', '2500', '--size', '200'], { protocol: 'kafka', sent: 2500, arrived: 2500 }],
    [['kafka', '--records', '300', '--topic', 'wide'], { protocol: 'kafka', arrived: 300 }],
    [['mqtt', '--records', '200'], { protocol: 'mqtt', qos: 1, arrived: 200 }],
    [['mqtt', '--records', '50', '--qos', '0', '--topic', 'a/b'], { qos: 0, arrived: 50 }],
    [['mqtt', '--records', '50', '--qos', '2'], { qos: 2, arrived: 50 }],
    [
      ['bridge', '--records', '200', '--topic', 'plant/7/temp', '--rate', '5000'],
      { rate: 5000, arrived: 200 },
    ],
  ])('%j', async (argv, expected) => {
    const { exitCode, out, err } = await run([...argv, '--output', 'json']);
    expect([exitCode, err]).toEqual([0, '']);
    const result = JSON.parse(out);
    expect(result).toMatchObject({ ...expected, lost: 0 });
    expect(result.recordsPerSecond).toBeGreaterThan(0);
    expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms);
  });

  it('is told in one line', async () => {
    const { out } = await run(['kafka', '--records', '10', '--size', '16']);
    expect(out).toMatch(
      /^kafka: 10 records of 16 bytes in [\d.]+ s · \d+ records\/s · [\d.]+ MB\/s · p50 [\d.]+ ms · p99 [\d.]+ ms · max [\d.]+ ms\n$/,
    );
  });
});

describe('what cannot be', () => {
  it.each([
    [['kafka', '--size', '15'], 2, /between 16 and/],
    [['mqtt', '--qos', '3'], 2, /between 0 and 2/],
    [['kafka', '--kafka', 'nowhere'], 2, /no address such as 127\.0\.0\.1:9092/],
    [['kafka', '--records', '1', '--topic', 'no spaces'], 1, /Kafka error 17/],
    [['mqtt', '--url', 'http://127.0.0.1'], 2, /no URL such as/],
    [['nats'], 2, /unknown command/],
  ])('%j: exit %s', async (argv, expected, message) => {
    const { exitCode, out, err } = await run(argv);
    expect([exitCode, out]).toEqual([expected, '']);
    expect(err).toMatch(message);
  });

  it('a hub that is not there: exit 3', async () => {
    const server = await listening();
    const address = `127.0.0.1:${portOfServer(server)}`;
    await new Promise((resolve) => server.close(resolve));
    expect(await run(['kafka', '--kafka', address])).toMatchObject({ exitCode: 3 });
    expect(await run(['bridge', '--url', `mqtt://${address}`])).toMatchObject({ exitCode: 3 });
  });

  it('somebody else behind the port', async () => {
    const server = await listening((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const { exitCode, err } = await run(['kafka', '--kafka', `127.0.0.1:${portOfServer(server)}`]);
    expect([exitCode, err]).toEqual([1, 'this is no Kafka listener\n']);
    server.close();
  });

  it('Ctrl-C ends it with what has arrived', async () => {
    const interrupted = AbortSignal.abort();
    const { exitCode, out } = await run(['mqtt', '--records', '1000000'], { interrupted });
    expect([exitCode, out]).toEqual([0, expect.stringMatching(/^mqtt: 0 records of 100 bytes/)]);
  });
});

describe('the load', () => {
  const options = { records: 10, size: 32, rate: undefined, interrupted: undefined };
  const sender = (send: Sender['send']): Sender => ({ batchMax: 2, windowMax: 4, send });

  it('keeps the window', async () => {
    const load = new Load(options);
    let pending = 0;
    let most = 0;
    await load.run(
      sender(async (payloads) => {
        pending += payloads.length;
        most = Math.max(most, pending);
        await new Promise(setImmediate);
        for (const payload of payloads) load.take(payload);
        pending -= payloads.length;
      }),
    );
    expect(most).toBe(4);
  });

  it('counts its own records alone', async () => {
    const load = new Load({ ...options, records: 1 });
    const other = new Load({ ...options, records: 1 });
    const result = await load.run(
      sender(async ([payload]) => {
        other.take(payload!);
        load.take(Buffer.alloc(32));
        load.take(Buffer.from('short'));
        load.take(payload!);
      }),
    );
    expect(result).toMatchObject({ sent: 1, arrived: 1 });
  });

  it('ends with what a sender or a receiver throws', async () => {
    const refused = sender(() => Promise.reject(new Error('refused')));
    await expect(new Load(options).run(refused)).rejects.toThrow('refused');
    const load = new Load(options);
    load.fail(new Error('gone'));
    await expect(load.run(sender(async () => undefined))).rejects.toThrow('gone');
  });
});

describe("Kafka's bytes", () => {
  it('of a batch are those of another encoder', () => {
    const values = ['a', 'b'.repeat(300)].map((text) => Buffer.from(text));
    const records = values.map((value) => ({ key: null, value, headers: [] }));
    const timeMs = 1_764_000_000_000;
    expect(recordBatch(values, timeMs)).toEqual(otherBatch(records, { timestampsMs: [timeMs, timeMs] }));
  });

  it.each([0, -1, 1, 63, -64, 64, 300, 2 ** 31 - 1, -(2 ** 31)])('varint %i', (value) => {
    expect(new FieldReader(new FieldWriter().varint(value).done()).varint()).toBe(value);
  });
});

async function listening(onConnection?: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer({}, onConnection).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function portOfServer(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : -1;
}
