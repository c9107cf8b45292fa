// What a connection is made of: a stream, who is at its other end, and what all connections share.
import type { Duplex } from 'node:stream';
import type { Context } from './client.ts';
import type { FlushQueue, OutputBuffers } from './output.ts';
import type { Unwelcome } from './unwelcome.ts';

export interface ConnectionOptions {
  /** A socket, or what behaves like one. */
  readonly stream: Duplex;
  /** Counted apart. */
  readonly isWebSocket: boolean;
  readonly listener: string;
  readonly remoteAddress: string;
  readonly unwelcome: Unwelcome | undefined;
  readonly context: Context;
  readonly buffers: OutputBuffers;
  readonly flushQueue: FlushQueue;
}
