import { z } from 'zod';
import { textForm } from './text-form.js';

/** Longest URL anywhere. */
export const URL_CHARS_MAX = 32_000;

/** Host names have at most 253 characters; each takes up to nine where it is percent-encoded. */
const HOST_CHARS_MAX = 1024;

/**
 * Everything up to the host and the port of a URL, as parsers find them: with one slash, several, backslashes or none, and with
 * blanks and control characters, which they skip.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it skips
const AUTHORITY = /^(?:[^:/\\?#]*:)?[/\\\u0000-\u0020]*([^/\\?#]*)/;

/**
 * The URL that a text from outside is; undefined when it is none. The one place where such texts are parsed: international hosts
 * take quadratic time, seconds for 32,000 characters, so that their length is looked at first.
 *
 * @param base what a text without a scheme is relative to; a URL that was parsed already
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

/** An address on the web, of bounded length. */
export function webAddress(charsMax: number) {
  const isWebAddress = (text: string) => /^https?:$/.test(parseUrl(text)?.protocol ?? '');
  return z
    .string()
    .max(charsMax, { abort: true })
    .check(textForm(isWebAddress, 'must be an http or https URL'))
    .meta({ format: 'uri' });
}
