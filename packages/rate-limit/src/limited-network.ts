import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Length of the longest IPv6 prefix that providers assign to a customer, who can use another address of it for every request. */
const CUSTOMER_BITS = 64;

/** The IPv4 address embedded in an IPv6 one, from a dual-stack socket or a NAT64 gateway; undefined when there is none. */
function embeddedIpv4(address: ipaddr.IPv6): string | undefined {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  // NAT64 maps all of IPv4 into one /64.
  return address.range() === 'rfc6052' ? address.toByteArray().slice(-4).join('.') : undefined;
}

/**
 * The network that counts as one caller: an IPv4 address, or the `/64` of an IPv6 address. Every rate limit by address uses it as
 * its key.
 *
 * @param address of the client; text that is not an address is returned unchanged, undefined becomes `''`
 * @param ipv6Bits length of the IPv6 prefix; shorter for limits per organisation rather than per customer
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
