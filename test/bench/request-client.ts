// One connection to the hub, and requests of any API by its schema, for benchmarks that are about what is asked and not
// about records.
import { connect, type Socket } from 'node:net';
import { FrameReader } from '../../protocols/kafka/framing.ts';
import { writeRequestFrame } from '../../protocols/kafka/wire/headers.ts';
import type { Message } from '../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../protocols/kafka/wire/reader.ts';
import type { Fields, StructInput, StructValue } from '../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../protocols/kafka/wire/writer.ts';

export function requestFrame<F extends Fields>(
  apiKey: number,
  apiVersion: number,
  message: Message<F>,
  request: StructInput<F>,
): Buffer {
  const writer = new WireWriter();
  writeRequestFrame(writer, { apiKey, apiVersion, correlationId: 1, clientId: 'bench' }, message, request);
  return writer.take();
}

export class RequestClient {
  readonly #socket: Socket;
  readonly #frames = new FrameReader(1 << 30);
  readonly #waiting: ((frame: Buffer) => void)[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#frames.push(chunk);
      for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next())
        this.#waiting.shift()?.(Buffer.from(frame));
    });
  }

  static open(port: number): Promise<RequestClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RequestClient(socket)));
    });
  }

  async ask<Req extends Fields, Res extends Fields>(
    key: number,
    version: number,
    messages: readonly [Message<Req>, Message<Res>],
    request: StructInput<Req>,
  ): Promise<StructValue<Res>> {
    const answer = new Promise<Buffer>((resolve) => this.#waiting.push(resolve));
    this.#socket.write(requestFrame(key, version, messages[0], request));
    const reader = new WireReader((await answer).subarray(4));
    if (messages[1].hasFlexibleHeader(version)) reader.skipTaggedFields();
    return messages[1].read(reader, version);
  }

  close(): void {
    this.#socket.destroy();
  }
}
