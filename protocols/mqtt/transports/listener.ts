// One listener: connections as they come, by TCP or WebSocket, with a PROXY header in front where that is so configured,
// up to the stream of bytes that a connection of MQTT runs on.
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock, ListenerOptions, ListenerView, Log } from '../../port.ts';
import { countConnection, type MqttCounters } from '../counters.ts';
import type { MqttOptions } from '../options.ts';
import type { Unwelcome } from '../unwelcome.ts';
import type { AddressCounts } from './address-counts.ts';
import type { AddressList } from './address-list.ts';
import { addressList, plainAddress } from './address-list.ts';
import { Admission } from './admission.ts';
import { readProxyHeader } from './proxy-protocol.ts';
import type { WebSocketUpgrade } from './websocket-server.ts';
import { webSocketUpgrade } from './websocket-server.ts';
import { WebSocketStream } from './websocket-stream.ts';

/** Dead peers behind a client that never pings are found by the kernel. */
const TCP_KEEP_ALIVE_MS = 60_000;
/** What a WebSocket frame and a TLS-free handshake add to the bytes that they carry, at most. */
const FRAMING_BYTES_MAX = 64;

/** A stream that MQTT may begin on. */
export interface Incoming {
  readonly stream: Duplex;
  readonly isWebSocket: boolean;
  readonly listener: string;
  /** Where the client is, by the word of a trusted proxy. */
  readonly remoteAddress: string;
  /** Why its CONNECT is to be refused. */
  readonly unwelcome: Unwelcome | undefined;
}

/** What a listener needs of the connection that it has brought about. */
export interface Served {
  readonly isAwaitingConnect: boolean;
  readonly closed: Promise<void>;
}

export interface ListenerSurroundings {
  readonly log: Log;
  readonly clock: Clock;
  readonly counters: MqttCounters;
  readonly options: MqttOptions;
  /** Of all listeners. */
  readonly addresses: AddressCounts;
  /** Undefined when the connection is refused: nobody has looked at the stream then. */
  serve(incoming: Incoming): Served | undefined;
}

export class Listener {
  #options: ListenerOptions;
  readonly #surroundings: ListenerSurroundings;
  readonly #server: Server;
  #trusted: AddressList | undefined;
  #upgrade: WebSocketUpgrade | undefined;
  readonly #admission: Admission;
  /** All that have come and not gone, whatever they have said. */
  readonly #sockets = new Set<Socket>();
  #port = 0;
  /** By connections that are gone. */
  #bytesSent = 0;

