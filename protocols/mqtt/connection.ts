// One client's socket: bytes in, packets to handlers, packets out, and how it ends. Whatever a client sends ends at most
// its own connection.
import type { Duplex } from 'node:stream';
import type { Timer, TopicError } from '../port.ts';
import type { Accepted, Client, ConnectedClient, Context, Handled, PacketHandler } from './client.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { countConnection } from './counters.ts';
import { MqttError, malformed, protocolError } from './errors.ts';
import { FRAME, findFrame, flagsAreLegal, PACKET_TYPE } from './framing.ts';
import { handleConnect } from './handlers/connect.ts';
import { HANDLERS } from './handlers/handlers.ts';
import { InputBuffer } from './input-buffer.ts';
import { KeepAlive } from './keep-alive.ts';
import { Output } from './output.ts';
import { encodeDisconnect } from './packets/cold-packets.ts';
import type { WillPacket } from './packets/connect.ts';
import type { PublishFlow } from './publish-flow.ts';
import { type PublishPace, publishPace } from './publish-pace.ts';
import { REASON } from './reason-codes.ts';
import type { OwnRoutes, Route } from './routes.ts';
import type { Session } from './session.ts';
import type { Unwelcome } from './unwelcome.ts';

const HANDLER_BY_TYPE: readonly (PacketHandler | undefined)[] = Array.from({ length: 16 }, (_, type) =>
  HANDLERS.find((handler) => handler.type === type),
);

/** `ending`: the last packet is on its way out and what comes in is thrown away. */
type State = 'awaiting-connect' | 'connected' | 'draining' | 'ending' | 'closed';

export class Connection implements Client {
  readonly context: Context;
  readonly listener: string;
  readonly remoteAddress: string;
  readonly unwelcome: Unwelcome | undefined;
  readonly output: Output;
  readonly attributes = new Map<Route, (Uint8Array | undefined)[]>();
  readonly ownRoutes: OwnRoutes = new Map();
  readonly aliases = new Map<number, Route>();
  /** Resolves when the socket is gone and the session's end has been seen to. */
  readonly closed: Promise<void>;
  receivedAtMs = 0;
  topicError: TopicError | undefined;

  readonly #socket: Duplex;
  readonly #isWebSocket: boolean;
  #resolveClosed: () => void = () => undefined;
  readonly #input = new InputBuffer();
  readonly #bounds = { bodyStart: 0, bodyEnd: 0 };
  #state: State = 'awaiting-connect';
  #accepted: Accepted | undefined;
  #will: WillPacket | undefined;
  /** A packet waits for something before it can be dealt with. */
  #waiting = false;
  /** A PUBLISH waits until the log has stored enough of those before it. */
  #awaitingRoom = false;
  /** The client does not read what it is answered: nothing more is taken from it until it does. */
  #awaitingDrain = false;
  #reading = false;
  readonly #pace: PublishPace | undefined;
  /** Undefined until CONNECT has been accepted, and for a client that may be silent for ever. */
  #keepAlive: KeepAlive | undefined;
  /** Until CONNECT, and at the end. */
  #timer: Timer | undefined;

