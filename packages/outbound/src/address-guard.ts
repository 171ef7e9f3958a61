import ipaddr from 'ipaddr.js';

/** The address is not one that strangers may make this machine connect to. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';

  constructor() {
    // Not which address: an answer that tells names of an inner network apart would map it.
    super('the address is not public');
  }
}

/** Decides which addresses may be connected to. */
export interface AddressGuard {
  allows(address: string): boolean;
}

/** All that is routed on the public IPv6 internet; inside it some ranges stand for addresses that are not. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** IPv4 written as IPv6 is judged as IPv4. */
function parse(address: string): Address | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  return ipaddr.process(address);
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_IPV6);
}

/**
 * Public addresses, and those in `allowedRanges`.
 *
 * @param allowedRanges addresses or CIDR ranges
 */
export function createAddressGuard(allowedRanges: readonly string[]): AddressGuard {
  const ranges = allowedRanges.map((range) =>
    range.includes('/')
      ? ipaddr.parseCIDR(range)
      : ipaddr.parseCIDR(`${range}/${ipaddr.parse(range).kind() === 'ipv4' ? 32 : 128}`),
  );
  const isAllowed = (address: Address) =>
    ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network as never, bits));
  return {
    allows(text) {
      const address = parse(text);
      return address !== undefined && (isPublic(address) || isAllowed(address));
    },
  };
}
