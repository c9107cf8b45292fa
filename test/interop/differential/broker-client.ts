// A connection that sends what it is told, in any version, and gives back whole answers: the codec of this repository
// on both sides, so that a field that one broker fills and the other does not is seen.
import { connect, type Socket } from 'node:net';
import { FrameReader } from '../../../protocols/kafka/framing.ts';
import { writeRequestFrame } from '../../../protocols/kafka/wire/headers.ts';
import type { Message } from '../../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../../protocols/kafka/wire/reader.ts';
import type { Fields } from '../../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../../protocols/kafka/wire/writer.ts';
import { api } from '../../protocols/kafka/kafka-requests.ts';

export type ApiName = Exclude<keyof typeof api, 'legacyProduce'>;

const ANSWER_MS = 20_000;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** The answer; or that the broker closed the connection instead. */
export type Answer = Readonly<Record<string, unknown>> | 'closed';

export class BrokerClient {
  readonly #socket: Socket;
  readonly #frames = new FrameReader(ANSWER_BYTES_MAX);
  readonly #waiting: ((frame: Buffer | undefined) => void)[] = [];
  readonly #writer = new WireWriter();
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      this.#frames.push(bytes);
      for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next())
        this.#waiting.shift()?.(Buffer.from(frame));
    });
    socket.once('close', () => {
      this.#closed = true;
      for (const resolve of this.#waiting.splice(0)) resolve(undefined);
    });
  }

  static connect(port: number): Promise<BrokerClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () =>
        resolve(new BrokerClient(socket)),
      );
      socket.once('error', reject);
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  async ask(name: ApiName, version: number, request: Readonly<Record<string, unknown>>): Promise<Answer> {
    const { key } = api[name];
    // Requests are data, of any API: the writer refuses what does not fit the schema.
    const messages = api[name] as unknown as { request: Message<Fields>; response: Message<Fields> };
    const header = { apiKey: key, apiVersion: version, correlationId: 1, clientId: 'differential' };
    writeRequestFrame(this.#writer, header, messages.request, request);
    const frame = await new Promise<Buffer | undefined>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} ${version} was not answered`)), ANSWER_MS);
      this.#waiting.push((answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#socket.write(this.#writer.take());
    });
    if (frame === undefined) return 'closed';
    const reader = new WireReader(frame, 4);
    if (messages.response.hasFlexibleHeader(version)) reader.skipTaggedFields();
    return messages.response.read(reader, version);
  }

  close(): void {
    this.#socket.destroy();
  }
}
