import { normaliseKey } from '@waymark/catalog';
import { withoutWww } from '@waymark/visit';

/** Names of the domain that a host may be. */
export interface HostNames {
  /** Lower case, without `www.` and port; `''` for a request that names no host. */
  readonly domain: string;
  /** The same with its port, if it has one. */
  readonly host: string;
}

/** What the address of a request says: domain, key and query of a short link. */
export interface ShortAddress extends HostNames {
  /** The path without its first slash, decoded; as it stands when it cannot be. */
  readonly path: string;
  /** The same as it came: still encoded. */
  readonly rawPath: string;
  /** The key as look-ups compare it; undefined for a path that no link can have. */
  readonly key: string | undefined;
  /** Raw, without `?`. */
  readonly query: string;
}

/** Keys are up to 190 characters; a label in punycode is longer. */
const PATH_CHARS_MAX = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\x00-\x1f\x7f]/;

/** The longest host name there is, and a port. */
const HOST_CHARS_MAX = 253 + 6;
const NO_NAMES = { domain: '', host: '' } as const;
/** Anything else is no name of a host; a slash in one would make it read like another host's link in the caches. */
const HOST = /^[\w.:[\]-]+$/;

/** Names of a Host header: lower case, without `www.` and the dot of a full name; the domain also without port. */
export function readHost(header: string | undefined): HostNames {
  if (header === undefined || header.length > HOST_CHARS_MAX || !HOST.test(header)) return NO_NAMES;
  const colon = header.lastIndexOf(':');
  const end = colon > 0 && header.indexOf(']', colon) < 0 ? colon : header.length;
  const name = withoutWww(header.slice(0, end));
  const domain = name.endsWith('.') ? name.slice(0, -1) : name;
  return end === header.length ? { domain, host: domain } : { domain, host: domain + header.slice(end) };
}

function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** What proxies send: `GET http://host/path`. Its host beats the header (RFC 9112, 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

function splitTarget(hostHeader: string | undefined, target: string): readonly [string | undefined, string] {
  // Nearly every target is a path.
  if (target.startsWith('/')) return [hostHeader, target];
  const absolute = ABSOLUTE_FORM.exec(target);
  return absolute === null ? [hostHeader, target] : [absolute[1], target.slice(absolute[0].length)];
}

function lookupKey(path: string): string | undefined {
  return path.length > PATH_CHARS_MAX || CONTROL.test(path) ? undefined : normaliseKey(path);
}

/** Reads `Host` and request target. Never throws, whatever they hold. */
export function readShortAddress(hostHeader: string | undefined, requestTarget: string): ShortAddress {
  const [hostText, target] = splitTarget(hostHeader, requestTarget);
  const hash = target.indexOf('#');
  const head = hash < 0 ? target : target.slice(0, hash);
  const mark = head.indexOf('?');
  const rawPath = head.slice(head.startsWith('/') ? 1 : 0, mark < 0 ? undefined : mark);
  const path = decodePath(rawPath);
  const { domain, host } = readHost(hostText);
  return { domain, host, path, rawPath, key: lookupKey(path), query: mark < 0 ? '' : head.slice(mark + 1) };
}