  constructor(options: ListenerOptions, surroundings: ListenerSurroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
    this.#admission = new Admission(surroundings.clock);
    this.change(options);
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS });
    this.#server.on('connection', (socket) => this.#take(socket));
  }

  async open(): Promise<ListenerView> {
    this.#port = await bind(this.#server, this.#options);
    this.#server.on('error', (error) =>
      this.#surroundings.log.error('mqtt-listener-failed', { listener: this.#options.name, error }),
    );
    return this.view;
  }

  /** For connections that come from now on; address and transport stay. */
  change(options: ListenerOptions): void {
    const { name, host, port } = this.#options;
    this.#options = { ...options, name, host, port };
    const { proxyTrusted, connectRateMax = 0 } = options;
    this.#trusted = proxyTrusted?.length ? addressList(proxyTrusted) : undefined;
    this.#admission.change(connectRateMax);
    this.optionsChanged();
  }

  /** Limits of the front end that its connections begin with. */
  optionsChanged(): void {
    this.#upgrade = this.#options.protocol === 'mqtt-ws' ? this.#createUpgrade() : undefined;
  }

  get view(): ListenerView {
    const { name, host, protocol = 'mqtt' } = this.#options;
    return { name, protocol, host, port: this.#port, connections: this.#sockets.size };
  }

  /** Bytes that sockets have been given, all that is around MQTT included. */
  get bytesSent(): number {
    let bytes = this.#bytesSent;
    for (const socket of this.#sockets) bytes += socket.bytesWritten;
    return bytes;
  }

  /** Resolves when the last connection is gone. Those that have not begun with MQTT go at once. */
  stopAccepting(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#admission.close();
      for (const socket of this.#unserved) socket.destroy();
    });
  }

  /** Of those, the ones that no connection of MQTT has taken over. */
  readonly #unserved = new Set<Socket>();

  #take(socket: Socket): void {
    const { name, connectionsMax } = this.#options;
    this.#surroundings.counters.socketsOpened++;
    if (this.#sockets.size >= connectionsMax) {
      this.#refuse(socket, 'mqtt-too-many-connections', { listener: name });
      return;
    }
    this.#sockets.add(socket);
    this.#unserved.add(socket);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#bytesSent += socket.bytesWritten;
      this.#unserved.delete(socket);
    });
    const remoteAddress = plainAddress(socket.remoteAddress ?? 'unknown');
    if (this.#trusted === undefined) this.#begin(socket, remoteAddress);
    else if (this.#trusted.has(remoteAddress)) this.#readProxyHeader(socket, remoteAddress);
    else this.#refuse(socket, 'mqtt-proxy-not-trusted', { listener: name, remoteAddress });
  }

  #refuse(socket: Socket, event: string, why: object): void {
    countConnection(this.#surroundings.counters, 'refused', this.#upgrade !== undefined);
    this.#surroundings.log.warn(event, why);
    socket.on('error', () => socket.destroy());
    socket.destroy();
  }

  #readProxyHeader(socket: Socket, proxyAddress: string): void {
    const { clock, options } = this.#surroundings;
    let bytes = Buffer.alloc(0);
    const end = (reason: string) =>
      this.#refuse(socket, 'mqtt-proxy-header', { listener: this.#options.name, proxyAddress, reason });
    const timer = clock.setTimer(options.connectTimeoutMs, () => end('it did not come in time'));
    const failed = () => socket.destroy();
    const receive = (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece]);
      const header = readProxyHeader(bytes);
      if (header.kind === 'need-more') return;
      timer.cancel();
      socket.off('data', receive);
      if (header.kind === 'malformed') {
        end(header.reason);
        return;
      }
      socket.off('error', failed);
      socket.pause();
      if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length));
      this.#begin(socket, header.address ?? proxyAddress);
    };
    socket.on('data', receive);
    socket.on('error', failed);
    socket.on('close', () => timer.cancel());
  }

  #begin(socket: Socket, remoteAddress: string): void {
    const { addresses, counters } = this.#surroundings;
    const verdict = addresses.add(remoteAddress);
    if (verdict === 'closed') {
      counters.addressLimitRefused++;
      this.#refuse(socket, 'mqtt-too-many-of-address', { listener: this.#options.name, remoteAddress });
      return;
    }
    socket.on('close', () => addresses.remove(remoteAddress));
    if (verdict === 'told') {
      this.#open(socket, remoteAddress, 'address-limit');
      return;
    }
    // What waits is not read.
    socket.pause();
    const failed = () => socket.destroy();
    socket.on('error', failed);
    const open = (unwelcome?: Unwelcome) => {
      socket.off('error', failed);
      this.#open(socket, remoteAddress, unwelcome);
    };
    if (!this.#admission.enter(socket, open)) open('connect-rate');
  }

  #open(socket: Socket, remoteAddress: string, unwelcome: Unwelcome | undefined): void {
    if (this.#upgrade === undefined) {
      this.#serve(socket, socket, remoteAddress, unwelcome);
      return;
    }
    this.#upgrading.set(socket, { remoteAddress, unwelcome });
    this.#upgrade.take(socket);
    // What came before with a PROXY header, or its turn, has stopped the socket.
    socket.resume();
  }

  /** Of connections that are HTTP yet. */
  readonly #upgrading = new WeakMap<Duplex, Pick<Incoming, 'remoteAddress' | 'unwelcome'>>();

  #serve(
    stream: Duplex,
    socket: Socket,
    remoteAddress: string,
    unwelcome: Unwelcome | undefined,
  ): Served | undefined {
    const listener = this.#options.name;
    const served = this.#surroundings.serve({
      stream,
      isWebSocket: stream !== socket,
      listener,
      remoteAddress,
      unwelcome,
    });
    this.#unserved.delete(socket);
    if (served === undefined) stream.destroy();
    else if (socket.isPaused()) socket.resume();
    return served;
  }

  #createUpgrade(): WebSocketUpgrade {
    const { options, counters, log } = this.#surroundings;
    return webSocketUpgrade({
      origins: this.#options.origins ?? [],
      requestTimeoutMs: options.connectTimeoutMs,
      messageBytesMax: Math.max(options.packetBytesMax, options.connectBytesMax),
      onWebSocket: (webSocket, socket) => this.#serveWebSocket(webSocket, socket as Socket), // of our own server
      onRefused: (reason, socket) => {
        countConnection(counters, 'refused', true);
        const remoteAddress = this.#upgrading.get(socket)?.remoteAddress;
        log.warn('mqtt-websocket-refused', { listener: this.#options.name, remoteAddress, reason });
      },
    });
  }

  #serveWebSocket(webSocket: WebSocket, socket: Socket): void {
    const { unreadBytesMax, connectBytesMax } = this.#surroundings.options;
    const stream = new WebSocketStream(webSocket, { unreadBytesMax });
    const { remoteAddress = 'unknown', unwelcome } = this.#upgrading.get(socket) ?? {};
    const served = this.#serve(stream, socket, remoteAddress, unwelcome);
    if (served === undefined) return;
    // A message is put together before anybody sees how long its packet is: before CONNECT it may not be long.
    let messageStart = socket.bytesRead;
    const watch = () => {
      if (!served.isAwaitingConnect) socket.off('data', watch);
      else if (socket.bytesRead - messageStart > connectBytesMax + FRAMING_BYTES_MAX) stream.destroy();
    };
    webSocket.on('message', () => {
      messageStart = socket.bytesRead;
    });
    socket.on('data', watch);
  }
}

function bind(server: Server, { host, port }: ListenerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      // A TCP server that listens has an address object.
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
