// Addresses of sockets as clients and people are shown them.

/** IPv4 in IPv6 clothes (`::ffff:…`) is shown as IPv4: a client may not be able to use the other form. */
export function plainAddress(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:(?=\d+\.)/, '');
}
