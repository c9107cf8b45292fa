// What another file changes: at once, after a restart, or not at all; and what is in use then.
import { describe, expect, it } from 'vitest';
import { changesBetween } from '../../../src/config/changes.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { schemaTree, schemaValues } from '../../../src/config/schema-tree.ts';
import { LISTENER, sound } from './fixtures.ts';

function changes(before: string, after: string) {
  const { applied, needsRestart, unchanged, merged } = changesBetween(
    sound(LISTENER + before).checked,
    sound(LISTENER + after).checked,
  );
  return { applied, needsRestart, unchanged, merged };
}

const listener = (name: string, bind: string, more = '') =>
  `[[listener]]\nname = "${name}"\nprotocol = "mqtt"\nbind = "${bind}"\n${more}\n`;

describe('keys', () => {
  it('that mean the same in other words are unchanged', () => {
    const { applied, needsRestart, unchanged } = changes(
      '[kafka]\nrequest_size_max = "1MiB"\n',
      '[storage]\nflush_interval = "1000ms"\n[kafka]\nrequest_size_max = "1024KiB"\n',
    );
    expect([applied, needsRestart]).toEqual([[], []]);
    expect(unchanged).toContain('kafka.request_size_max');
    expect(unchanged).toContain('listener.kafka.limits.connections');
  });

  it('take effect at once, or wait and stay as they are', () => {
    const { applied, needsRestart, merged } = changes(
      '',
      `[server]\nnode_id = 4\nrack = "a"\n[storage]\nflush_messages = 5\ntail_cache_size = "1MiB"
       [topics]\npartitions = 3\nstate_partitions = 2\nconfig."retention.ms" = "1d"
       [mqtt]\nreceive_maximum = 7\n[log]\nlevel = "debug"\nformat = "json"`,
    );
    expect(applied).toEqual([
      'storage.flush_messages',
      'topics.partitions',
      'topics.config."retention.ms"',
      'mqtt.receive_maximum',
      'log.level',
    ]);
    expect(needsRestart).toEqual([
      'server.node_id',
      'server.rack',
      'storage.tail_cache_size',
      'topics.state_partitions',
      'log.format',
    ]);
    expect(merged).toMatchObject({
      server: { node_id: 1 },
      storage: { flush_messages: 5, tail_cache_size: 64 * 1024 ** 2 },
      topics: { partitions: 3, state_partitions: 16, config: { 'retention.ms': 86_400_000 } },
      log: { level: 'debug', format: 'text' },
    });
    expect('rack' in merged.server).toBe(false);
  });

  it('that are taken out go back to what counts without them', () => {
    const text = '[kafka]\ngroups_max = 5\n[topics.config]\n"retention.ms" = 5';
    const { applied, merged } = changes(text, '');
    expect(applied).toEqual(['topics.config."retention.ms"', 'kafka.groups_max']);
    expect(merged.kafka.groups_max).toBe(10_000);
    expect(merged.topics.config).toEqual({});
  });

  it('that wait for a restart are these', () => {
    const waiting = [...schemaValues(schemaTree(configSchema))].filter(({ node }) => node.restart);
    expect(waiting.map(({ path }) => path.join('.'))).toEqual([
      'server.data_dir',
      'server.node_id',
      'server.rack',
      'listener.*.protocol',
      'listener.*.bind',
      'storage.flush_timeout',
      'storage.checkpoint_size',
      'storage.index_interval_size',
      'storage.disk_reserve_size',
      'storage.check_interval',
      'storage.tail_cache_size',
      'topics.state_partitions',
      'log.format',
    ]);
  });
});

describe('topics and mapping rules', () => {
  it('are compared one by one, and as a whole', () => {
    const topic = (name: string, partitions: number) =>
      `[[topic]]\nname = "${name}"\npartitions = ${partitions}\n`;
    const { applied, unchanged } = changes(
      `${topic('a', 1)}${topic('b', 1)}${topic('c', 1)}[[mapping]]\nmatch = "x/#"`,
      `${topic('b', 1)}${topic('c', 2)}${topic('d', 1)}[[mapping]]\nmatch = "x/#"\nqos = 0`,
    );
    expect(applied).toEqual(['topic.a', 'topic.c', 'topic.d', 'mapping."x/#".qos']);
    expect(unchanged).toContain('topic.b');
  });

  it('rules are named by what they match: those that change, come and go, and another order of them', () => {
    const rules = (...all: string[]) => all.map((each) => `[[mapping]]\nmatch = "${each}"\n`).join('');
    const differing = (before: string, after: string) => changes(before, after).applied;
    expect(differing(rules('a/#', 'b/#'), rules('c/#', 'a/#'))).toEqual(['mapping."c/#"', 'mapping."b/#"']);
    expect(differing(rules('a/#', 'b/#'), rules('b/#', 'a/#'))).toEqual(['mapping']);
    expect(changes(rules('a/#'), rules('a/#')).unchanged).toContain('mapping."a/#"');
    expect(changes('', '').unchanged).toContain('mapping');
  });
});

describe('listeners', () => {
  it('are opened, changed and closed', () => {
    const { applied, needsRestart, merged } = changes(
      listener('a', '127.0.0.1:1') + listener('b', '127.0.0.1:2'),
      listener('b', '127.0.0.1:2', 'limits.connections = 5') + listener('c', '127.0.0.1:3'),
    );
    expect([...applied].sort()).toEqual(['listener.a', 'listener.b.limits.connections', 'listener.c']);
    expect(needsRestart).toEqual([]);
    expect(merged.listener.map(({ name }) => name)).toEqual(['kafka', 'b', 'c']);
  });

  it('with another address stay as a whole', () => {
    const { applied, needsRestart, merged } = changes(
      listener('a', '127.0.0.1:1'),
      listener('a', '127.0.0.1:2', 'limits.connections = 5'),
    );
    expect(applied).toEqual([]);
    expect(needsRestart).toEqual(['listener.a.bind', 'listener.a.limits.connections']);
    expect(merged.listener[1]).toMatchObject({ bind: { port: 1 }, limits: { connections: 10_000 } });
  });

  it('whose port another one still has wait with it', () => {
    const { applied, needsRestart, merged } = changes(
      listener('old', '127.0.0.1:1'),
      listener('new', '127.0.0.1:1'),
    );
    expect(applied).toEqual([]);
    expect(needsRestart).toEqual(['listener.old', 'listener.new']);
    expect(merged.listener.map(({ name }) => name)).toEqual(['kafka', 'old']);
  });
});
