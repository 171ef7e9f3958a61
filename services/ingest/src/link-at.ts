import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { HostNames } from './redirect/address/short-address.js';

/**
 * The link of a key on a host; undefined when there is none. Domains that are served on an unusual port may carry it in their
 * name.
 *
 * @param key as look-ups compare it; undefined for a path that no link can have
 */
export async function linkAt(
  links: Pick<Catalog['links'], 'findByAddress'>,
  { domain, host }: HostNames,
  key: string | undefined,
): Promise<LinkRecord | undefined> {
  if (key === undefined || domain === '') return undefined;
  const link = await links.findByAddress(domain, key);
  return link === undefined && host !== domain ? links.findByAddress(host, key) : link;
}

/** What {@link linkAt} finds without a wait, as nearly every visit does; undefined when it needs one. */
export function freshLinkAt(
  links: Pick<Catalog['links'], 'freshByAddress'>,
  { domain }: HostNames,
  key: string | undefined,
): LinkRecord | undefined {
  return key === undefined || domain === '' ? undefined : links.freshByAddress(domain, key);
}
