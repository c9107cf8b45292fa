// Plays a scenario against a server. Which packets a step brings is learned from the first server, by waiting until
// it is quiet; another server has time until it has brought as many, and is quiet too.
import { setTimeout as delay } from 'node:timers/promises';
import type { IConnectPacket, Packet } from 'mqtt-packet';
import { PlayedClient, type Transcript } from './played-client.ts';
import type { Connect, Scenario, Step, Version } from './scenario.ts';

const QUIET_MS = 80;
const LATE_MS = 3_000;

export interface Played {
  /** Of each connection: the client's name and which of its connections it is. */
  readonly transcripts: ReadonlyMap<string, Transcript>;
  /** How many packets each connection had been given after each step. */
  readonly counts: readonly ReadonlyMap<string, number>[];
}

export async function play(
  scenario: Scenario,
  port: number,
  prefix: string,
  learned: Played | undefined,
): Promise<Played> {
  const connections = new Map<string, PlayedClient>();
  const current = new Map<string, PlayedClient>();
  const counts: ReadonlyMap<string, number>[] = [];
  try {
    for (const [index, step] of scenario.steps.entries()) {
      if (step.do === 'pass') await delay(step.seconds * 1_000);
      else if (step.do === 'connect' || step.do === 'open') {
        const client = await openConnection(step, scenario.version, port, prefix);
        const nth = [...connections.keys()].filter((name) => name.startsWith(`${step.client} `)).length + 1;
        connections.set(`${step.client} ${nth}`, client);
        current.set(step.client, client);
      } else act(step, current.get(step.client), prefix);
      await settle(connections, learned?.counts[index]);
      counts.push(new Map([...connections].map(([name, { eventCount }]) => [name, eventCount])));
    }
    return {
      transcripts: new Map([...connections].map(([name, client]) => [name, client.transcript()])),
      counts,
    };
  } finally {
    for (const client of connections.values()) client.destroy();
  }
}

async function openConnection(
  step: Extract<Step, { do: 'connect' | 'open' }>,
  version: Version,
  port: number,
  prefix: string,
): Promise<PlayedClient> {
  const packet = step.do === 'connect' ? connectPacket(step.client, step.packet, version) : undefined;
  const silent = step.do === 'connect' && step.packet.keepsSilent === true;
  const client = await PlayedClient.open(port, packet?.protocolVersion ?? version, silent, prefix);
  if (packet !== undefined) client.send(named(packet, prefix));
  return client;
}

function connectPacket(
  client: string,
  { keepsSilent, ...packet }: Connect,
  version: Version,
): IConnectPacket & { readonly protocolVersion: Version } {
  const protocolVersion = (packet.protocolVersion as Version | undefined) ?? version; // no scenario names another
  return {
    cmd: 'connect',
    protocolId: protocolVersion === 3 ? 'MQIsdp' : 'MQTT',
    clientId: `~${client}`,
    clean: true,
    keepalive: 0,
    ...packet,
    protocolVersion,
  };
}

function act(
  step: Exclude<Step, { do: 'connect' | 'open' | 'pass' }>,
  client: PlayedClient | undefined,
  prefix: string,
) {
  if (client === undefined) throw new Error(`${step.client} is not connected`);
  if (step.do === 'cut') client.destroy();
  else if (step.do === 'bytes') client.sendBytes(Buffer.from(step.hex.replace(/\s/g, ''), 'hex'));
  else {
    client.send(named(step.packet, prefix));
    // What is behind a publish that nothing answers says that it was taken.
    if (step.packet.cmd === 'publish' && step.packet.qos === 0) client.send({ cmd: 'pingreq' });
  }
}

/** Every text of the packet that begins with `~`, or has it behind `$share/…/`, under the scenario's own name. */
function named<Kind extends Packet>(packet: Kind, prefix: string): Kind {
  const rename = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/^(\$share\/[^/]*\/)?~/, `$1${prefix}`);
    if (Buffer.isBuffer(value) || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(rename);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rename(each)]));
  };
  return rename(packet) as Kind; // of the same shape
}

async function settle(
  connections: ReadonlyMap<string, PlayedClient>,
  expected: ReadonlyMap<string, number> | undefined,
): Promise<void> {
  const startMs = performance.now();
  const late = () => performance.now() - startMs > LATE_MS;
  const missing = () =>
    [...connections].some(
      ([name, { eventCount, unansweredCount }]) =>
        eventCount < (expected?.get(name) ?? 0) || (expected === undefined && unansweredCount > 0),
    );
  while (missing() && !late()) await delay(2);
  const quietFor = () =>
    performance.now() - Math.max(startMs, ...[...connections.values()].map(({ lastEventMs }) => lastEventMs));
  while (quietFor() < QUIET_MS) await delay(QUIET_MS / 4);
}
