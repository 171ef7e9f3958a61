import { fieldError, parseUrl, URL_CHARS_MAX, UTM_FIELDS, UTM_TEMPLATE_FIELDS } from '@waymark/contract';
import { storableText } from '../model/storable-text.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Matches texts that begin with a scheme and a host. */
const HAS_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * The stored form of a destination: the text itself if it is a URL of any scheme, or else the text with `https://` in place of the slashes
 * and backslashes with which it begins, if it has no scheme and that is a URL. Undefined if neither is a URL.
 */
export function normaliseUrl(text: string): string | undefined {
  if (text.length > URL_CHARS_MAX) return undefined;
  // URL parsers ignore these characters, and a Location header must not contain them.
  const clean = storableText(text.trim().replace(/[\t\n\r]/g, ''));
  // With `https://` in front of `http://acme.com:99999`, which is no URL, `http` would be the host.
  const mayLackScheme = clean.includes('.') && !clean.includes(' ') && !HAS_AUTHORITY.test(clean);
  for (const url of mayLackScheme ? [clean, `https://${clean}`] : [clean]) {
    const parsed = parseUrl(url);
    if (parsed === undefined) continue;
    // With `https://` in front of slashes, more than two precede the host. Browsers ignore the others, which other clients refuse.
    const stored = CONTROL.test(url) || /^[/\\]/.test(clean) ? parsed.href : url;
    return stored.length > URL_CHARS_MAX ? undefined : stored;
  }
  return undefined;
}

/** The stored form of a destination from a field of a request. @throws ApiError unprocessable_entity when it is not a URL */
export function requireUrl(field: string, text: string): string {
  const url = normaliseUrl(text);
  if (url !== undefined) return url;
  const rule = HAS_AUTHORITY.test(text.trim()) ? 'must be a URL with a valid host and port' : 'must be a URL';
  throw fieldError('invalid_format', field, rule);
}

/**
 * Changes of query parameters of the destination, from the fields of a request: a value sets the parameter, null or `''` removes it,
 * undefined leaves it unchanged.
 */
export type UtmChanges = Readonly<Partial<Record<(typeof UTM_TEMPLATE_FIELDS)[number], string | null | undefined>>>;

/** A value as it is set: with a space in place of its first plus sign. */
const withSpace = (value: string) => value.replace('+', ' ');

/** The changes that have an effect: not the removal of a parameter that the URL lacks, nor the value that the parameter already has. */
function effectiveChanges({ searchParams }: URL, changes: UtmChanges): { field: string; value: string | undefined }[] {
  return UTM_TEMPLATE_FIELDS.flatMap((field) => {
    const value = changes[field] || undefined;
    if (changes[field] === undefined) return [];
    const present = searchParams.get(field);
    const isThere = value === undefined ? !searchParams.has(field) : present === value || present === withSpace(value);
    return isThere ? [] : [{ field, value }];
  });
}

/**
 * Changes query parameters of a destination. If no change has an effect, the text is returned as it is, because writing the query anew
 * changes the other parameters too: `?flag` becomes `?flag=`, and `%20` becomes `+`, which mail programs show.
 */
export function mergeUtm(url: string, changes: UtmChanges): string {
  const isTouched = UTM_TEMPLATE_FIELDS.some((field) => changes[field] !== undefined);
  const parsed = isTouched ? parseUrl(url) : undefined;
  if (parsed === undefined) return url;
  const effective = effectiveChanges(parsed, changes);
  for (const { field, value } of effective) {
    if (value === undefined) parsed.searchParams.delete(field);
    else parsed.searchParams.set(field, withSpace(value));
  }
  return effective.length === 0 ? url : parsed.href;
}

/** The URL with its whole query written anew, as it is stored after a change of UTM parameters. */
export function withRewrittenQuery(url: string): string {
  const parsed = parseUrl(url);
  if (parsed === undefined) return url;
  parsed.search = parsed.searchParams.toString();
  return parsed.href;
}

/** The `utm_*` fields of a link. */
export type UtmValues = Readonly<Record<(typeof UTM_FIELDS)[number], string | null>>;

/**
 * Adds the values whose parameters the destination lacks. If there are none, or the destination has no host, the text is returned as it is:
 * in `mailto:` and `tel:` a query parameter would become part of the address.
 */
export function keepUtm(url: string, values: UtmValues): string {
  const parsed = HAS_AUTHORITY.test(url) ? parseUrl(url) : undefined;
  if (parsed === undefined) return url;
  const kept = UTM_FIELDS.flatMap((field) => {
    const value = values[field];
    return value === null || parsed.searchParams.has(field) ? [] : [{ field, value }];
  });
  for (const { field, value } of kept) parsed.searchParams.set(field, value);
  return kept.length === 0 ? url : parsed.href;
}

/** The `utm_*` fields of a link, read from the query of its destination. */
export function readUtm(url: string): UtmValues {
  const parameters = parseUrl(url)?.searchParams ?? new URLSearchParams();
  const values = UTM_FIELDS.map((field) => [field, parameters.get(field) || null]);
  return Object.fromEntries(values) as UtmValues;
}
