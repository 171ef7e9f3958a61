import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { HostNames } from './redirect/address/short-address.js';

/**
 * The link with this key on a host; undefined when there is none. It is looked up without the port first, and then with it, because a domain
 * may be registered with its port.
 *
 * @param key normalised; undefined for a path that cannot be a key
 */
export async function findLinkAt(
  links: Pick<Catalog['links'], 'findByAddress'>,
  { domain, host }: HostNames,
  key: string | undefined,
): Promise<LinkRecord | undefined> {
  if (key === undefined || domain === '') return undefined;
  const link = await links.findByAddress(domain, key);
  return link === undefined && host !== domain ? links.findByAddress(host, key) : link;
}

/** Like {@link findLinkAt}, but synchronously and only from the cache, which has the link of nearly every visit; undefined on a miss. */
export function cachedLinkAt(
  links: Pick<Catalog['links'], 'freshByAddress'>,
  { domain }: HostNames,
  key: string | undefined,
): LinkRecord | undefined {
  return key === undefined || domain === '' ? undefined : links.freshByAddress(domain, key);
}
