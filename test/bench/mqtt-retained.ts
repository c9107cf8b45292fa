// Retained messages in numbers: how many nodes and how long an exact topic takes, how long `#` takes, and how long others
// wait meanwhile. `npx tsx test/bench/mqtt-retained.ts [messages, 100000]`; the built hub (`npm run build`), in a directory of
// its own. Its CPU time stands beside each figure: the clients, which are of this process, take some too.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { TopicIndex } from '../../protocols/mqtt/retained/topic-index.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';

const MESSAGES = Number(process.argv[2] ?? 100_000);
const IN_FLIGHT = 500;
const PING_MS = 5000;
const TICK_MS = 10;

const CONNACK = 2;
const PUBLISH = 3;
const PUBACK = 4;

const topicOf = (number: number) => `site/${number % 100}/device/${number}/temp`;
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Speaks as much 3.1.1 as is needed here, at little cost. */
class Client {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  onPacket: (type: number, flags: number, body: Buffer) => void = () => undefined;
  /** What came at once has been looked at. */
  onPiece: () => void = () => undefined;

  constructor(port: number, clientId: string) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.#socket.on('data', (piece) => this.#read(piece));
    this.send(packet(0x10, Buffer.from('\0\x04MQTT\x04\x02\0\0'), text(clientId)));
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(piece: Buffer): void {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let at = 0;
    for (;;) {
      let body = at + 1;
      let length = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[body++];
        if (byte === undefined) length = Number.POSITIVE_INFINITY;
        else length += (byte & 127) << shift;
        if (byte === undefined || byte < 128) break;
      }
      if (body + length > bytes.length) break;
      this.onPacket(bytes[at]! >> 4, bytes[at]! & 15, bytes.subarray(body, body + length));
      at = body + length;
    }
    this.#rest = bytes.subarray(at);
    this.onPiece();
  }
}

function packet(first: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = body.length < 128 ? [body.length] : [(body.length & 127) | 128, body.length >> 7];
  return Buffer.concat([Buffer.from([first, ...head]), body]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

function number(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

function fill(port: number): Promise<void> {
  const client = new Client(port, 'filler');
  let sent = 0;
  let stored = 0;
  const payload = Buffer.alloc(100, 0x78);
  const send = () => {
    const packets: Buffer[] = [];
    for (; sent < MESSAGES && sent - stored < IN_FLIGHT; sent++)
      packets.push(packet(0x33, text(topicOf(sent)), number((sent % 65_535) + 1), payload));
    if (packets.length > 0) client.send(Buffer.concat(packets));
  };
  return new Promise((resolve) => {
    client.onPacket = (type) => {
      if (type === PUBACK) stored++;
    };
    client.onPiece = () => {
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
  let answers: Buffer[] = [];
  return new Promise((resolve) => {
    client.onPacket = (type, flags, body) => {
      if (type === CONNACK) client.send(packet(0x82, number(1), text(topic), Buffer.from([qos])));
      if (type !== PUBLISH) return;
      received++;
      const idAt = 2 + body.readUInt16BE(0);
      if (flags & 6) answers.push(Buffer.from([0x40, 2, body[idAt]!, body[idAt + 1]!]));
    };
    client.onPiece = () => {
      if (answers.length > 0) client.send(Buffer.concat(answers));
      answers = [];
      if (received < count) return;
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

async function timed(what: string, count: number, work: Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  const startCpuMs = hubCpuMs();
  await work;
  const ms = performance.now() - startMs;
  const each = ((hubCpuMs() - startCpuMs) * 1000) / count;
  print(`${what}: ${ms.toFixed(1)} ms; ${each.toFixed(1)} µs of the hub's CPU time each`);
}

/** All threads of it; utime and stime are the 14th and 15th word, behind a name that may hold spaces. */
function hubCpuMs(): number {
  const words = readFileSync(`/proc/${hub.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(words[11]) + Number(words[12])) * TICK_MS;
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
const directory = temporaryDirectory();
const hub = await startHubProcess(directory.path, `[mqtt]\nretained_count_max = ${MESSAGES}\n`);
const { mqttPort: port } = hub;
await timed(`${MESSAGES} retained publishes at QoS 1`, MESSAGES, fill(port));
await timed('an exact topic, from connect to message', 1, receive(port, topicOf(MESSAGES >> 1), 1, 0));
print(`longest ping while nothing else is done: ${await ping(port, setTimeout(PING_MS))}`);
for (const qos of [0, 1] as const) {
  const all = receive(port, '#', MESSAGES, qos);
  const longest = ping(port, all);
  await timed(`# at QoS ${qos}, ${MESSAGES} messages`, MESSAGES, all);
  print(`longest ping of another client meanwhile: ${await longest}`);
}
await hub.stop();
directory.remove();
