import { ApiError, asciiDomain, fieldError, NO_WWW_RULE, withoutPort } from '@waymark/contract';

const SLUG = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/** Normalises a domain name to lower case and punycode. @throws ApiError 422 for a name that no domain can have, or with `www.` */
export function domainSlug(name: string): string {
  const slug = asciiDomain(name.trim()) ?? '';
  if (!SLUG.test(slug) || slug.length > 190)
    throw fieldError('invalid_format', 'slug', 'must be a domain name, such as go.example.com');
  if (slug.startsWith('www.')) throw fieldError('invalid_format', 'slug', NO_WWW_RULE);
  return slug;
}

/**
 * Checks that a new domain does not have the host of the default domain, with any port or none. Every workspace may use the default domain,
 * but the links of the new domain would take precedence over its links.
 *
 * @throws ApiError conflict
 */
export function checkNotShared(slug: string, defaultDomain: string | undefined): void {
  if (defaultDomain === undefined || withoutPort(slug) !== withoutPort(defaultDomain)) return;
  throw new ApiError('conflict', `The domain "${slug}" is already in use.`);
}
