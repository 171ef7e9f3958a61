import { domainToASCII } from 'node:url';

/** Longer than any domain; converting takes quadratic time. */
const DOMAIN_CHARS_MAX = 1024;
const NOT_ASCII = /[\u0080-\uffff]/;

/** A domain named by a caller, as it is stored if it is a domain: in lower case, other letters than Latin ones in punycode. */
export function domainName(given: string): string {
  if (given.length > DOMAIN_CHARS_MAX) return given;
  const name = given.toLowerCase();
  return NOT_ASCII.test(name) ? domainToASCII(name) || name : name;
}
