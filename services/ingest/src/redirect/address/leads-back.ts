import { parseUrl } from '@waymark/contract';
import { readShortAddress, type ShortAddress } from './short-address.js';

/**
 * Whether a URL is the address of the request itself: the same host, and a path that leads to the same key. A redirect there would never
 * end.
 *
 * @param host of the request. `www.` counts, because another server may answer there.
 */
export function leadsBack(url: string, host: string | undefined, { key, path }: ShortAddress): boolean {
  const parsed = parseUrl(url);
  if (parsed === undefined || parsed.host !== host?.toLowerCase()) return false;
  const target = readShortAddress(parsed.host, parsed.pathname);
  return key === undefined ? target.path === path : target.key === key;
}
