// Plays one sequence against a server. `strict`: byte for byte. `lenient`: CONNACK by its code, and where the
// connection must end, by any DISCONNECT, a CONNACK that refuses, or a plain close.
import { RawConnection, variableByteInteger } from '../../helpers/raw-connection.ts';
import type { Sequence, Step } from './sequences.ts';

export type Outcome =
  | { readonly kind: 'strict' | 'lenient' }
  | { readonly kind: 'other'; readonly wanted: string; readonly got: string };

const CONNACK = 0x20;
const DISCONNECT = 0xe0;
const PINGREQ = Buffer.from('c000', 'hex');
const PINGRESP = Buffer.from('d000', 'hex');

let clients = 0;

export async function play(sequence: Sequence, port: number): Promise<Outcome> {
  const connection = await RawConnection.open(port);
  try {
    if (sequence.connects) await openSession(connection, sequence.version);
    let lenient = false;
    for (const step of sequence.steps) {
      const outcome = await playStep(step, connection, port);
      if (outcome.kind === 'other') return outcome;
      lenient ||= outcome.kind === 'lenient';
    }
    const end = await (sequence.mustEnd ? mustEnd(connection) : mustLive(connection));
    return lenient && end.kind === 'strict' ? { kind: 'lenient' } : end;
  } finally {
    connection.destroy();
  }
}

async function playStep(step: Step, connection: RawConnection, port: number): Promise<Outcome> {
  if (step.kind === 'send') connection.send(step.bytes);
  else if (step.kind === 'publish') await publishOnce(port, step);
  else return receive(connection, step.bytes);
  return { kind: 'strict' };
}

async function receive(connection: RawConnection, bytes: Buffer): Promise<Outcome> {
  let lenient = false;
  for (let start = 0; start < bytes.length; ) {
    const end = start + 2 + bytes.readUInt8(start + 1);
    const wanted = bytes.subarray(start, end);
    const got = await connection.next();
    if (typeof got === 'string' || !got.equals(wanted)) {
      if (!isAsGood(wanted, got)) return { kind: 'other', wanted: wanted.toString('hex'), got: told(got) };
      lenient = true;
    }
    start = end;
  }
  return { kind: lenient ? 'lenient' : 'strict' };
}

function isAsGood(wanted: Buffer, got: Buffer | string): boolean {
  const refused = got === 'end' || (typeof got !== 'string' && refuses(got));
  if (wanted[0] === DISCONNECT) return refused;
  if (wanted[0] !== CONNACK) return false;
  if (wanted[3] !== 0) return refused;
  return typeof got !== 'string' && got[0] === CONNACK && got[2] === wanted[2] && got[3] === wanted[3];
}

/** Byte 3 of CONNACK is its code in every version. */
const refuses = (packet: Buffer): boolean =>
  packet[0] === DISCONNECT || (packet[0] === CONNACK && packet[3] !== 0);

async function mustEnd(connection: RawConnection): Promise<Outcome> {
  for (let lenient = false; ; lenient = true) {
    const got = await connection.next();
    if (got === 'end') return { kind: lenient ? 'lenient' : 'strict' };
    if (got === 'nothing' || !refuses(got)) return { kind: 'other', wanted: 'end', got: told(got) };
  }
}

async function mustLive(connection: RawConnection): Promise<Outcome> {
  connection.send(PINGREQ);
  const got = await connection.next();
  if (typeof got !== 'string' && got.equals(PINGRESP)) return { kind: 'strict' };
  return { kind: 'other', wanted: 'PINGRESP', got: told(got) };
}

const told = (got: Buffer | string): string => (typeof got === 'string' ? got : got.toString('hex'));

async function openSession(connection: RawConnection, version: 3 | 4 | 5): Promise<void> {
  clients += 1;
  connection.send(connectBytes(`sequence-${clients}`, version));
  const connack = await connection.next();
  if (typeof connack === 'string' || connack[0] !== CONNACK || connack[3] !== 0)
    throw new Error(`no session: ${told(connack)}`);
}

function connectBytes(clientId: string, version: 3 | 4 | 5): Buffer {
  const name = version === 3 ? 'MQIsdp' : 'MQTT';
  // Clean, 60 s of keep alive, and no properties where there may be any.
  const levels = Buffer.from([version, 2, 0, 60, ...(version === 5 ? [0] : [])]);
  const body = Buffer.concat([prefixed(name), levels, prefixed(clientId)]);
  return Buffer.concat([Buffer.from([0x10]), variableByteInteger(body.length), body]);
}

function prefixed(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

/** By a client of its own, which waits for what its QoS brings. */
async function publishOnce(port: number, step: Extract<Step, { kind: 'publish' }>): Promise<void> {
  const connection = await RawConnection.open(port);
  await openSession(connection, 4);
  const identifier = Buffer.from(step.qos === 0 ? [] : [0, 1]);
  const body = Buffer.concat([prefixed(step.topic), identifier, Buffer.from(step.payload)]);
  connection.send(
    Buffer.concat([Buffer.from([0x30 | (step.qos << 1)]), variableByteInteger(body.length), body]),
  );
  if (step.qos > 0) await connection.next();
  if (step.qos === 2) {
    connection.send(Buffer.from('62020001', 'hex'));
    await connection.next();
  }
  // At QoS 0 what is behind it on the connection says that it was taken.
  connection.send(PINGREQ);
  await connection.next();
  connection.destroy();
}
