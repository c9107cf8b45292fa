// By which names a listener may be asked. A page of a web site can make its own name point at this machine (DNS
// rebinding): to the browser the answers are then the site's own, and it may read them. What gives it away is the header
// Host, which has the site's name.
import { isIP } from 'node:net';
import { isLoopback, isWildcard } from '../config/address.ts';
import type { ListenerConfig } from '../config/broker-config.ts';

/** @param header Host of a request; a client that sends none is no browser. */
export function isOwnHost(
  header: string | undefined,
  { host, hosts }: Pick<ListenerConfig, 'host' | 'hosts'>,
): boolean {
  // Who listens where others reach him is asked by whatever name they have for him, unless it is said which.
  if (header === undefined || (hosts === undefined && !isLoopback(host))) return true;
  const name = nameOf(header);
  if (isLoopback(name) || name === host.toLowerCase()) return true;
  if (isWildcard(host) && isIP(name) !== 0) return true;
  return hosts?.some((own) => own.toLowerCase() === name) === true;
}

/** Without port and brackets; a dot at the end means nothing (RFC 1034 §3.1). */
function nameOf(header: string): string {
  const name = /^\[([^\]]*)\]/.exec(header)?.[1] ?? header.replace(/:\d*$/, '').replace(/\.$/, '');
  return name.toLowerCase();
}
