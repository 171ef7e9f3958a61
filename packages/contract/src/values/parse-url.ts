import { z } from 'zod';
import { formatCheck } from './format-check.js';

/** Longest URL that is accepted anywhere. */
export const URL_CHARS_MAX = 32_000;

/**
 * A host name has at most 253 characters, and a port with its colon six. Only with percent-encoded characters could a valid one be longer.
 */
const HOST_CHARS_MAX = 300;

/**
 * Captures user, host and port of a URL where the URL parser finds them: after any number of slashes, backslashes, blanks and control
 * characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it skips control characters
const AUTHORITY = /^(?:[^:/\\?#]*:)?[/\\\u0000-\u0020]*([^/\\?#]*)/;

const authorityOf = (text: string) => AUTHORITY.exec(text)?.[1] ?? '';

/**
 * Parses a URL from a request or another system; undefined when it is invalid. All such texts must be parsed with this function: it checks
 * the length of the host first, because parsing an international host name takes quadratic time, seconds for 32,000 characters.
 *
 * @param base URL that a relative one is resolved against; must be parsed already
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  if (text.length > URL_CHARS_MAX) return undefined;
  const authority = authorityOf(text);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host.length > HOST_CHARS_MAX) return undefined;
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Whether a text is an http or https URL. */
export function isWebAddress(text: string): boolean {
  return /^https?:$/.test(parseUrl(text)?.protocol ?? '');
}

/** What the message says about a text that is none. */
export const WEB_ADDRESS_RULE = 'must be an http or https URL';

/** The schema of an http or https URL with at most `charsMax` characters. */
export function webAddress(charsMax: number) {
  return z
    .string()
    .max(charsMax, { abort: true })
    .check(formatCheck(isWebAddress, WEB_ADDRESS_RULE))
    .meta({ format: 'uri' });
}

/** The schema of the address of a service, to which paths are appended: an http or https URL without user, query and fragment. */
export function serviceAddress(charsMax: number) {
  // The text itself is checked: of a URL with an empty user, query or fragment, the parser returns none.
  const isBare = (text: string) => !/[?#]/.test(text) && !authorityOf(text).includes('@');
  return webAddress(charsMax).check(formatCheck(isBare, 'must be a URL without user, query and fragment'));
}
