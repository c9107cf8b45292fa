// Retained messages in numbers: how many nodes and how long an exact topic takes, how long `#` takes, and how long others
// wait meanwhile. `npx tsx test/bench/mqtt-retained.ts [messages, 100000]`; a hub of its own, in a directory of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import mqttPacket, { type Packet } from 'mqtt-packet';
import { TopicIndex } from '../../protocols/mqtt/retained/topic-index.ts';
import { startHub } from '../helpers/hub.ts';

const MESSAGES = Number(process.argv[2] ?? 100_000);
const IN_FLIGHT = 500;
const PING_MS = 5000;

const topicOf = (number: number) => `site/${number % 100}/device/${number}/temp`;
const print = (line: string) => process.stdout.write(`${line}\n`);

class Client {
  readonly #socket: Socket;
  readonly #parser = mqttPacket.parser({ protocolVersion: 5 });
  onPacket: (packet: Packet) => void = () => undefined;

  constructor(port: number, clientId: string) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (bytes) => this.#parser.parse(bytes));
    this.#parser.on('packet', (packet) => this.onPacket(packet));
    this.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 5,
      clientId,
      clean: true,
      keepalive: 0,
    });
  }

  send(packet: Packet): void {
    this.#socket.write(mqttPacket.generate(packet, { protocolVersion: 5 }));
  }

  close(): void {
    this.#socket.destroy();
  }
}

function fill(port: number): Promise<void> {
  const client = new Client(port, 'filler');
  let sent = 0;
  let stored = 0;
  const payload = Buffer.alloc(100, 0x78);
  const send = () => {
    while (sent < MESSAGES && sent - stored < IN_FLIGHT) {
      const messageId = (sent % 65_535) + 1;
      client.send({
        cmd: 'publish',
        topic: topicOf(sent++),
        payload,
        qos: 1,
        messageId,
        dup: false,
        retain: true,
      });
    }
  };
  return new Promise((resolve) => {
    client.onPacket = ({ cmd }) => {
      if (cmd === 'puback') stored++;
      send();
      if (stored < MESSAGES) return;
      client.close();
      resolve();
    };
  });
}

/** Subscribes and counts what is retained. */
function receive(port: number, topic: string, count: number, qos: 0 | 1): Promise<void> {
  const client = new Client(port, `reader-${topic}-${qos}`);
  let received = 0;
  return new Promise((resolve) => {
    client.onPacket = (packet) => {
      if (packet.cmd === 'connack')
        client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] });
      if (packet.cmd !== 'publish') return;
      if (packet.qos === 1) client.send({ cmd: 'puback', messageId: packet.messageId! });
      if (++received < count) return;
      client.close();
      resolve();
    };
  });
}

/** In a thread of its own, so that it does not wait for whoever reads the messages here. */
const PINGER = `
const { parentPort, workerData } = require('node:worker_threads');
const socket = require('node:net').connect(workerData, '127.0.0.1').setNoDelay(true);
const answersMs = [];
let sentMs = 0;
let isOver = false;
const ping = () => { sentMs = performance.now(); socket.write(Buffer.from([0xc0, 0])); };
socket.write(Buffer.concat([Buffer.from('101200044d5154540402000000 06'.replaceAll(' ', ''), 'hex'), Buffer.from('pinger')]));
socket.on('data', () => {
  if (sentMs > 0) answersMs.push(performance.now() - sentMs);
  if (!isOver) { setTimeout(ping, 2); return; }
  socket.destroy();
  parentPort.postMessage(answersMs.sort((left, right) => left - right));
});
parentPort.once('message', () => { isOver = true; });
`;

/** Pings until told to stop. @returns how long answers took: the longest, and what 99 of 100 took at most */
async function ping(port: number, until: Promise<unknown>): Promise<string> {
  const worker = new Worker(PINGER, { eval: true, workerData: port });
  const answered = new Promise<number[]>((resolve) => worker.once('message', resolve));
  await until;
  worker.postMessage('stop');
  const answersMs = await answered;
  await worker.terminate();
  const ms = (part: number) => (answersMs[Math.floor((answersMs.length - 1) * part)] ?? 0).toFixed(1);
  return `${ms(1)} ms, 99 of 100 within ${ms(0.99)} ms`;
}

async function timed(what: string, work: Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  await work;
  print(`${what}: ${(performance.now() - startMs).toFixed(1)} ms`);
}

function lookUp(): void {
  const index = new TopicIndex();
  const source = { topicId: 'id', partition: 0 };
  const rest = {
    statePartition: 0,
    source,
    timestampMs: 0,
    expiresAtMs: Number.POSITIVE_INFINITY,
    byteLength: 200,
  };
  for (let number = 0; number < MESSAGES; number++) {
    index.set(topicOf(number), { ...rest, stateOffset: number, sourceOffset: number });
  }
  const walk = index.walk(topicOf(MESSAGES >> 1));
  while (walk.next() !== undefined);
  print(
    `an exact topic among ${MESSAGES}: ${walk.steps} nodes; the index takes about ${index.heldBytes >> 20} MiB`,
  );
}

lookUp();
const directory = mkdtempSync(join(tmpdir(), 'mqtt-retained-'));
const hub = await startHub(directory, `[mqtt]\nretained_count_max = ${MESSAGES}\n`);
const { mqttPort: port } = hub;
await timed(`${MESSAGES} retained publishes at QoS 1`, fill(port));
await timed('an exact topic, from connect to message', receive(port, topicOf(MESSAGES >> 1), 1, 0));
print(`longest ping while nothing else is done: ${await ping(port, setTimeout(PING_MS))}`);
for (const qos of [0, 1] as const) {
  const all = receive(port, '#', MESSAGES, qos);
  const longest = ping(port, all);
  await timed(`# at QoS ${qos}, ${MESSAGES} messages`, all);
  print(`longest ping of another client meanwhile: ${await longest}`);
}
await hub.stop();
rmSync(directory, { recursive: true, force: true });
