// What the hub is held against by the guard: a server in a process of its own that does with the same bytes what plain
// Node can do at best, and nothing else. What comes is written to one file and on disk before it is answered or passed
// on; what comes meanwhile goes with the next write. `plain-server.ts FILE` prints its port.
//
// A connection begins with six bytes: a letter, a flag and a number of four bytes.
//   A  frames are written; each is answered by a frame of so many bytes
//   F  frames are answered at once, by a frame of so many bytes
//   P  packets of so many bytes are written and passed on to S; with the flag each is answered by four bytes
//   S  what is passed on goes here
import { constants, openSync, writev } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { FrameCounter } from './frames.ts';

const { O_WRONLY, O_CREAT, O_TRUNC, O_DSYNC } = constants;
const HEAD_BYTES = 6;

/** One write at a time, which is its own flush. */
class PlainLog {
  readonly #file: number;
  #waiting: { readonly bytes: Buffer; readonly done: () => void }[] = [];
  #isWriting = false;

  constructor(path: string) {
    this.#file = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_DSYNC);
  }

  append(bytes: Buffer, done: () => void): void {
    this.#waiting.push({ bytes, done });
    if (!this.#isWriting) this.#write();
  }

  #write(): void {
    const group = this.#waiting;
    this.#waiting = [];
    this.#isWriting = true;
    const buffers = group.map(({ bytes }) => bytes);
    writev(this.#file, buffers, (error) => {
      if (error !== null) throw error;
      this.#isWriting = false;
      for (const { done } of group) done();
      if (this.#waiting.length > 0 && !this.#isWriting) this.#write();
    });
  }
}

const log = new PlainLog(process.argv[2] ?? 'plain.log');
let subscriber: Socket | undefined;

function serveAppends(socket: Socket, answer: Buffer): (chunk: Buffer) => void {
  const frames = new FrameCounter();
  return (chunk) => {
    const ended = frames.push(chunk);
    log.append(chunk, () => {
      if (ended > 0) socket.write(repeated(answer, ended));
    });
  };
}

function serveFetches(socket: Socket, answer: Buffer): (chunk: Buffer) => void {
  const frames = new FrameCounter();
  return (chunk) => {
    for (let ended = frames.push(chunk); ended > 0; ended--) socket.write(answer);
  };
}

function servePublishes(socket: Socket, packetBytes: number, isAnswered: boolean): (chunk: Buffer) => void {
  const acknowledgement = Buffer.from([0x40, 2, 0, 1]);
  let received = 0;
  return (chunk) => {
    const before = Math.floor(received / packetBytes);
    received += chunk.length;
    const ended = Math.floor(received / packetBytes) - before;
    log.append(chunk, () => {
      subscriber?.write(chunk);
      if (isAnswered && ended > 0) socket.write(repeated(acknowledgement, ended));
    });
  };
}

function repeated(bytes: Buffer, count: number): Buffer {
  return count === 1 ? bytes : Buffer.concat(Array.from({ length: count }, () => bytes));
}

function frameOf(byteLength: number): Buffer {
  const frame = Buffer.alloc(4 + byteLength, 'x');
  frame.writeUInt32BE(byteLength);
  return frame;
}

function serve(socket: Socket, head: Buffer): (chunk: Buffer) => void {
  const mode = String.fromCharCode(head[0] ?? 0);
  const number = head.readUInt32BE(2);
  if (mode === 'A') return serveAppends(socket, frameOf(number));
  if (mode === 'F') return serveFetches(socket, frameOf(number));
  if (mode === 'P') return servePublishes(socket, number, head[1] === 1);
  subscriber = socket;
  return () => undefined;
}

const server = createServer({ noDelay: true }, (socket) => {
  let head = Buffer.alloc(0);
  let take: ((chunk: Buffer) => void) | undefined;
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    if (take !== undefined) {
      take(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < HEAD_BYTES) return;
    take = serve(socket, head);
    if (head.length > HEAD_BYTES) take(head.subarray(HEAD_BYTES));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  process.stdout.write(`listening on ${address.port}\n`);
});
