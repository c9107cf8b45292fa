// A list of addresses and networks, as "10.0.0.0/8" or "::1".
import { BlockList, isIP } from 'node:net';

export interface AddressList {
  has(address: string | undefined): boolean;
}

/** @throws RangeError when a text is no address and no network. */
export function addressList(texts: readonly string[]): AddressList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', prefix, ...more] = text.split('/');
    const family = familyOf(address);
    if (family === undefined || more.length > 0)
      throw new RangeError(`"${text}" is no address and no network`);
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, prefixOf(text, prefix, family), family);
  }
  return {
    has: (address) => {
      const plain = plainAddress(address ?? '');
      const family = familyOf(plain);
      return family !== undefined && list.check(plain, family);
    },
  };
}

/** IPv4 is the same whether or not it came through a socket of IPv6. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, '');
}

function prefixOf(text: string, prefix: string, family: 'ipv4' | 'ipv6'): number {
  const bits = /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (!(bits <= (family === 'ipv4' ? 32 : 128))) throw new RangeError(`"${text}" is no network`);
  return bits;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}
