// The front end on a port of its own over a hub in memory, and clients of raw bytes that have said CONNECT.
import type { IConnackPacket, IConnectPacket } from 'mqtt-packet';
import { onTestFinished } from 'vitest';
import type { MqttFrontEnd } from '../../../protocols/mqtt/front-end.ts';
import { createMqttFrontEnd } from '../../../protocols/mqtt/front-end.ts';
import type { Hooks } from '../../../protocols/mqtt/hooks.ts';
import type { MqttOptions } from '../../../protocols/mqtt/options.ts';
import type { ListenerOptions } from '../../../protocols/port.ts';
import { FakeHub } from '../../helpers/fake-mqtt-hub.ts';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import { rawMqtt } from '../../helpers/raw-mqtt.ts';

export interface Serving {
  readonly hub: FakeHub;
  readonly frontEnd: MqttFrontEnd;
  readonly port: number;
  /** A connection with nothing sent; at another listener's port when it is given. */
  raw(version: 3 | 4 | 5, port?: number): Promise<RawMqtt>;
  /** A client that is connected; its CONNACK is `connack`. */
  client(version: 3 | 4 | 5, options?: Partial<IConnectPacket>, port?: number): Promise<Connected>;
  /** Whether somebody new is still served. */
  expectAlive(): Promise<void>;
}

export type Connected = RawMqtt & { readonly connack: IConnackPacket };

/** Waits for what no packet tells, turn by turn of the event loop. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => setImmediate(resolve));
}

let clientCount = 0;

export async function serve(
  options: Partial<MqttOptions> = {},
  connectionsMax = 1000,
  listener: Partial<ListenerOptions> = {},
  hooks: Hooks = {},
): Promise<Serving> {
  const hub = new FakeHub();
  const frontEnd = createMqttFrontEnd(hub, { closeTimeoutMs: 1000, ...options }, hooks);
  const { port } = await frontEnd.listen({
    name: 'mqtt',
    host: '127.0.0.1',
    port: 0,
    connectionsMax,
    ...listener,
  });
  onTestFinished(() => frontEnd.close());
  const raw = (version: 3 | 4 | 5, at = port) => rawMqtt(at, version);
  const client = async (
    version: 3 | 4 | 5,
    connect: Partial<IConnectPacket> = {},
    at = port,
  ): Promise<Connected> => {
    const connection = await raw(version, at);
    connection.send(connectPacket(version, connect));
    const connack = await connection.expect('connack');
    return Object.assign(connection, { connack });
  };
  const expectAlive = async () => {
    const newcomer = await client(4);
    newcomer.send({ cmd: 'pingreq' });
    await newcomer.expect('pingresp');
    newcomer.send({ cmd: 'disconnect' });
    await newcomer.end();
  };
  return { hub, frontEnd, port, raw, client, expectAlive };
}

export function connectPacket(version: 3 | 4 | 5, connect: Partial<IConnectPacket> = {}): IConnectPacket {
  return {
    cmd: 'connect',
    protocolId: version === 3 ? 'MQIsdp' : 'MQTT',
    protocolVersion: version,
    clientId: `client-${++clientCount}`,
    clean: true,
    keepalive: 0,
    ...connect,
  };
}
