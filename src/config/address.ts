// Addresses of the configuration, `host:port` and `[v6]:port`, and what kind of host they name.
import { isIP } from 'node:net';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Undefined when `text` is not `host:port`. The host is not looked up. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const host = match[1] ?? match[2]!;
  const port = Number(match[3]);
  return port <= 65_535 ? { host, port } : undefined;
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Only addresses that can be nothing else, and the one name that RFC 6761 §6.3 reserves for them. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/^::ffff:/, '');
  return plain === 'localhost' || plain === '::1' || /^127(?:\.\d{1,3}){3}$/.test(plain);
}

/** All interfaces: fine to bind, useless to tell a client. */
export function isWildcard(host: string): boolean {
  return host === '*' || /^0+(?:\.0+){0,3}$/.test(host) || /^[0:]+$/.test(host) || host === '::ffff:0.0.0.0';
}

/** An IP address, or a network of them: `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || more.length > 0) return false;
  return prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bits);
}
