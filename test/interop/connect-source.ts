// Connect's distributed worker with exactly-once support for sources: a file becomes records in transactions that hold
// the source's offsets too, while the hub and the worker are killed.
import { equal, ok } from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, run } from '../helpers/child.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { readValues } from './committed-view.ts';
import { numberedLines, propertiesFile, workerProperties } from './connect.ts';
import { startJava } from './java.ts';
import { freePort, type OwnHub, withOwnHub } from './own-hub.ts';

const DISTRIBUTED = 'org.apache.kafka.connect.cli.ConnectDistributed';
const LINES = 4_000;

const distributedProperties = (port: number, restPort: number, name: string): Record<string, string> => ({
  ...workerProperties(port, restPort),
  'group.id': name,
  'exactly.once.source.support': 'enabled',
  'config.storage.topic': `${name}-configs`,
  'offset.storage.topic': `${name}-offsets`,
  'status.storage.topic': `${name}-status`,
  'offset.storage.partitions': '3',
  'status.storage.partitions': '1',
  'config.storage.replication.factor': '1',
  'offset.storage.replication.factor': '1',
  'status.storage.replication.factor': '1',
  // Who comes after a killed worker reads its offsets to their end: it waits for the transaction that is left open.
  'producer.transaction.timeout.ms': '5000',
  'scheduled.rebalance.max.delay.ms': '0',
  'session.timeout.ms': '6000',
  'heartbeat.interval.ms': '500',
});

async function makeConnector(restPort: number, file: string, topic: string): Promise<void> {
  const config = {
    'connector.class': 'FileStreamSource',
    'exactly.once.support': 'required',
    'transaction.boundary': 'poll',
    file,
    topic,
    // A kill while thousands of lines are in one transaction would show little.
    'batch.size': '50',
    'tasks.max': '1',
  };
  for (let attempt = 0; ; attempt++) {
    const answer = await fetch(`http://127.0.0.1:${restPort}/connectors/source/config`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(config),
    });
    if (answer.ok) return;
    const said = await answer.text();
    // The worker answers before it has joined its group.
    ok(attempt < 300, `the connector is refused: ${answer.status} ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Its end goes beyond so many records. */
async function grown(hub: OwnHub, topic: string, records: number): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  for (let attempt = 0; (await raw.fetch(topic, 0, 0)).highWatermark <= records; attempt++) {
    ok(attempt < 1_200, `${topic} has no more than ${records} records`);
    // A worker says nothing of how far it is.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  raw.close();
}

async function committed(hub: OwnHub, topic: string, count: number): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const values = await readValues(hub.kafkaPort, topic, 'read_committed');
    if (values.length >= count || attempt === 60) return values;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

export const connectSource: InteropCase = {
  name: 'Connect distributed with exactly.once.source.support=enabled: a file source while the hub and the worker are killed with SIGKILL, each line once',
  needs: ['java-clients'],
  timeoutMs: 300_000,
  run: () =>
    withOwnHub('[kafka]\ngroup_initial_rebalance_delay = "0s"\n', async (hub) => {
      const topic = freshTopic('source');
      const raw = await RawKafka.connect(hub.kafkaPort);
      await raw.ensureTopic(topic);
      raw.close();
      const file = join(hub.directory, 'source.txt');
      writeFileSync(file, numberedLines(0, LINES));
      const restPort = await freePort();
      const properties = distributedProperties(hub.kafkaPort, restPort, topic);
      const path = propertiesFile(hub.directory, 'worker', properties);
      const start = async (): Promise<Child> => {
        const worker = startJava(DISTRIBUTED, [path], 290_000);
        await run('curl', ['-sS', '--retry', '60', '--retry-connrefused', `http://127.0.0.1:${restPort}/`]);
        return worker;
      };
      let worker = await start();
      await makeConnector(restPort, file, topic);
      await grown(hub, topic, LINES / 10);
      await hub.killAndStart();
      await grown(hub, topic, LINES / 2);
      worker.kill('SIGKILL');
      await worker.finished;
      worker = await start();
      // It keeps lines of a full batch until more come: some are left at its end.
      appendFileSync(file, numberedLines(LINES, 2 * LINES + 200));
      const values = await committed(hub, topic, 2 * LINES);
      worker.kill('SIGTERM');
      await worker.finished;
      ok(values.length >= 2 * LINES, `only ${values.length} lines`);
      equal(values.map((value) => `${value}\n`).join(''), numberedLines(0, values.length));
      return `${values.length} lines through a kill of the hub and one of the worker`;
    }),
};
