import ipaddr from 'ipaddr.js';

/** An address in canonical form: IPv4-mapped IPv6 unwrapped to IPv4, other IPv6 in its shortest form. */
export interface ParsedAddress {
  readonly text: string;
  /** IPv4 as its 32-bit number. */
  readonly address: number | ipaddr.IPv6;
}

const DOT = 46;
const ZERO = 48;

/**
 * The 32-bit number of a dotted IPv4 address without leading zeros, which is already in canonical form; undefined for any other
 * text. Hand-written for speed: every redirect parses one or two.
 */
export function ipv4Number(text: string): number | undefined {
  if (text.length < 7 || text.length > 15) return undefined;
  let number = 0;
  let part = -1;
  let partCount = 0;
  for (let position = 0; position <= text.length; position++) {
    const code = position === text.length ? DOT : text.charCodeAt(position);
    if (code === DOT) {
      if (part < 0 || partCount === 4) return undefined;
      number = number * 256 + part;
      partCount += 1;
      part = -1;
      continue;
    }
    const digit = code - ZERO;
    if (digit < 0 || digit > 9 || part === 0) return undefined;
    part = part < 0 ? digit : part * 10 + digit;
    if (part > 255) return undefined;
  }
  return partCount === 4 ? number : undefined;
}

/** Removes the brackets and port that proxies add: `[2001:db8::1]:443`, `192.0.2.1:443`. */
function bareAddress(text: string): string {
  const trimmed = text.trim();
  if (trimmed.startsWith('[')) return trimmed.slice(1, trimmed.indexOf(']'));
  const colon = trimmed.indexOf(':');
  const isWithPort = colon > 0 && trimmed.indexOf(':', colon + 1) < 0;
  return isWithPort ? trimmed.slice(0, colon) : trimmed;
}

/** Parses an address from a socket or a header; undefined when it is invalid. */
export function parseAddress(text: string): ParsedAddress | undefined {
  const bare = bareAddress(text);
  const plain = ipv4Number(bare);
  if (plain !== undefined) return { text: bare, address: plain };
  if (!bare.includes(':') || !ipaddr.IPv6.isValid(bare)) return undefined;
  const address = ipaddr.IPv6.parse(bare);
  if (address.isIPv4MappedAddress()) {
    const inner = address.toIPv4Address().toString();
    return { text: inner, address: ipv4Number(inner) ?? 0 };
  }
  // `fe80::1%eth0`: the zone is meaningful on one machine only.
  address.zoneId = undefined;
  return { text: address.toString(), address };
}

/** A set of addresses and ranges. */
export interface AddressRanges {
  has(address: number | ipaddr.IPv6): boolean;
}

function parseRange(entry: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (entry.includes('/')) return ipaddr.parseCIDR(entry);
  const address = ipaddr.parse(entry);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Creates the set.
 *
 * @param ranges addresses or CIDR ranges
 * @throws Error for an entry that is neither
 */
export function createAddressRanges(ranges: readonly string[]): AddressRanges {
  const ipv4: { readonly first: number; readonly size: number }[] = [];
  const ipv6: [ipaddr.IPv6, number][] = [];
  for (const entry of ranges) {
    const [network, bits] = parseRange(entry);
    if (network.kind() === 'ipv6') {
      ipv6.push([network as ipaddr.IPv6, bits]);
      continue;
    }
    const size = 2 ** (32 - bits);
    const number = ipv4Number(network.toString()) ?? 0;
    ipv4.push({ first: number - (number % size), size });
  }
  return {
    has(address) {
      if (typeof address !== 'number') return ipv6.some((range) => address.match(range));
      for (const { first, size } of ipv4) if (address >= first && address < first + size) return true;
      return false;
    },
  };
}
