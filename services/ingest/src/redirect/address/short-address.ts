import { normaliseKey } from '@waymark/catalog';
import { withoutWww } from '@waymark/contract';

/** The names under which the domain of a host may be registered. */
export interface HostNames {
  /** Lower case, without `www.` and port; `''` for a request without a host. */
  readonly domain: string;
  /** The same with its port, if it has one. */
  readonly host: string;
}

/** Domain, key and query of a short link, parsed from a request. */
export interface ShortAddress extends HostNames {
  /** The path without the leading slash, decoded; unchanged when it cannot be decoded. */
  readonly path: string;
  /** The same, still encoded. */
  readonly rawPath: string;
  /** The normalised key; undefined for a path that cannot be a key. */
  readonly key: string | undefined;
  /** Raw, without `?`. */
  readonly query: string;
}

/** Keys are up to 190 characters, but longer when encoded in punycode. */
const PATH_CHARS_MAX = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it detects control characters
const CONTROL = /[\x00-\x1f\x7f]/;

/** The longest host name, plus a port. */
const HOST_CHARS_MAX = 253 + 6;
const NO_NAMES = { domain: '', host: '' } as const;
/** Valid characters of a host. A slash, for example, could collide with another host's link in cache keys. */
const HOST = /^[\w.:[\]-]+$/;

/** Parses a Host header: lower case, without `www.` and a trailing dot; the domain also without port. */
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

/** Request target in absolute form, as proxies send it: `GET http://host/path`. Its host replaces the header (RFC 9112, 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/**
 * The host that a request is for, and its target in origin form: the path and the query.
 *
 * @returns both unchanged, unless the target is in absolute form
 */
export function originForm(
  hostHeader: string | undefined,
  target: string,
): readonly [host: string | undefined, target: string] {
  // The common case.
  if (target.startsWith('/')) return [hostHeader, target];
  const absolute = ABSOLUTE_FORM.exec(target);
  return absolute === null ? [hostHeader, target] : [absolute[1], target.slice(absolute[0].length)];
}

function lookupKey(path: string): string | undefined {
  return path.length > PATH_CHARS_MAX || CONTROL.test(path) ? undefined : normaliseKey(path);
}

/** Parses a host and a request target, as {@link originForm} returns them. Never throws, for any input. */
export function readShortAddress(hostText: string | undefined, target: string): ShortAddress {
  const hash = target.indexOf('#');
  const head = hash < 0 ? target : target.slice(0, hash);
  const mark = head.indexOf('?');
  const rawPath = head.slice(head.startsWith('/') ? 1 : 0, mark < 0 ? undefined : mark);
  const path = decodePath(rawPath);
  const { domain, host } = readHost(hostText);
  return { domain, host, path, rawPath, key: lookupKey(path), query: mark < 0 ? '' : head.slice(mark + 1) };
}
