import { LRUCache } from 'lru-cache';
import { createRangeTest, type ParsedAddress, parseAddress } from './address-ranges.js';
import { ownText } from './own-text.js';

/** Where a request came from. */
export interface ClientAddress {
  /** The visitor's own address; `''` when the socket has none any more. */
  readonly address: string;
  /** Whether what forwarding headers say may be believed: the peer is one of our proxies. */
  readonly isForwarded: boolean;
}

export type ClientAddressReader = (peer: string | undefined, forwardedFor: string | undefined) => ClientAddress;

interface KnownAddress {
  readonly text: string;
  readonly isTrusted: boolean;
}

/** No chain of real proxies is longer; a longer one is somebody's attempt to burn our time, or, through the cache, memory. */
const HOPS_MAX = 32;
const CHAIN_CHARS_MAX = 2048;
/** The longest address there is: IPv6 with an IPv4 tail, zone, brackets and port, and some spaces. */
const ADDRESS_CHARS_MAX = 80;

/**
 * Finds the client of a request: `X-Forwarded-For` counts only when the peer is a trusted proxy, and of it the right-most hop
 * that is not one. What stands further left was written by that hop, or by anybody.
 *
 * @param trustedProxies addresses or CIDR ranges
 */
export function createClientAddressReader(trustedProxies: readonly string[]): ClientAddressReader {
  const isInRanges = createRangeTest(trustedProxies);
  // Peers are few (the proxies) or come back (keep-alive); parsing and matching them again costs more than the look-up.
  const known = new LRUCache<string, KnownAddress | { readonly text: undefined }>({ max: 4096 });

  function lookUp(text: string): KnownAddress | undefined {
    if (text.length > ADDRESS_CHARS_MAX) return undefined;
    let entry = known.get(text);
    if (entry === undefined) {
      const parsed: ParsedAddress | undefined = parseAddress(text);
      entry = parsed === undefined ? { text: undefined } : { text: parsed.text, isTrusted: isInRanges(parsed.address) };
      known.set(text, entry);
    }
    return entry.text === undefined ? undefined : entry;
  }

  return (peer, forwardedFor) => {
    const hop = peer === undefined ? undefined : lookUp(peer);
    if (hop === undefined) return { address: '', isForwarded: false };
    if (!hop.isTrusted) return { address: hop.text, isForwarded: false };
    if (forwardedFor === undefined || forwardedFor === '') return { address: hop.text, isForwarded: true };

    const chain = forwardedFor.length > CHAIN_CHARS_MAX ? ownText(forwardedFor.slice(-CHAIN_CHARS_MAX)) : forwardedFor;
    let address = hop.text;
    let end = chain.length;
    for (let hops = 0; hops < HOPS_MAX && end >= 0; hops++) {
      const comma = chain.lastIndexOf(',', end - 1);
      const entry = lookUp(chain.slice(comma + 1, end));
      // Not an address ("unknown"): nobody further left can be vouched for.
      if (entry === undefined) break;
      address = entry.text;
      if (!entry.isTrusted) break;
      end = comma;
    }
    return { address, isForwarded: true };
  };
}
