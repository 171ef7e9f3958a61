import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressGuard, AddressRefusedError } from './address-guard.js';

/** All addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;
const LOCALHOST = ['127.0.0.1', '::1'];

/**
 * Asks the name servers itself. The system's own look-up runs on a pool of four threads that everything in the process
 * shares: four names whose servers never answer would stop it. It costs us the hosts file, but for `localhost`.
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
 * The look-up of a socket that only ever yields allowed addresses. What it yields is what is connected to: there is no second
 * look-up that could be answered otherwise.
 */
export function createGuardedLookup(guard: AddressGuard, resolve: ResolveHost): LookupFunction {
  return (hostname, options, callback) => {
    const finish = (addresses: readonly string[]) => {
      const allowed = addresses.filter(guard.allows).map((address) => ({ address, family: isIP(address) }));
      const wanted = allowed.filter(({ family }) => !options.family || family === Number(options.family));
      const [first] = wanted;
      if (first === undefined) callback(new AddressRefusedError(), '');
      else if (options.all === true) callback(null, wanted);
      else callback(null, first.address, first.family);
    };
    resolve(hostname).then(finish, (err: NodeJS.ErrnoException) => callback(err, ''));
  };
}
