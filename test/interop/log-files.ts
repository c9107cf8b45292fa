// The files of a log, read by a program that knows FORMAT.md and nothing else: test/interop/read-log.py and
// `polylog log dump` say the same of every record.
import { deepEqual, ok } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { run } from '../helpers/child.ts';
import type { HubProcess } from '../helpers/hub-process.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { python } from './python.ts';

const script = join(import.meta.dirname, 'read-log.py');
const program = join(import.meta.dirname, '..', '..', 'dist', 'src', 'main.js');
const fixtures = join(import.meta.dirname, '..', 'fixtures', 'format-1');

type Line = Readonly<Record<string, unknown>>;

const linesOf = (output: Buffer): Line[] =>
  output
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

/** By partition directory, records as read-log.py prints them: with what their batch says. */
async function dumped(place: string): Promise<ReadonlyMap<string, Line[]>> {
  const args = [program, 'log', 'dump', place, '--key', 'hex', '--value', 'hex'];
  const records = new Map<string, Line[]>();
  let batch: unknown[] = [];
  const names = ['transactional', 'control', 'append-time', 'aborts'];
  for (const line of linesOf(await run(process.execPath, args))) {
    if (line['frame'] === 'batch') {
      const set = line['attributes'] as string[]; // what dump prints as a list of names
      const bits = set.reduce((sum, name) => sum | (1 << names.indexOf(name)), 0);
      batch = [bits, line['producerId'], line['producerEpoch'], line['baseSequence']];
      continue;
    }
    const directory = resolve(dirname(String(line['file'])));
    const { offset, timestampMs, key, headers, sourceAttributes, value } = line;
    const before = records.get(directory) ?? [];
    records.set(directory, before);
    before.push({ offset, timestampMs, key, headers, sourceAttributes, value, batch });
  }
  return records;
}

/** Below the log start a dump shows what is still in the files, and a reader does not. */
async function agree(directory: string, all: ReadonlyMap<string, Line[]>): Promise<Line[]> {
  const manifest: unknown = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'));
  const { logStartOffset } = manifest as { logStartOffset: number }; // storage/FORMAT.md
  const expected = (all.get(directory) ?? []).filter(({ offset }) => Number(offset) >= logStartOffset);
  const read = linesOf(await python(script, [directory]));
  deepEqual(read, expected);
  return read;
}

export const logFiles: readonly InteropCase[] = [
  {
    name: 'log files: Python by FORMAT.md alone reads the golden data directories as dump does',
    needs: ['python3'],
    async run() {
      let records = 0;
      for (const fixture of readdirSync(fixtures)) {
        const topics = join(fixtures, fixture, 'directory', 'topics');
        const all = await dumped(join(fixtures, fixture, 'directory'));
        for (const topic of readdirSync(topics)) {
          for (const partition of readdirSync(join(topics, topic)).filter((name) => /^[0-9]+$/.test(name))) {
            records += (await agree(join(topics, topic, partition), all)).length;
          }
        }
      }
      ok(records > 500, `${records} records`);
    },
  },
  {
    name: 'log files: Python by FORMAT.md alone reads what a running hub has acknowledged',
    needs: ['python3', 'mosquitto_pub'],
    run: readWhatTheHubWrote,
  },
];

async function readWhatTheHubWrote(hub: HubProcess): Promise<void> {
  const topic = freshTopic('files');
  const raw = await RawKafka.connect(hub.kafkaPort);
  await raw.ensureTopic(topic);
  const records = [
    { key: Buffer.from('k'), value: Buffer.from([0, 255]), headers: [['h', Buffer.from('v')]] as const },
    {
      key: null,
      value: null,
      headers: [
        ['h', null],
        ['h', Buffer.alloc(0)],
      ] as const,
    },
    { key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [] },
  ];
  const { error } = await raw.produce(topic, 0, recordBatch(records, {}));
  deepEqual(error, 0);
  raw.close();
  await run('mosquitto_pub', ['-p', `${hub.mqttPort}`, '-q', '1', '-t', `${topic}/a/b`, '-m', 'from MQTT']);
  const directory = join(hub.dataDirectory, 'topics', topic, '0');
  const read = await agree(directory, await dumped(directory));
  const mqttTopic = Buffer.from(`${topic}/a/b`).toString('hex');
  deepEqual(
    read.map(({ key, value }) => [key, value]),
    [
      [{ hex: '6b' }, { hex: '00ff' }],
      [null, null],
      [{ hex: '' }, { hex: '' }],
      [{ hex: mqttTopic }, { hex: Buffer.from('from MQTT').toString('hex') }],
    ],
  );
}
