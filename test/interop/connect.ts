// Connect in standalone mode: lines of a file become records, and records lines of another file, also through a restart
// of the hub and of the worker, whose connectors' offsets are its own.
import { equal, ok } from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Child } from '../helpers/child.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { startJava } from './java.ts';
import { freePort, withOwnHub } from './own-hub.ts';

const STANDALONE = 'org.apache.kafka.connect.cli.ConnectStandalone';

/** Writes a properties file and returns its path. */
export function propertiesFile(
  directory: string,
  name: string,
  properties: Readonly<Record<string, string>>,
): string {
  const path = join(directory, `${name}.properties`);
  writeFileSync(
    path,
    Object.entries(properties)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  );
  return path;
}

const STRINGS = 'org.apache.kafka.connect.storage.StringConverter';

export const workerProperties = (kafkaPort: number, restPort: number): Record<string, string> => ({
  'bootstrap.servers': `127.0.0.1:${kafkaPort}`,
  'key.converter': STRINGS,
  'value.converter': STRINGS,
  listeners: `http://127.0.0.1:${restPort}`,
  // Its class path, without a scan of every jar.
  'plugin.discovery': 'service_load',
  'offset.flush.interval.ms': '500',
});

export const numberedLines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_none, index) => `line ${from + index}\n`).join('');

/** The sink has written so many lines; then they are compared. */
async function sunk(path: string, text: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (existsSync(path) && readFileSync(path).length >= text.length) break;
    // A file says nothing when it grows.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const found = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const same = [...found].findIndex((character, index) => character !== text[index]);
  ok(found === text, `the sink has ${found.length} of ${text.length} characters, and another at ${same}`);
}

const standalone: InteropCase = {
  name: 'Connect standalone: a file source and a file sink, through a restart of the hub and one of the worker, line for line',
  needs: ['java-clients'],
  timeoutMs: 180_000,
  run: () =>
    withOwnHub('[kafka]\ngroup_initial_rebalance_delay = "0s"\n', async (hub) => {
      const topic = freshTopic('connect');
      const [source, sink] = [join(hub.directory, 'source.txt'), join(hub.directory, 'sink.txt')];
      const restPort = await freePort();
      const files = [
        propertiesFile(hub.directory, 'worker', {
          ...workerProperties(hub.kafkaPort, restPort),
          'offset.storage.file.filename': join(hub.directory, 'connect.offsets'),
        }),
        propertiesFile(hub.directory, 'source', {
          name: 'source',
          'connector.class': 'FileStreamSource',
          file: source,
          topic,
        }),
        propertiesFile(hub.directory, 'sink', {
          name: 'sink',
          'connector.class': 'FileStreamSink',
          file: sink,
          topics: topic,
        }),
      ];
      const start = (): Child => startJava(STANDALONE, files, 170_000);
      writeFileSync(source, numberedLines(0, 1_000));
      let worker = start();
      await sunk(sink, numberedLines(0, 1_000));
      await hub.restart();
      appendFileSync(source, numberedLines(1_000, 2_000));
      await sunk(sink, numberedLines(0, 2_000));
      worker.kill('SIGTERM');
      await worker.finished;
      appendFileSync(source, numberedLines(2_000, 3_000));
      worker = start();
      await sunk(sink, numberedLines(0, 3_000));
      worker.kill('SIGTERM');
      await worker.finished;
      const raw = await RawKafka.connect(hub.kafkaPort);
      const records = await raw.fetchAll(topic, 0);
      raw.close();
      equal(records.map(({ value }) => `${value}\n`).join(''), numberedLines(0, 3_000));
      ok(records.every(({ key }) => key === null));
      return '3000 lines from file to file';
    }),
};

export const connectCases: readonly InteropCase[] = [standalone];
