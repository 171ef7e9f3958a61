import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressGuard, AddressRefusedError } from './address-guard.js';

/** Resolves a host name to all its addresses. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

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
export function createHostResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  return async (hostname) => {
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return LOCALHOST;
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new Error('the host has no address');
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
    resolve(hostname).then(finish, (err: NodeJS.ErrnoException) =>
      callback(NO_ADDRESS.has(err.code) ? new AddressRefusedError() : err, ''),
    );
  };
}