  constructor(options: ConnectionOptions) {
    const { stream: socket, context } = options;
    this.context = context;
    this.listener = options.listener;
    this.remoteAddress = options.remoteAddress;
    this.unwelcome = options.unwelcome;
    this.#pace = publishPace(context, this.#proceed);
    this.output = new Output(socket, options.buffers, options.flushQueue);
    this.#socket = socket;
    this.#isWebSocket = options.isWebSocket;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#setTimer(context.options.connectTimeoutMs, () => {
      context.counters.connectTimeouts++;
      this.#abandon('no CONNECT in time');
    });
    socket.on('data', (piece) => this.#receive(piece));
    // Whoever has said what it wanted may be gone while packets of it wait: they are dealt with all the same.
    socket.allowHalfOpen = true;
    socket.on('end', () => this.#read());
    socket.on('drain', () => {
      this.session?.drained();
      this.#read();
    });
    socket.on('error', (error) => context.hub.log.debug('mqtt-socket-error', { ...this.#who(), error }));
    socket.on('close', () => this.#closed());
  }

  get session(): Session | undefined {
    return this.#accepted?.session;
  }

  get publishes(): PublishFlow | undefined {
    return this.#accepted?.publishes;
  }

  get sessionExpiryAsked(): boolean {
    return this.#accepted?.sessionExpiryAsked ?? false;
  }

  // ------------------------------------------------------------------------------------ what handlers ask for

  accept(accepted: Accepted): void {
    this.#state = 'connected';
    this.#accepted = accepted;
    this.#will = accepted.will;
    this.context.clients.set(accepted.session.clientId, this);
    countConnection(this.context.counters, 'accepted', this.#isWebSocket);
    this.#timer?.cancel();
    if (accepted.keepAliveMs > 0) this.#keepAlive = this.#watch(accepted.keepAliveMs);
    this.context.hub.log.debug('mqtt-connected', this.#who());
  }

  #watch(keepAliveMs: number): KeepAlive {
    return new KeepAlive({
      clock: this.context.hub.clock,
      keepAliveMs,
      isReading: () => this.#isReading(),
      onSilent: () =>
        this.#fail(new MqttError('keep-alive', REASON.KEEP_ALIVE_TIMEOUT, 'Nothing came in time')),
    });
  }

  refuse(connack: Buffer | undefined, reason: string): void {
    countConnection(this.context.counters, 'refused', this.#isWebSocket);
    this.context.hub.log.warn('mqtt-connect-refused', { ...this.#who(), reason });
    this.#end(connack);
  }

  leave(withWill: boolean): void {
    if (!withWill) this.#will = undefined;
    this.#end(undefined);
  }

  get isAwaitingConnect(): boolean {
    return this.#state === 'awaiting-connect';
  }

  fail(error: unknown): void {
    this.#fail(error);
  }

  takeOver(): void {
    this.#fail(
      new MqttError('taken-over', REASON.SESSION_TAKEN_OVER, 'Another client has the same identifier'),
    );
  }

  // ----------------------------------------------------------------------------------------- from the outside

  /** Reads no more; says goodbye when everything that was published is answered. */
  drain(): void {
    if (this.#state !== 'connected') {
      this.#abandon('the server is shutting down');
      return;
    }
    this.#state = 'draining';
    this.#socket.pause();
    this.#sayGoodbyeWhenAnswered();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  // ------------------------------------------------------------------------------------------------- reading

  #receive(piece: Buffer): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    this.#keepAlive?.heard();
    this.receivedAtMs = this.context.hub.clock.now();
    this.context.counters.bytesReceived += piece.length;
    this.#input.push(piece);
    this.#read();
  }

  /** Deals with the packets that have arrived, as far as nothing has to wait; stops the socket meanwhile. */
  #read(): void {
    if (this.#reading) return;
    this.#reading = true;
    this.#awaitingRoom = false;
    // Once for all packets of a piece: their answers are not much larger than they are.
    this.#awaitingDrain = this.output.pendingBytes > this.context.options.unreadBytesMax;
    try {
      while (this.#isReading() && this.#next());
    } catch (error) {
      this.#fail(error);
    }
    this.session?.pieceEnded(this.context.hub.clock);
    this.#reading = false;
    this.#input.release();
    if (this.#socket.readableEnded && this.#isReading()) this.#end(undefined);
    else if (this.#isReading() || this.#state === 'ending') this.#resume();
    else if (this.#state === 'connected') this.#pause();
  }

  #resume(): void {
    if (!this.#socket.isPaused()) return;
    // What the client has sent meanwhile comes now, so it has not been silent.
    this.#keepAlive?.heard();
    this.#socket.resume();
  }

  /** Whether packets are dealt with as they come. Asked for each: a private getter would cost 10 ns more. */
  #isReading(): boolean {
    const isOpen = this.#state === 'awaiting-connect' || this.#state === 'connected';
    return isOpen && !this.#waiting && !this.#awaitingRoom && !this.#awaitingDrain;
  }

  #pause(): void {
    this.#socket.pause();
    const { unstored } = this.context;
    if (this.#awaitingRoom && unstored.isFull) unstored.whenRoom(this.#proceed);
  }

  #proceed = (): void => this.#read();

  /** One packet. False when there is none yet, or it has to wait. */
  #next(): boolean {
    const input = this.#input;
    const { bytes, start } = input;
    if (input.length === 0) return false;
    const firstByte = bytes[start]!;
    const isConnected = this.#state === 'connected';
    // [MQTT-3.1.0-1]; nothing is said to what does not speak MQTT.
    if (!isConnected && firstByte >> 4 !== PACKET_TYPE.CONNECT) {
      this.#abandon('the first packet is not CONNECT');
      return false;
    }
    const { packetBytesMax, connectBytesMax } = this.context.options;
    const bytesMax = isConnected ? packetBytesMax : connectBytesMax;
    switch (findFrame(bytes, start, input.end, bytesMax, this.#bounds)) {
      case FRAME.NEED_MORE:
        return false;
      case FRAME.MALFORMED:
        throw malformed('Remaining Length is not a variable byte integer [MQTT-1.5.5-1]');
      case FRAME.TOO_LARGE:
        this.context.counters.packetsTooLarge++;
        throw new MqttError('too-large', REASON.PACKET_TOO_LARGE, `A packet of more than ${bytesMax} bytes`);
    }
    // Others go on: a client that only listens is not to blame, and its acknowledgements are what it is sent by.
    if (firstByte >> 4 === PACKET_TYPE.PUBLISH) {
      this.#awaitingRoom = this.publishes?.isFull === true || this.#pace?.isTooFast === true;
    }
    if (this.#awaitingRoom) return false;
    this.context.counters.received[firstByte >> 4]!++;
    const { bodyStart, bodyEnd } = this.#bounds;
    if (!isConnected) {
      const accepting = handleConnect(this, this.#publishCallbacks, firstByte, bytes, bodyStart, bodyEnd);
      input.start = bodyEnd;
      if (accepting !== undefined) this.#wait(accepting);
      return accepting === undefined;
    }
    const handled = this.#handle(firstByte, bytes, bodyStart, bodyEnd);
    if (handled !== undefined) {
      this.#wait(handled);
      return false;
    }
    input.start = bodyEnd;
    this.#pace?.next();
    return true;
  }

  #handle(firstByte: number, bytes: Buffer, start: number, end: number): Handled {
    if (!flagsAreLegal(firstByte, this.session?.version ?? 5))
      throw malformed('Reserved flags [MQTT-2.1.3-1]');
    const type = firstByte >> 4;
    const handler = HANDLER_BY_TYPE[type];
    // A second CONNECT [MQTT-3.1.0-2], or a packet that only servers send.
    if (handler === undefined) throw protocolError(`A connected client does not send packet type ${type}`);
    // The state says so: there is a session from CONNECT's acceptance on.
    return handler.handle(this as ConnectedClient, firstByte, bytes, start, end);
  }

  /** A packet is given again when what it waits for is there; CONNECT is not: it has been dealt with then. */
  #wait(handled: Promise<unknown>): void {
    this.#waiting = true;
    const proceed = () => {
      this.#waiting = false;
      this.#read();
    };
    handled.then(proceed, (error: unknown) => {
      this.#fail(error);
      proceed();
    });
  }

  readonly #publishCallbacks = {
    onProgress: () => {
      if (this.#state === 'draining') this.#sayGoodbyeWhenAnswered();
      else if (this.#state === 'connected') this.#read();
    },
    onUnanswerable: (reasonCode: number, message: string) =>
      this.#fail(new MqttError('refused', reasonCode, message)),
    onRefused: (reasonCode: number, message: string) =>
      this.context.hub.log.warn('mqtt-publish-refused', { ...this.#who(), reasonCode, message }),
  };

  // ------------------------------------------------------------------------------------------------- the end

  #setTimer(delayMs: number, callback: () => void): void {
    this.#timer = this.context.hub.clock.setTimer(delayMs, callback);
  }

  /** Something was wrong: a v5 client is told [MQTT-4.13.1-1], one that is not connected yet hears nothing. */
  #fail(error: unknown): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    const known = error instanceof MqttError;
    const reasonCode = known ? error.reasonCode : REASON.UNSPECIFIED_ERROR;
    const message = known ? error.message : 'An error of the server';
    if (known) this.context.hub.log.warn('mqtt-disconnecting', { ...this.#who(), code: error.code, message });
    else this.context.hub.log.error('mqtt-connection-failed', { ...this.#who(), error });
    this.#end(this.#disconnectPacket(reasonCode, message));
  }

  /** The reason in words only where the client takes a packet of that size [MQTT-3.14.2-3]. */
  #disconnectPacket(reasonCode: number, reason: string): Buffer | undefined {
    const session = this.session;
    if (session?.version !== 5) return undefined;
    const packet = encodeDisconnect(reasonCode, reason);
    return packet.length <= session.packetBytesMax ? packet : encodeDisconnect(reasonCode);
  }

  /** Not worth a word to the other side. */
  #abandon(reason: string): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    countConnection(this.context.counters, 'refused', this.#isWebSocket);
    this.context.hub.log.debug('mqtt-abandoned', { ...this.#who(), reason });
    this.#end(undefined);
  }

  #sayGoodbyeWhenAnswered(): void {
    if (this.publishes?.isEmpty === false) return;
    this.#end(this.#disconnectPacket(REASON.SERVER_SHUTTING_DOWN, 'The server is shutting down'));
  }

  /** Closes our side behind the last packet, and gives the other side time to read it and close its own. */
  #end(lastPacket: Buffer | undefined): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    this.#state = 'ending';
    this.#endSession();
    if (lastPacket !== undefined) {
      this.context.counters.sent[lastPacket[0]! >> 4]!++;
      this.output.write(lastPacket);
    }
    this.output.flush();
    this.output.close();
    this.#keepAlive?.close();
    this.#timer?.cancel();
    this.#setTimer(this.context.options.closeTimeoutMs, () => this.#socket.destroy());
    this.#socket.end();
    this.#socket.resume();
  }

  /** Takes the session out of everything that knows it; what it published goes on into the log. */
  #endSession(): void {
    const session = this.session;
    if (session === undefined) return;
    const { clients, dispatchers, retained, sessions, wills } = this.context;
    // Another connection may have taken the identifier already.
    if (clients.get(session.clientId) === this) clients.delete(session.clientId);
    const published = wills.connectionEnded(session, this.#will);
    sessions.detach(session, this.publishes, published);
    session.close();
    if (session.durable !== undefined && session.retained !== undefined) {
      retained.left.keep(session.clientId, session.retained.leave());
    }
    dispatchers.forget(session);
    this.publishes?.close();
  }

  #closed(): void {
    if (this.#state !== 'ending') this.#endSession();
    this.#state = 'closed';
    this.#keepAlive?.close();
    this.#timer?.cancel();
    this.output.close();
    this.context.unstored.forget(this.#proceed);
    this.#pace?.close();
    this.#resolveClosed();
  }

  #who(): object {
    const { listener, remoteAddress } = this;
    return { listener, remoteAddress, clientId: this.session?.clientId };
  }
}
