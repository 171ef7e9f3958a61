import { domainToASCII } from 'node:url';

/** Longer than any domain name; converting takes quadratic time. */
const DOMAIN_CHARS_MAX = 1024;
const NOT_ASCII = /[\u0080-\uffff]/;
/** Characters that end a host in a URL, or that parsers of URLs remove or decode. No domain name has them. */
const URL_SYNTAX = /[\s/?#\\@:%[\]<>^|]/;

/** The domain name in lower case and punycode; undefined for a text that cannot be one. */
export function asciiDomain(requested: string): string | undefined {
  if (requested.length > DOMAIN_CHARS_MAX || URL_SYNTAX.test(requested)) return undefined;
  return domainToASCII(requested.toLowerCase()) || undefined;
}

/** Normalises a domain name from a request for look-ups: lower case, international names in punycode. */
export function domainName(requested: string): string {
  if (requested.length > DOMAIN_CHARS_MAX) return requested;
  const name = requested.toLowerCase();
  return (NOT_ASCII.test(name) ? asciiDomain(name) : undefined) ?? name;
}
