// A WebSocket as the stream of bytes that MQTT runs on (section 6): a frame may hold any part of a packet, or several
// [MQTT-6.0.0-2]. What is written in one turn goes out as one frame.
import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/** Status codes of RFC 6455, section 7.4.1. */
const CLOSE = { NORMAL: 1000, UNSUPPORTED_DATA: 1003 } as const;

export interface WebSocketStreamOptions {
  /** Answers to pings that the client does not read, at most. */
  readonly unreadBytesMax: number;
}

export class WebSocketStream extends Duplex {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket, { unreadBytesMax }: WebSocketStreamOptions) {
    super();
    this.#webSocket = webSocket;
    webSocket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    webSocket.on('ping', () => {
      if (webSocket.bufferedAmount > unreadBytesMax) this.destroy();
    });
    webSocket.on('error', (error) => this.destroy(error));
    // What has come is read first.
    webSocket.on('close', () => this.push(null));
    this.on('end', () => this.destroy());
  }

  #receive(data: RawData, isBinary: boolean): void {
    // [MQTT-6.0.0-1]
    if (!isBinary) {
      this.#webSocket.close(CLOSE.UNSUPPORTED_DATA, 'MQTT is binary');
      return;
    }
    // A WebSocket whose binaryType is not set gives one Buffer.
    if (!this.push(data as Buffer)) this.#webSocket.pause();
  }

  override _read(): void {
    if (this.#webSocket.isPaused) this.#webSocket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, written: (error?: Error | null) => void): void {
    this.#webSocket.send(chunk, written);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    written: (error?: Error | null) => void,
  ): void {
    this.#webSocket.send(Buffer.concat(chunks.map(({ chunk }) => chunk)), written);
  }

  override _final(finished: (error?: Error | null) => void): void {
    this.#webSocket.close(CLOSE.NORMAL);
    finished();
  }

  override _destroy(error: Error | null, destroyed: (error?: Error | null) => void): void {
    this.#webSocket.terminate();
    destroyed(error);
  }
}
