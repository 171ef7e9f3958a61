import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address as all parts of the program compare it: IPv4 inside IPv6 unwrapped, IPv6 in its shortest form. */
export interface ParsedAddress {
  readonly text: string;
  readonly address: Address;
}

/** Plain dotted IPv4 without leading zeros: by far the most frequent form, and canonical as it stands. */
const PLAIN_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;

/** What proxies put around an address: `[2001:db8::1]:443`, `192.0.2.1:443`, a zone (`fe80::1%eth0`). */
function bareAddress(text: string): string {
  const trimmed = text.trim();
  if (trimmed.startsWith('[')) return trimmed.slice(1, trimmed.indexOf(']'));
  const colon = trimmed.indexOf(':');
  const isWithPort = colon > 0 && trimmed.indexOf(':', colon + 1) < 0;
  return isWithPort ? trimmed.slice(0, colon) : trimmed;
}

/** Reads an address from a socket or a header; undefined when it is none. */
export function parseAddress(text: string): ParsedAddress | undefined {
  const bare = bareAddress(text);
  if (PLAIN_IPV4.test(bare)) return { text: bare, address: ipaddr.IPv4.parse(bare) };
  if (!bare.includes(':') || !ipaddr.IPv6.isValid(bare)) return undefined;
  const address = ipaddr.IPv6.parse(bare);
  if (address.isIPv4MappedAddress()) {
    const inner = address.toIPv4Address();
    return { text: inner.toString(), address: inner };
  }
  address.zoneId = undefined;
  return { text: address.toString(), address };
}

function parseRange(entry: string): [Address, number] {
  if (entry.includes('/')) return ipaddr.parseCIDR(entry);
  const address = ipaddr.parse(entry);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Whether an address lies in one of the ranges.
 *
 * @param ranges addresses or CIDR ranges
 * @throws Error for an entry that is neither
 */
export function createRangeTest(ranges: readonly string[]): (address: Address) => boolean {
  const parsed = ranges.map(parseRange);
  return (address) =>
    parsed.some(([network, bits]) => network.kind() === address.kind() && address.match(network as never, bits));
}
