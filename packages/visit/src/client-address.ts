import { LRUCache } from 'lru-cache';
import { createAddressRanges, ipv4Number, parseAddress } from './address-ranges.js';
import { ownText } from './own-text.js';

/** Where a request came from. */
export interface ClientAddress {
  /** The visitor's own address; `''` when the socket has none any more. */
  readonly address: string;
  /** Whether what forwarding headers say may be believed: the peer is one of our proxies. */
  readonly isForwarded: boolean;
}

export type ClientAddressReader = (peer: string | undefined, forwardedFor: string | undefined) => ClientAddress;

interface Hop {
  /** Undefined for a text that is no address. */
  readonly text: string | undefined;
  readonly isTrusted: boolean;
}

/** No chain of real proxies is longer; a longer one is somebody's attempt to burn our time, or, through the cache, memory. */
const HOPS_MAX = 32;
const CHAIN_CHARS_MAX = 2048;
/** The longest address there is: IPv6 with an IPv4 tail, zone, brackets and port, and some spaces. */
const ADDRESS_CHARS_MAX = 80;
const NO_HOP: Hop = { text: undefined, isTrusted: false };
const SPACE = 32;

/**
 * Finds the client of a request: `X-Forwarded-For` counts only when the peer is a trusted proxy, and of it the right-most hop
 * that is not one. What stands further left was written by that hop, or by anybody.
 *
 * @param trustedProxies addresses or CIDR ranges
 */
export function createClientAddressReader(trustedProxies: readonly string[]): ClientAddressReader {
  const ranges = createAddressRanges(trustedProxies);
  // IPv6 peers are few (the proxies), or come back (keep-alive).
  const known = new LRUCache<string, Hop>({ max: 4096 });

  function readHop(text: string): Hop {
    const plain = ipv4Number(text);
    if (plain !== undefined) return { text, isTrusted: ranges.has(plain) };
    if (text.length > ADDRESS_CHARS_MAX) return NO_HOP;
    let hop = known.get(text);
    if (hop === undefined) {
      const parsed = parseAddress(text);
      hop = parsed === undefined ? NO_HOP : { text: parsed.text, isTrusted: ranges.has(parsed.address) };
      known.set(text, hop);
    }
    return hop;
  }

  return (peer, forwardedFor) => {
    const { text: peerText, isTrusted } = peer === undefined ? NO_HOP : readHop(peer);
    if (peerText === undefined) return { address: '', isForwarded: false };
    if (!isTrusted || forwardedFor === undefined) return { address: peerText, isForwarded: isTrusted };

    const chain = forwardedFor.length > CHAIN_CHARS_MAX ? ownText(forwardedFor.slice(-CHAIN_CHARS_MAX)) : forwardedFor;
    let address = peerText;
    for (let hops = 0, end = chain.length; hops < HOPS_MAX && end >= 0; hops++) {
      const comma = chain.lastIndexOf(',', end - 1);
      const start = chain.charCodeAt(comma + 1) === SPACE ? comma + 2 : comma + 1;
      const hop = readHop(chain.slice(start, end));
      // Not an address ("unknown"): nobody further left can be vouched for.
      if (hop.text === undefined) break;
      address = hop.text;
      if (!hop.isTrusted) break;
      end = comma;
    }
    return { address, isForwarded: true };
  };
}
