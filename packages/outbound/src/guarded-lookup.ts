import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressGuard, AddressRefusedError } from './address-guard.js';

/**
 * Resolves a host name to all its addresses; none if the name does not exist.
 *
 * @param isAllowed whether connections to an address are allowed; decides only whether a failed query matters
 * @throws the error of a query that failed, if no allowed address was found: the missing answer could contain one
 */
export type ResolveHost = (hostname: string, isAllowed: (address: string) => boolean) => Promise<readonly string[]>;

/** Options of {@link createHostResolver}. */
export interface HostResolverOptions {
  /** Addresses of name servers, with a port if it is not 53; by default those of the system. */
  readonly servers?: readonly string[];
  /** How long the first try of a query waits for an answer; two seconds by default. */
  readonly timeoutMs?: number;
}

const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;
/** Error codes of lookups that mean that the name does not exist, or has no address. */
const NO_ADDRESS: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'ENODATA']);
const LOCALHOST = ['127.0.0.1', '::1'];

/**
 * Creates a resolver that queries the name servers directly. The system's resolver (`dns.lookup`) is not used, because it runs on a pool
 * of four threads that the whole process shares: four names whose servers do not respond would block it. The hosts file is therefore
 * ignored; `localhost` is the only name that is not queried.
 */
export function createHostResolver({ servers, timeoutMs = DNS_TIMEOUT_MS }: HostResolverOptions = {}): ResolveHost {
  const resolver = new Resolver({ timeout: timeoutMs, tries: DNS_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname, isAllowed) => {
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return LOCALHOST;
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.some(isAllowed)) return addresses;
    const failed = answers.find((answer) => answer.status === 'rejected' && !NO_ADDRESS.has(answer.reason.code));
    if (failed?.status === 'rejected') throw failed.reason;
    return addresses;
  };
}

/**
 * Creates the `lookup` function of a socket, which returns only allowed addresses. The socket connects to exactly these addresses, so it
 * cannot be redirected by a later DNS answer (DNS rebinding).
 */
export function createGuardedLookup(guard: AddressGuard, resolve: ResolveHost): LookupFunction {
  return (hostname, options, callback) => {
    const finish = (addresses: readonly string[]) => {
      const allowed = addresses.filter(guard.allows).map((address) => ({ address, family: isIP(address) }));
      const ofFamily = allowed.filter(({ family }) => !options.family || family === Number(options.family));
      const [first] = ofFamily;
      if (first === undefined) callback(new AddressRefusedError(), '');
      else if (options.all === true) callback(null, ofFamily);
      else callback(null, first.address, first.family);
    };
    resolve(hostname, guard.allows).then(finish, (err: NodeJS.ErrnoException) =>
      callback(NO_ADDRESS.has(err.code) ? new AddressRefusedError() : err, ''),
    );
  };
}
