// A connection to an MQTT server that sends any bytes and hands over whole packets as bytes: what servers are
// compared by, whatever a library would make of it.
import { connect, type Socket } from 'node:net';

/** Long for a server of this machine; only what does not come is waited for so long. */
const ANSWER_MS = 3_000;

export class RawConnection {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.#wake();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    // A reset is an end like others.
    socket.on('end', end).on('close', end).on('error', end);
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** The next packet; 'end' when the connection ended instead, 'nothing' when none came in time. */
  async next(waitMs = ANSWER_MS): Promise<Buffer | 'end' | 'nothing'> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const length = packetLength(this.#bytes);
      if (length !== undefined && length <= this.#bytes.length) {
        const packet = Buffer.from(this.#bytes.subarray(0, length));
        this.#bytes = this.#bytes.subarray(length);
        return packet;
      }
      if (this.#ended) return 'end';
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return 'nothing';
      await this.#change(leftMs);
    }
  }

  #change(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Without a word, as a cable that is cut. */
  destroy(): void {
    this.#socket.destroy();
  }
}

/** Of the packet that `bytes` begin with, its header counted; undefined while they do not tell. */
function packetLength(bytes: Buffer): number | undefined {
  let length = 0;
  for (let index = 1; index < 5; index++) {
    const byte = bytes[index];
    if (byte === undefined) return undefined;
    length += (byte & 127) * 128 ** (index - 1);
    if ((byte & 128) === 0) return index + 1 + length;
  }
  return undefined;
}

/** `length` as a variable byte integer (section 1.5.5). */
export function variableByteInteger(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.from(bytes);
}
