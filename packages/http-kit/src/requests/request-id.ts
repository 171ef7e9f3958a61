import type { IncomingHttpHeaders } from 'node:http';
import { randomUInt32 } from '@waymark/contract';
import { createClientAddressReader } from '@waymark/visit';

/** Ids that are accepted from a proxy: long enough for common formats, with no character that could inject log lines or headers. */
const VALID_ID = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}$/;

const PROCESS_PART = randomUInt32().toString(36) + randomUInt32().toString(36);
let count = 0;

/** The other end of a connection. */
export interface Peer {
  /** Undefined once it has disconnected, unless it was read before. */
  readonly remoteAddress?: string | undefined;
}

/** Returns the id of a request. */
export type RequestIds = (headers: IncomingHttpHeaders, peer: Peer) => string;

/**
 * Ids of requests: the one that a proxy has set, else a new one that is unique across processes. A stranger who sets one gets a new one, as
 * it could be that of another request.
 *
 * @param trustedProxies addresses or CIDR ranges
 */
export function createRequestIds(trustedProxies: readonly string[]): RequestIds {
  const readAddress = createClientAddressReader(trustedProxies);
  return (headers, peer) => {
    const fromHeader = headers['x-request-id'];
    const isValid = typeof fromHeader === 'string' && VALID_ID.test(fromHeader);
    // The address is a system call for each connection, so it is read only where it decides.
    if (isValid && readAddress(peer.remoteAddress, undefined).isForwarded) return fromHeader;
    count += 1;
    return `${PROCESS_PART}-${count.toString(36)}`;
  };
}
