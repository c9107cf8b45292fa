// The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt): what a load balancer says in front of a
// connection about where it came from. Pure; bytes are judged as they come, and a header has a largest length.
import { isIP } from 'node:net';

export type ProxyHeader =
  | { readonly kind: 'need-more' }
  | { readonly kind: 'malformed'; readonly reason: string }
  /** @property address undefined = the balancer speaks for itself, or does not tell. */
  | { readonly kind: 'complete'; readonly length: number; readonly address: string | undefined };

/** Of version 1, by its text. */
const LINE_BYTES_MAX = 107;
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Version and command, family, length. */
const FIXED_BYTES = SIGNATURE.length + 4;
/** Addresses and whatever balancers add to them; the protocol would allow 65,535. */
const VARIABLE_BYTES_MAX = 4096;

const NEED_MORE: ProxyHeader = { kind: 'need-more' };

export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsLike(bytes, SIGNATURE)) return bytes.length < FIXED_BYTES ? NEED_MORE : readBinary(bytes);
  if (startsLike(bytes, LINE_START)) return readLine(bytes);
  return malformed('there is no PROXY header');
}

const LINE_START = Buffer.from('PROXY ');

/** As far as both go. */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

function malformed(reason: string): ProxyHeader {
  return { kind: 'malformed', reason };
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, LINE_BYTES_MAX).indexOf('\r\n');
  if (end < 0) {
    return bytes.length < LINE_BYTES_MAX ? NEED_MORE : malformed('the PROXY line does not end');
  }
  const words = bytes.toString('latin1', 0, end).split(' ');
  const length = end + 2;
  if (words[1] === 'UNKNOWN') return { kind: 'complete', length, address: undefined };
  const [, family, source = '', destination = '', ...ports] = words;
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : -1;
  const isLegal =
    isIP(source) === version && isIP(destination) === version && ports.length === 2 && ports.every(isPort);
  return isLegal ? { kind: 'complete', length, address: source } : malformed('the PROXY line is none');
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535;
}

const COMMAND = { LOCAL: 0x20, PROXY: 0x21 } as const;
const FAMILY = { UNSPECIFIED: 0x00, TCP4: 0x11, TCP6: 0x21, UNIX: 0x31 } as const;
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [FAMILY.UNSPECIFIED, 0],
  [FAMILY.TCP4, 12],
  [FAMILY.TCP6, 36],
  [FAMILY.UNIX, 216],
]);

function readBinary(bytes: Buffer): ProxyHeader {
  const command = bytes[SIGNATURE.length]!;
  const family = bytes[SIGNATURE.length + 1]!;
  const variable = bytes.readUInt16BE(SIGNATURE.length + 2);
  if (command !== COMMAND.LOCAL && command !== COMMAND.PROXY) return malformed('no command of version 2');
  if (variable > VARIABLE_BYTES_MAX) return malformed(`a header of ${variable} bytes`);
  const length = FIXED_BYTES + variable;
  if (bytes.length < length) return NEED_MORE;
  if (command === COMMAND.LOCAL) return { kind: 'complete', length, address: undefined };
  const addressBytes = ADDRESS_BYTES.get(family);
  if (addressBytes === undefined || variable < addressBytes) return malformed('no addresses of a stream');
  return { kind: 'complete', length, address: sourceOf(family, bytes.subarray(FIXED_BYTES)) };
}

function sourceOf(family: number, addresses: Buffer): string | undefined {
  if (family === FAMILY.TCP4) return addresses.subarray(0, 4).join('.');
  if (family !== FAMILY.TCP6) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => addresses.readUInt16BE(index * 2).toString(16));
  return groups.join(':');
}
