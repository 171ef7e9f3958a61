import { domainToASCII } from 'node:url';

/** Longer than any domain name; converting takes quadratic time. */
const DOMAIN_CHARS_MAX = 1024;
const NOT_ASCII = /[\u0080-\uffff]/;

/** Normalises a domain name from a request for look-ups: lower case, international names in punycode. */
export function domainName(requested: string): string {
  if (requested.length > DOMAIN_CHARS_MAX) return requested;
  const name = requested.toLowerCase();
  return NOT_ASCII.test(name) ? domainToASCII(name) || name : name;
}
