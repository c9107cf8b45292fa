// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations are full of them.
// What a configuration comes out as: defaults, units, variables, overrides and which of them wins.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { printConfig } from '../../../src/config/print.ts';
import { formatIssue } from '../../../src/config/sources.ts';
import { checkTopicConfig } from '../../../src/hub/topic-configs.ts';
import { LISTENER, sound } from './fixtures.ts';

describe('resolved values', () => {
  it('fills in every default', () => {
    expect(sound(LISTENER).broker).toMatchObject({
      dataDirectory: '/srv/hub/data',
      nodeId: 1,
      listeners: [
        { name: 'kafka', protocol: 'kafka', host: '127.0.0.1', port: 9092, connectionsMax: 10_000 },
      ],
      storage: { flushTimeoutMs: 30_000, checkpointBytes: 64 * 1024 ** 2, indexIntervalBytes: 4096 },
      topics: { partitions: 1, autoCreate: true, config: {}, statePartitions: 16 },
      declaredTopics: [],
    });
    expect(sound(LISTENER).log).toEqual({ level: 'info', format: 'text' });
  });

  it('turns units into numbers, and Kafka configs into Kafka text', () => {
    const { broker } = sound(`${LISTENER}
      [kafka]
      fetch_max_wait = "1m30s"
      request_size_max = "1.5MiB"
      [mqtt]
      keepalive_max = "1500ms"
      [topics]
      config = { "segment.bytes" = "64MiB", "max.message.bytes" = 1000, "message.timestamp.type" = "LogAppendTime" }
      [[topic]]
      name = "a"
      config."segment.bytes" = "1MB"`);
    expect(broker.kafka).toMatchObject({ fetchMaxWaitMs: 90_000, requestBytesMax: 1_572_864 });
    expect(broker.mqtt.keepaliveMaxSeconds).toBe(2);
    expect(broker.topics.config).toMatchObject({
      'segment.bytes': '67108864',
      'max.message.bytes': '1000',
      'message.timestamp.type': 'LogAppendTime',
    });
    expect(broker.declaredTopics).toEqual([
      {
        ...{ name: 'a', partitions: -1, config: { 'segment.bytes': '1000000' } },
        origin: {
          topic: 'polylog.toml:14',
          partitions: 'polylog.toml:13',
          config: { 'segment.bytes': 'polylog.toml:15' },
        },
      },
    ]);
  });

  it("takes Kafka's times and sizes with a unit, bare, and with -1 where Kafka does", () => {
    const { broker } = sound(`${LISTENER}
      [topics.config]
      "retention.ms" = "7d"
      "retention.bytes" = -1
      "segment.bytes" = "1GiB"
      "segment.ms" = "1h30m"
      "flush.ms" = 250
      "delete.retention.ms" = "0"
      "min.cleanable.dirty.ratio" = 0.25
      "cleanup.policy" = "compact,delete"
      [[topic]]
      name = "kept"
      config."retention.ms" = "-1"`);
    expect(broker.topics.config).toEqual({
      'flush.messages': '1',
      'retention.ms': '604800000',
      'retention.bytes': '-1',
      'segment.bytes': '1073741824',
      'segment.ms': '5400000',
      'flush.ms': '250',
      'delete.retention.ms': '0',
      'min.cleanable.dirty.ratio': '0.25',
      'cleanup.policy': 'compact,delete',
    });
    expect(broker.declaredTopics[0]?.config).toEqual({ 'retention.ms': '-1' });
    expect(checkTopicConfig(broker.topics.config)).toBeUndefined();
  });

  it("gives topics the store's dial, unless they have their own", () => {
    const storage = '[storage]\nflush_messages = 100\nflush_interval = "250ms"';
    expect(sound(`${LISTENER}${storage}`).broker.topics.config).toEqual({
      'flush.messages': '100',
      'flush.ms': '250',
    });
    expect(sound(`${LISTENER}${storage}\n[topics]\nconfig."flush.ms" = "2s"`).broker.topics.config).toEqual({
      'flush.messages': '100',
      'flush.ms': '2000',
    });
  });

  it("hands the store's bounds on", () => {
    const storage = '[storage]\ndisk_reserve_size = "0B"\ncheck_interval = "30s"';
    expect(sound(`${LISTENER}${storage}`).broker.storage).toMatchObject({
      diskReserveBytes: 0,
      checkIntervalMs: 30_000,
    });
  });

  it.each([
    ['[::1]:5', '::1', 5],
    ['localhost:0', 'localhost', 0],
    ['127.8.9.1:65535', '127.8.9.1', 65_535],
  ])('takes the loopback address %s without being asked twice', (bind, host, port) => {
    const [listener] = sound(`[[listener]]\nname = "a"\nprotocol = "mqtt"\nbind = "${bind}"`).broker
      .listeners;
    expect(listener).toMatchObject({ host, port });
  });

  it('lets everyone in where that was said', () => {
    const [listener] = sound(LISTENER.replace('127.0.0.1', '0.0.0.0').concat('anonymous = true')).broker
      .listeners;
    expect(listener).toMatchObject({ host: '0.0.0.0' });
  });
});

