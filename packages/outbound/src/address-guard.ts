import ipaddr from 'ipaddr.js';

/** A request was refused because its host has no address, or has none that is public or explicitly allowed. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';

  constructor() {
    // The message does not distinguish a name without an address from one with a private address, which would reveal the names of the
    // internal network.
    super('the host has no public address');
  }
}

/** Decides to which addresses connections are allowed. */
export interface AddressGuard {
  allows(address: string): boolean;
}

/** The global unicast range of IPv6. It contains some ranges that are not public, which `range()` recognises. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Addresses in public ranges at which a cloud serves its own machines: Azure returns the virtual machine's configuration there. */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address. IPv4 addresses written as IPv6 become IPv4. */
function parse(address: string): Address | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  return ipaddr.process(address);
}

/** Whether an address is reachable in the public internet, so not private, local, reserved or multicast. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || PLATFORM_ADDRESSES.has(address.toString())) return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_IPV6);
}

/** In place of ranges: not even public addresses are allowed. */
const NONE = 'none';

/**
 * Creates a guard that allows public addresses, and those in `allowedRanges`.
 *
 * @param allowedRanges addresses or CIDR ranges, or only `none`: then nothing is allowed
 */
export function createAddressGuard(allowedRanges: readonly string[]): AddressGuard {
  if (allowedRanges.includes(NONE)) return { allows: () => false };
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
