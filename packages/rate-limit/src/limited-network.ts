import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** What a provider gives to one customer at least. Within it, a new address for every request costs nothing. */
const CUSTOMER_BITS = 64;

/** The IPv4 address inside an IPv6 one: on a dual-stack socket, or behind a translator. Undefined when there is none. */
function embeddedIpv4(address: ipaddr.IPv6): string | undefined {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  // All of IPv4 lies in one /64 behind such a translator.
  return address.range() === 'rfc6052' ? address.toByteArray().slice(-4).join('.') : undefined;
}

/**
 * The network that limits and locks by address count as one caller: an IPv4 address, or the `/64` that an IPv6 address is in.
 * Every limit by address uses it as its key.
 *
 * @param address of the client; a text that is no address stays as it is, and undefined is `''`
 * @param ipv6Bits length of the IPv6 prefix, where a limit is about organisations rather than customers
 */
export function limitedNetwork(address: string | undefined, ipv6Bits: number = CUSTOMER_BITS): string {
  if (address === undefined || !isIPv6(address)) return address ?? '';
  const parsed = ipaddr.IPv6.parse(address);
  const inner = embeddedIpv4(parsed);
  if (inner !== undefined) return inner;
  const mask = ipaddr.IPv6.subnetMaskFromPrefixLength(ipv6Bits).toByteArray();
  const network = parsed.toByteArray().map((byte, index) => byte & (mask[index] ?? 0));
  return `${ipaddr.fromByteArray(network).toString()}/${ipv6Bits}`;
}
