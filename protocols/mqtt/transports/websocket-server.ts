// From HTTP to WebSocket (RFC 6455): one path, one subprotocol, known origins, no compression. Everything else on the
// port is answered with a status, and soon: a request that does not end costs no more than a CONNECT that does not come.
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { WebSocketServer } from 'ws';

export const WEBSOCKET_PATH = '/mqtt';
const SUBPROTOCOL = 'mqtt';
const HEADER_BYTES_MAX = 8 * 1024;

export interface WebSocketUpgradeOptions {
  /** Of pages that may connect; `*` = any. A client that is no browser says none, and is let in. */
  readonly origins: readonly string[];
  /** From the connection to the end of its request. */
  readonly requestTimeoutMs: number;
  /** Of one message: it is put together before it is handed on. */
  readonly messageBytesMax: number;
  onWebSocket(webSocket: WebSocket, socket: Duplex): void;
  onRefused(reason: string, socket: Duplex): void;
}

export interface WebSocketUpgrade {
  /** A connection that has said nothing yet. */
  take(socket: Socket): void;
}

export function webSocketUpgrade(options: WebSocketUpgradeOptions): WebSocketUpgrade {
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: options.messageBytesMax,
    handleProtocols: () => SUBPROTOCOL,
  });
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.requestTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(options.requestTimeoutMs, 1000),
    keepAlive: false,
  });
  server.on('request', (request, response) => {
    const status = pathOf(request) === WEBSOCKET_PATH ? 426 : 404;
    response.writeHead(status, { Connection: 'close', Upgrade: 'websocket' }).end();
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refusal = refusalOf(request, options.origins);
    if (refusal === undefined) {
      webSockets.handleUpgrade(request, socket, head, (webSocket) => options.onWebSocket(webSocket, socket));
      return;
    }
    options.onRefused(refusal.reason, socket);
    socket.on('error', () => socket.destroy());
    socket.end(`HTTP/1.1 ${refusal.status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
      socket.destroy(),
    );
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  // Connections come from elsewhere, so nobody calls `listen`, which would set this going.
  return { take: (socket) => server.emit('connection', socket) };
}

interface UpgradeRefusal {
  readonly status: string;
  readonly reason: string;
}

function refusalOf(request: IncomingMessage, origins: readonly string[]): UpgradeRefusal | undefined {
  if (pathOf(request) !== WEBSOCKET_PATH) return { status: '404 Not Found', reason: 'another path' };
  const asked = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  // [MQTT-6.0.0-3]
  if (!asked.includes(SUBPROTOCOL)) return { status: '400 Bad Request', reason: 'without subprotocol mqtt' };
  const { origin } = request.headers;
  if (origin === undefined || origins.includes('*') || origins.includes(origin)) return undefined;
  return { status: '403 Forbidden', reason: `from origin ${origin.slice(0, 100)}` };
}

function pathOf({ url }: IncomingMessage): string {
  return (url ?? '').split('?', 1)[0]!;
}
