import { LRUCache } from 'lru-cache';
import { createAddressRanges, ipv4Number, parseAddress } from './address-ranges.js';
import { copyText } from './copy-text.js';

/** The address of the client that sent a request. */
export interface ClientAddress {
  /** The visitor's address; `''` when the socket is already closed. */
  readonly address: string;
  /** Whether forwarding headers can be trusted, because the peer is one of our proxies. */
  readonly isForwarded: boolean;
}

/** @param peer address of the socket's other end; @param forwardedFor the header `X-Forwarded-For` */
export type ClientAddressReader = (peer: string | undefined, forwardedFor: string | undefined) => ClientAddress;

interface Hop {
  /** Undefined for text that is not an address. */
  readonly text: string | undefined;
  readonly isTrusted: boolean;
}

/** Longer than any real chain of proxies. The limit bounds the time, and through the cache the memory, that a forged header costs. */
const HOPS_MAX = 32;
const CHAIN_CHARS_MAX = 2048;
/** Longest address: IPv6 with an IPv4 tail, zone, brackets and port, and some spaces. */
const ADDRESS_CHARS_MAX = 80;
const NO_HOP: Hop = { text: undefined, isTrusted: false };
const SPACE = 32;

/**
 * Finds the client address of a request. `X-Forwarded-For` is read only when the peer is a trusted proxy; the client is then the
 * right-most hop that is not a trusted proxy. Anything further left could be forged by that hop.
 *
 * @param trustedProxies addresses or CIDR ranges
 */
export function createClientAddressReader(trustedProxies: readonly string[]): ClientAddressReader {
  const ranges = createAddressRanges(trustedProxies);
  // Caches IPv6 hops, which are slow to parse and repeat: they are proxies, or clients on keep-alive connections.
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

    const chain = forwardedFor.length > CHAIN_CHARS_MAX ? copyText(forwardedFor.slice(-CHAIN_CHARS_MAX)) : forwardedFor;
    let address = peerText;
    for (let hops = 0, end = chain.length; hops < HOPS_MAX && end >= 0; hops++) {
      const comma = chain.lastIndexOf(',', end - 1);
      const start = chain.charCodeAt(comma + 1) === SPACE ? comma + 2 : comma + 1;
      const hop = readHop(chain.slice(start, end));
      // The text is not an address (`unknown`), so hops further left cannot be trusted.
      if (hop.text === undefined) break;
      address = hop.text;
      if (!hop.isTrusted) break;
      end = comma;
    }
    return { address, isForwarded: true };
  };
}