describe('variables', () => {
  const read = (written: string, environment: Record<string, string>) =>
    sound(`${LISTENER}[server]\nrack = "${written}"`, { environment }).broker.rack;

  it.each([
    ['${A}', { A: 'x' }, 'x'],
    ['${A}-${B:y}', { A: 'x' }, 'x-y'],
    ['${A:y}', { A: 'x' }, 'x'],
    ['a${A:}', {}, 'a'],
    ['${A:b:c}', {}, 'b:c'],
    ['$A {A} $${A}', { A: 'x' }, '$A {A} ${A}'],
  ])('%s', (written, environment, expected) => {
    expect(read(written, environment as Record<string, string>)).toBe(expected);
  });

  it('are not read twice: what one holds is text', () => {
    expect(read('${A}', { A: '${B}' })).toBe('${B}');
    expect(read('${A}', { A: '"\n[x]' })).toBe('"\n[x]');
  });

  it('may be numbers and booleans', () => {
    const text = `${LISTENER}[topics]\npartitions = "\${N}"\nauto_create = "\${B:false}"`;
    expect(sound(text, { environment: { N: '7' } }).broker.topics).toMatchObject({
      partitions: 7,
      autoCreate: false,
    });
  });
});

describe('overrides', () => {
  it('flag over environment over file over default', () => {
    const text = `${LISTENER}[topics]\npartitions = 2\nauto_create_limit = 2\nstate_partitions = 2`;
    const environment = { POLYLOG__TOPICS__PARTITIONS: '3', POLYLOG__TOPICS__AUTO_CREATE_LIMIT: '3' };
    const { topics } = sound(text, { environment, settings: ['topics.partitions=4'] }).broker;
    expect(topics).toMatchObject({
      partitions: 4,
      autoCreateLimit: 3,
      statePartitions: 2,
      partitionsMax: 10_000,
    });
  });

  it('name an element of an array by its name, whatever its separators', () => {
    const text = `${LISTENER}[[topic]]\nname = "a.b"\n[[topic]]\nname = "a.b.config"\n[[topic]]\nname = "c__d"`;
    const environment = {
      POLYLOG__LISTENER__kafka__BIND: '127.0.0.1:1',
      POLYLOG__LISTENER__KAFKA__LIMITS__CONNECTIONS: '5',
      POLYLOG__TOPIC__c__d__PARTITIONS: '6',
    };
    const settings = ['topic.a.b.partitions=7', 'topic.a.b.config.config.segment.bytes=1MiB'];
    const { broker } = sound(text, { environment, settings });
    expect(broker.listeners[0]).toMatchObject({ port: 1, connectionsMax: 5 });
    expect(broker.declaredTopics).toMatchObject([
      { name: 'a.b', partitions: 7, config: {} },
      { name: 'a.b.config', partitions: -1, config: { 'segment.bytes': '1048576' } },
      { name: 'c__d', partitions: 6, config: {} },
    ]);
  });

  it("reach Kafka's topic configs", () => {
    const environment = { POLYLOG__TOPICS__CONFIG__SEGMENT_BYTES: '2MiB' };
    const settings = ['topics.config.message.timestamp.type=LogAppendTime'];
    expect(sound(LISTENER, { environment, settings }).broker.topics.config).toMatchObject({
      'segment.bytes': '2097152',
      'message.timestamp.type': 'LogAppendTime',
    });
  });

  it('leave other variables of the environment alone', () => {
    expect(sound(LISTENER, { environment: { POLYLOG_ADMIN: 'x', polylog__y: 'z' } }).broker.nodeId).toBe(1);
  });
});

describe('printing', () => {
  it('shows each value with its source', () => {
    const { written } = sound(`${LISTENER}[log]\nlevel = "\${L:warn}"\n`, {
      environment: { POLYLOG__MQTT__INFLIGHT_MAX: '9' },
      settings: ['server.node_id=4'],
    });
    const lines = printConfig(written)
      .split('\n')
      .map((line) => line.replace(/ +/g, ' '));
    expect(lines).toContain('node_id = 4 # --set server.node_id');
    expect(lines).toContain('data_dir = "data" # default');
    expect(lines).toContain('bind = "127.0.0.1:9092" # polylog.toml:4');
    expect(lines).toContain('inflight_max = 9 # POLYLOG__MQTT__INFLIGHT_MAX');
    expect(lines).toContain('level = "warn" # polylog.toml:6');
  });

  it('gives a configuration that means the same', () => {
    const first = sound(
      `${LISTENER}limits = { connections = 3 }\n[topics]\nconfig = { "segment.bytes" = "1MiB" }`,
    );
    const again = sound(printConfig(first.written));
    expect(again.broker).toEqual(first.broker);
  });
});

describe('the file', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'polylog-config-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const complaint = async (file: string) => {
    const result = await loadConfig({ file, environment: {}, settings: [], workingDirectory: directory });
    return result.issues?.map(formatIssue);
  };

  it('is missing', async () => {
    const file = path.join(directory, 'none.toml');
    expect(await complaint(file)).toEqual([`${file}: there is no such file`]);
  });

  it('is a directory', async () => {
    expect(await complaint(directory)).toEqual([`${directory}: is a directory`]);
  });

  it('is not text', async () => {
    const file = path.join(directory, 'binary.toml');
    await writeFile(file, Buffer.from([0x61, 0xff, 0xfe]));
    expect(await complaint(file)).toEqual([`${file}: is not UTF-8 text`]);
  });
});
