import { domainToASCII } from 'node:url';

/**
 * More characters than any domain name has: 253, each of two code units at most. Longer texts are not converted, because that takes quadratic
 * time, 0.6 ms for this many different ideographs.
 */
const DOMAIN_CHARS_MAX = 512;
const NOT_ASCII = /[\u0080-\uffff]/;
/** Characters that no domain name has: they end the host in a URL, or URL parsers remove or decode them. */
const URL_SYNTAX = /[\s/?#\\@:%[\]<>^|]/;

/** The domain name in lower case and punycode; undefined for a text that cannot be one. */
export function asciiDomain(requested: string): string | undefined {
  if (requested.length > DOMAIN_CHARS_MAX || URL_SYNTAX.test(requested)) return undefined;
  return domainToASCII(requested.toLowerCase()) || undefined;
}

/**
 * Normalises a domain name from a request for look-ups: lower case, international names in punycode. Other texts are returned unchanged.
 */
export function domainName(requested: string): string {
  if (requested.length > DOMAIN_CHARS_MAX) return requested;
  const name = requested.toLowerCase();
  return (NOT_ASCII.test(name) ? asciiDomain(name) : undefined) ?? name;
}

/** The host of a domain, which may have a port. */
export function withoutPort(domain: string): string {
  return domain.replace(/:\d+$/, '');
}

/** A host name without the `www.` in front, lower case. */
export function withoutWww(host: string): string {
  const lower = host.toLowerCase();
  return lower.startsWith('www.') ? lower.slice(4) : lower;
}
