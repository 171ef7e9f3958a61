import { normaliseKey } from '@waymark/catalog';
import { withoutWww } from '@waymark/visit';

/** What the address of a request says: domain, key and query of a short link. */
export interface ShortAddress {
  /** Lower case, without `www.` and port. */
  readonly domain: string;
  /** The path without its first slash, decoded; as it stands when it cannot be. */
  readonly path: string;
  /** The key as look-ups compare it; undefined for a path that no link can have. */
  readonly key: string | undefined;
  /** Raw, without `?`. */
  readonly query: string;
}

/** Keys are up to 190 characters; a label in punycode is longer. */
const PATH_CHARS_MAX = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\x00-\x1f\x7f]/;

/** Host header to domain: lower case, without port, `www.` and the dot of a full name. */
export function domainOf(host: string | undefined): string {
  if (host === undefined) return '';
  const colon = host.lastIndexOf(':');
  const name = colon > 0 && host.indexOf(']', colon) < 0 ? host.slice(0, colon) : host;
  return withoutWww(name.endsWith('.') ? name.slice(0, -1) : name);
}

function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** A target with UTF-8 bytes in the open, which Node hands over as Latin-1. */
function asUtf8(url: string): string {
  return /[\x80-\xff]/.test(url) ? Buffer.from(url, 'latin1').toString('utf8') : url;
}

function lookupKey(path: string): string | undefined {
  return path.length > PATH_CHARS_MAX || CONTROL.test(path) ? undefined : normaliseKey(path);
}

/** Reads `Host` and request target. Never throws, whatever they hold. */
export function readShortAddress(host: string | undefined, target: string): ShortAddress {
  const url = asUtf8(target);
  const hash = url.indexOf('#');
  const head = hash < 0 ? url : url.slice(0, hash);
  const mark = head.indexOf('?');
  const path = decodePath(head.slice(head.startsWith('/') ? 1 : 0, mark < 0 ? undefined : mark));
  return { domain: domainOf(host), path, key: lookupKey(path), query: mark < 0 ? '' : head.slice(mark + 1) };
}
