import { parseUrl, URL_CHARS_MAX, UTM_FIELDS, UTM_TEMPLATE_FIELDS } from '@waymark/contract';
import { storableText } from '../model/storable-text.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A destination as it is stored: unchanged when it is a URL of any scheme, else with `https://` in front if that makes it a URL.
 * Undefined when it is not a URL either way.
 */
export function normaliseUrl(text: string): string | undefined {
  if (text.length > URL_CHARS_MAX) return undefined;
  // URL parsers ignore these characters, and a Location header must not contain them.
  const clean = storableText(text.trim().replace(/[\t\n\r]/g, ''));
  const mayLackScheme = clean.includes('.') && !clean.includes(' ');
  for (const url of mayLackScheme ? [clean, `https://${clean}`] : [clean]) {
    const parsed = parseUrl(url);
    if (parsed === undefined) continue;
    const stored = CONTROL.test(url) ? parsed.href : url;
    return stored.length > URL_CHARS_MAX ? undefined : stored;
  }
  return undefined;
}

/** Request fields that change the query of the destination: a value sets the parameter, null or '' removes it, undefined leaves it. */
export type UtmChanges = Readonly<Partial<Record<(typeof UTM_TEMPLATE_FIELDS)[number], string | null | undefined>>>;

/** The destination with the given query parameters changed; serialised again only if there are changes. */
export function mergeUtm(url: string, changes: UtmChanges): string {
  const touched = UTM_TEMPLATE_FIELDS.filter((field) => changes[field] !== undefined);
  const parsed = touched.length === 0 ? undefined : parseUrl(url);
  if (parsed === undefined) return url;
  for (const field of touched) {
    const value = changes[field];
    if (value === undefined || value === null || value === '') parsed.searchParams.delete(field);
    else parsed.searchParams.set(field, value.replace('+', ' '));
  }
  return parsed.href;
}

/** The `utm_*` fields of a link. */
export type UtmValues = Readonly<Record<(typeof UTM_FIELDS)[number], string | null>>;

/** URLs with an authority. Others, such as `mailto:` and `tel:`, have no query: a parameter would become part of the address. */
const HAS_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Adds those values whose parameter the destination does not have; serialised again only if there are any. */
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
