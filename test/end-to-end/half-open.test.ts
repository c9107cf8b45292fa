// What connections cost that never come to anything: a thousand that say nothing, or half of a CONNECT, to a hub of its own.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { type HubProcess, startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { rawMqtt } from '../helpers/raw-mqtt.ts';

const CONNECTIONS = 1000;
const BYTES_MAX = 20 * 1024 * 1024;

const directory = temporaryDirectory();
let hub: HubProcess;
beforeAll(async () => {
  expect(inject('buildError')).toBe('');
  hub = await startHubProcess(directory.path, '[mqtt]\nconnect_timeout = "60s"\n', ['mqtt']);
});
afterAll(async () => {
  await hub.stop();
  directory.remove();
});

/** Of the hub's process. */
function residentBytes(): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** Everything sent before has been taken in by the hub. */
async function roundTrip(clientId: string): Promise<void> {
  const client = await rawMqtt(hub.mqttPort, 4);
  client.send({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clientId,
    clean: true,
    keepalive: 0,
  });
  await client.expect('connack');
}

it('a thousand half-open connections cost less than 20 MB, and others are served', async () => {
  await roundTrip('before');
  const before = residentBytes();
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let index = 0; index < CONNECTIONS; index++) {
    const socket = connect(hub.mqttPort, '127.0.0.1');
    sockets.push(socket);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    // The beginning of a CONNECT of 32 bytes.
    if (index % 2 === 1) socket.write(Buffer.from([0x10, 0x20, 0x00, 0x04, 0x4d]));
  }
  await roundTrip('behind all of them');
  expect(residentBytes() - before).toBeLessThan(BYTES_MAX);
});
