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

/** What the message says about a domain whose links no visit would find: redirects look the domain up without this prefix. */
export const NO_WWW_RULE = 'must not begin with "www.": it is left out of every address';

const HOST_AND_PORT = /^([^:]+)(?::(\d{1,5}))?$/;
const HOST = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** Browsers leave these out of an address. */
const DEFAULT_PORTS: readonly number[] = [80, 443];

/**
 * The host of short links that an operator has chosen, in lower case and punycode, with its port if one is given.
 *
 * @throws RangeError whose message continues the name of the setting or option
 */
export function parseLinkHost(text: string): string {
  const [, name = '', portText] = HOST_AND_PORT.exec(text.trim()) ?? [];
  const host = asciiDomain(name) ?? '';
  if (!HOST.test(host)) throw new RangeError('must be a host name, such as go.example.com');
  if (host.startsWith('www.')) throw new RangeError(NO_WWW_RULE);
  if (portText === undefined) return host;
  const port = Number(portText);
  if (port < 1 || port > 65_535) throw new RangeError('must have a port from 1 to 65535, or none');
  if (DEFAULT_PORTS.includes(port)) throw new RangeError(`must not have the port ${port}: it is left out of addresses`);
  return `${host}:${port}`;
}

/** A host name without the `www.` in front, lower case. */
export function withoutWww(host: string): string {
  const lower = host.toLowerCase();
  return lower.startsWith('www.') ? lower.slice(4) : lower;
}
