import { z } from 'zod';
import { formatCheck } from './format-check.js';

/** Longest URL that is accepted anywhere. */
export const URL_CHARS_MAX = 32_000;

/** Host names have at most 253 characters, and a port six. Few are longer in a URL, where the characters may be percent-encoded. */
const HOST_CHARS_MAX = 300;

/**
 * Matches a URL up to its host and port as the URL parser finds them: after any number of slashes or backslashes, and ignoring
 * blanks and control characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it skips control characters
const AUTHORITY = /^(?:[^:/\\?#]*:)?[/\\\u0000-\u0020]*([^/\\?#]*)/;

/**
 * Parses a URL from outside; undefined when it is invalid. All such texts must be parsed here: international host names take quadratic
 * time, seconds for 32,000 characters, so their length is checked first.
 *
 * @param base URL that a relative one is resolved against; must be parsed already
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  if (text.length > URL_CHARS_MAX) return undefined;
  const authority = AUTHORITY.exec(text)?.[1] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host.length > HOST_CHARS_MAX) return undefined;
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** An http or https URL of bounded length. */
export function webAddress(charsMax: number) {
  const isWebAddress = (text: string) => /^https?:$/.test(parseUrl(text)?.protocol ?? '');
  return z
    .string()
    .max(charsMax, { abort: true })
    .check(formatCheck(isWebAddress, 'must be an http or https URL'))
    .meta({ format: 'uri' });
}

/** An http or https URL without user, query and fragment: the address of a service, to which paths are added. */
export function serviceAddress(charsMax: number) {
  const isBare = (text: string) => {
    const url = parseUrl(text);
    return url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === '';
  };
  return webAddress(charsMax).check(formatCheck(isBare, 'must be a URL without user, query and fragment'));
}
