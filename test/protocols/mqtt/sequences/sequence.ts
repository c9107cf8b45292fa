// Sequences of packets as bytes: what each connection sends and exactly what it must be given, over a real socket.
//
//   a> 30 "t" ~ 'x'    connection a sends the byte 30, a remaining length, then what follows
//   a< 40 0001         a is given this packet, and no other before it
//   a< e0 81 *         a is given a packet that begins so, behind its remaining length
//   a> raw 30 ff       a sends these bytes and no length
//   a!                 the server ends a's connection, and says nothing before it
//   a x                a's connection is torn
//   a=                 a connection without CONNECT; others begin with one that is clean, and its CONNACK
//
// `"t"` is a string behind its length, `'x'` bytes as they are, `~` the length 0 of properties in version 5 and nothing
// below, `{5: 00}` and `{4: 00}` bytes of version 5, or of those below it, alone. At the end each connection that was
// not ended must answer PINGREQ with PINGRESP, so nothing may have come that no line has.
import { RawConnection, variableByteInteger } from '../../../helpers/raw-connection.ts';

const NOTHING_MS = 10_000;

export type Version = 3 | 4 | 5;

export interface Sequence {
  /** What it shows, and its clause. */
  readonly name: string;
  readonly versions: readonly Version[];
  readonly lines: readonly string[];
}

export const ALL: readonly Version[] = [3, 4, 5];
export const BEFORE_5: readonly Version[] = [3, 4];
export const ONLY_5: readonly Version[] = [5];
export const SINCE_4: readonly Version[] = [4, 5];

export const sequence = (name: string, versions: readonly Version[], ...lines: string[]): Sequence => ({
  name,
  versions,
  lines,
});

/** Undefined when all came as written, else what did not. */
export async function play(
  { name, lines }: Sequence,
  version: Version,
  port: number,
): Promise<string | undefined> {
  const connections = new Map<string, Wire>();
  const open = async (letter: string): Promise<Wire> => {
    const wire = await Wire.open(port);
    connections.set(letter, wire);
    return wire;
  };
  const take = async (line: string): Promise<string | undefined> => {
    const [, letter = '', sign = '', rest = ''] = /^(\w)([>=<!]| x)\s*(.*)$/.exec(line) ?? [];
    if (sign === '=') await open(letter);
    else if (sign === '>' || sign === '<' || sign === '!' || sign === ' x') {
      const wire = connections.get(letter) ?? (await greeted(await open(letter), letter, version));
      if (sign === '>') wire.send(bytesOf(rest, version));
      else if (sign === ' x') wire.destroy();
      else return await wire.expect(sign === '!' ? undefined : rest, version);
    } else throw new Error(`not understood: ${line}`);
    return undefined;
  };
  try {
    for (const line of lines) {
      const problem = await take(line).catch(String);
      if (problem !== undefined) return `${version} ${name}: ${line}: ${problem}`;
    }
    for (const [letter, wire] of connections) {
      if (wire.isOver) continue;
      wire.send(bytesOf('c0', version));
      const problem = await wire.expect('d0', version).catch(String);
      if (problem !== undefined) return `${version} ${name}: ${letter} at the end: ${problem}`;
    }
    return undefined;
  } finally {
    for (const wire of connections.values()) wire.destroy();
  }
}

async function greeted(wire: Wire, letter: string, version: Version): Promise<Wire> {
  const name = version === 3 ? '"MQIsdp"' : '"MQTT"';
  wire.send(bytesOf(`10 ${name} 0${version} 02 0000 ~ "${letter}"`, version));
  const problem = await wire.expect('20 00 00 *', version);
  if (problem !== undefined) throw new Error(`no CONNACK: ${problem}`);
  return wire;
}

/** Of a packet without its remaining length, or of `raw` bytes. */
function bytesOf(text: string, version: Version): Buffer {
  if (text.startsWith('raw ')) return contentOf(text.slice(4), version);
  const bytes = contentOf(text, version);
  return Buffer.concat([bytes.subarray(0, 1), variableByteInteger(bytes.length - 1), bytes.subarray(1)]);
}

function contentOf(text: string, version: Version): Buffer {
  const chosen = text.replaceAll(/\{(\d): ([^}]*)\}/g, (_all, only: string, bytes: string) =>
    (only === '5') === (version === 5) ? bytes : '',
  );
  const parts = [...chosen.matchAll(/"([^"]*)"|'([^']*)'|(~)|([0-9a-f]+)/g)].map(
    ([, prefixed, plain, none, hex]) => {
      if (prefixed !== undefined) return stringOf(prefixed);
      if (plain !== undefined) return Buffer.from(plain);
      if (none !== undefined) return Buffer.from(version === 5 ? [0] : []);
      return Buffer.from(hex ?? '', 'hex');
    },
  );
  return Buffer.concat(parts);
}

function stringOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

/** One connection; `expect` says what is wrong with what comes next. */
class Wire {
  isOver = false;
  readonly #connection: RawConnection;

  private constructor(connection: RawConnection) {
    this.#connection = connection;
  }

  static async open(port: number): Promise<Wire> {
    return new Wire(await RawConnection.open(port));
  }

  send(bytes: Buffer): void {
    this.#connection.send(bytes);
  }

  destroy(): void {
    this.isOver = true;
    this.#connection.destroy();
  }

  /** @param text undefined for the end of the connection */
  async expect(text: string | undefined, version: Version): Promise<string | undefined> {
    const packet = await this.#next();
    if (packet === undefined) this.isOver = true;
    if (text === undefined) return packet === undefined ? undefined : `came ${packet.toString('hex')}`;
    if (packet === undefined) return 'the connection ended';
    const wanted = contentOf(text, version);
    const content = contentOfPacket(packet);
    const isRight = text.endsWith('*')
      ? content.subarray(0, wanted.length).equals(wanted)
      : content.equals(wanted);
    return isRight ? undefined : `came ${packet.toString('hex')}`;
  }

  /** Undefined when the connection ended. Only what does not come is waited for to the end. */
  async #next(): Promise<Buffer | undefined> {
    const packet = await this.#connection.next(NOTHING_MS);
    if (packet === 'nothing') throw new Error('nothing came');
    return packet === 'end' ? undefined : packet;
  }
}

/** The first byte and what stands behind the remaining length. */
function contentOfPacket(packet: Buffer): Buffer {
  let start = 1;
  while ((packet[start] ?? 0) >= 128) start++;
  return Buffer.concat([packet.subarray(0, 1), packet.subarray(start + 1)]);
}
