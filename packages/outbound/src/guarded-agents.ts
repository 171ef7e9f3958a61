import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { type AddressGuard, AddressRefusedError, createAddressGuard } from './address-guard.js';
import { closeTalkingIdle, refuseEndlessAnswers } from './bounded-answers.js';
import { createGuardedLookup, createHostResolver, type ResolveHost } from './guarded-lookup.js';

export interface OutboundOptions {
  /** Addresses and CIDR ranges that may be reached although they are not public. */
  readonly allowedRanges: readonly string[];
  /** Resolves host names; by default by queries to the name servers of the system. */
  readonly resolveHost?: ResolveHost;
}

/** Connection pools that connect to public and allowed addresses only, for HTTP clients that accept an agent. */
export interface GuardedAgents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  close(): void;
}

const IDLE_CONNECTION_MS = 15_000;
const IDLE_CONNECTIONS_PER_HOST = 16;

type OnConnection = (err: Error | null, stream: Duplex) => void;

/** Whether the host of a URL is an address that is refused. Node calls the guarded lookup for names only. */
function isRefusedAddress(guard: AddressGuard, host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) !== 0 && !guard.allows(address);
}

/** Removes the empty list of connections that Node has made for a request, and removes only when a connection closes. */
function forgetHost(pool: HttpAgent, options: ClientRequestArgs): void {
  const sockets: NodeJS.Dict<unknown[]> = pool.sockets;
  const name = pool.getName(options);
  if (sockets[name]?.length === 0) delete sockets[name];
}

/**
 * Makes an agent refuse hosts that are addresses, with AddressRefusedError, unless the guard allows them, and answers that keep a request
 * or a connection busy without end.
 */
function guarded<Pool extends HttpAgent>(pool: Pool, guard: AddressGuard): Pool {
  const connect = pool.createConnection.bind(pool);
  pool.createConnection = (options: ClientRequestArgs, onConnection?: OnConnection) => {
    if (!isRefusedAddress(guard, options.host ?? '')) return connect(options, onConnection);
    forgetHost(pool, options);
    onConnection?.(new AddressRefusedError(), undefined as never);
    return undefined;
  };
  refuseEndlessAnswers(pool);
  closeTalkingIdle(pool);
  return pool;
}

/** Creates agents that connect to public and allowed addresses only. */
export function createGuardedAgents({
  allowedRanges,
  resolveHost = createHostResolver(),
}: OutboundOptions): GuardedAgents {
  const guard = createAddressGuard(allowedRanges);
  const options: AgentOptions = {
    keepAlive: true,
    lookup: createGuardedLookup(guard, resolveHost),
    timeout: IDLE_CONNECTION_MS,
    maxFreeSockets: IDLE_CONNECTIONS_PER_HOST,
  };
  const http = guarded(new HttpAgent(options), guard);
  const https = guarded(new HttpsAgent(options), guard);
  return {
    http,
    https,
    close() {
      http.destroy();
      https.destroy();
    },
  };
}
